-- set_limit: changes a limit for all its users, from their next call on.
--
-- KEYS  1 limit
-- ARGV  1 count  2 window, µs  3 burst; count again if the limiter has none  4 drops: 1 if the limiter counts them
--       (bucket.lua)
-- Returns OK; an error if an argument is wrong, or if the limiter cannot follow the limit.
-- Invariant: a limit is changed as a whole. It is kept until 7 days after the last grant under it, and until nothing
--       granted is left.

local bad = wrong('set_limit', { 1, 'count', 1, COUNT, 2, 'window', 1, WINDOW, 3, 'burst', 1, COUNT, 4, 'drops', 0, 1 })
if bad then return bad end
if ARGV[4] == '1' and not lowest({ count = tonumber(ARGV[1]), window = tonumber(ARGV[2]), burst = tonumber(ARGV[3]) }) then
  return refuse('set_limit', 'burst times window')
end
redis.call('HSET', KEYS[1], 'count', ARGV[1], 'window', ARGV[2], 'burst', ARGV[3])
redis.call('PEXPIRE', KEYS[1], KEEP)
return 'OK'
