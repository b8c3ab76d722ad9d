-- value: stores what the queries of a run answered in one point of its series.
--
-- KEYS  1 budget  2 values
-- ARGV  1 run uid  2 the name of the point  3 the answers in it, in place of those before (report/record/value.go)
-- Returns OK; NOSTATE: the run is not there any more, and nothing is written; an error if an argument is wrong.
-- Invariant: nothing is written for a run that was removed or replaced. The answers live as long as the run.

if not string.find(ARGV[2] or '', '^%d+:%d+$') or not ARGV[3] then return refuse('value', 'point') end
local state = redis.call('HMGET', KEYS[1], 'uid', 'keep')
if state[1] ~= ARGV[1] then return 'NOSTATE' end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], state[2])
return 'OK'
