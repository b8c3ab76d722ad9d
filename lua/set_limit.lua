-- set_limit: changes a limit for everybody who uses it, from their next call on.
--
-- KEYS  1 limit
-- ARGV  1 count  2 window, µs  3 burst; of a limiter without one the count again
-- Returns OK; an error if an argument is wrong.
-- Invariant: a limit is changed as a whole, and kept until it was not used for 7 days.

local bad = wrong('set_limit', { 1, 'count', 1, COUNT, 2, 'window', 1, WINDOW, 3, 'burst', 1, COUNT })
if bad then return bad end
redis.call('HSET', KEYS[1], 'count', ARGV[1], 'window', ARGV[2], 'burst', ARGV[3])
redis.call('PEXPIRE', KEYS[1], KEEP)
return 'OK'
