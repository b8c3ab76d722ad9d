-- remove: removes a member of a run, because somebody says that its process is dead.
--
-- KEYS  1 budget  2 workers  3 due  4 byLoad  5 unowned  6 laws  7 log  8 events
-- ARGV  1 run uid  2 wake-up channel  3 worker  4 who says so, user@host
-- Returns OK; NOSTATE if the run or the member is not there any more; an error if an argument is wrong.
-- Invariant: from the next slot on other members own what it held; calling again changes nothing; a full server does
-- not refuse it.

if not plain(ARGV[3]) then return refuse('remove', 'worker') end
local b = load(ARGV[2])
if b.uid ~= ARGV[1] or redis.call('HEXISTS', keys.workers, ARGV[3]) == 0 then return 'NOSTATE' end
makeRoom()
local all = fleet(b)
all.advance()
local m = all.member(ARGV[3])
local there = m and all.remove(m, all.REMOVED, 'by ' .. (ARGV[4] or ''))
all.store()
return there and 'OK' or 'NOSTATE'
