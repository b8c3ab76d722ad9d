-- leave: a member goes of its own accord. It may still send what it holds, which ends within H.
--
-- KEYS  1 budget  2 workers  3 seen  4 events  5 laws  6 state of the run's limiter, whether it has one or not
-- ARGV  1 run uid  2 worker  3 incarnation  4 state to end in: left; stopped, when it dropped what it held; removed, when somebody says that it is dead
--       5 of removed: who says so, user@host
-- Returns OK; NOSTATE if the run or the member is not there any more; an error if an argument is wrong.
-- Invariant: nothing is given back; replaying the call changes nothing; a full server does not refuse it.

local clock = redis.call('TIME')
local keys = { budget = KEYS[1], workers = KEYS[2], seen = KEYS[3], events = KEYS[4], laws = KEYS[5], limiter = KEYS[6] }
local uid, worker, inc, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if not plain(worker) or not plain(inc) then return refuse('leave', 'worker or incarnation') end
if state ~= 'left' and state ~= 'stopped' and state ~= 'removed' then return refuse('leave', 'state') end

local b = load(keys.budget, clock)
if not b or b.uid ~= uid then return 'NOSTATE' end
local m = parse(redis.call('HGET', keys.workers, worker))
if not m or m.inc ~= inc then return 'NOSTATE' end
room(keys)
if b.phase == 'running' or b.phase == 'paused' then
  if settle(b, keys, 0) then m = parse(redis.call('HGET', keys.workers, worker)) end
  store(b, keys)
end
if present(m) then
  changes(b, keys).drop(worker, m, state, state == 'removed' and 'by ' .. (ARGV[5] or '') or inc)
  store(b, keys)
elseif m.state == 'lost' then
  m.state = state
  redis.call('HSET', keys.workers, worker, record(m))
end
return 'OK'
