-- take: asks a limiter for permits. Put behind the limiter, whose header explains its option.
--
-- KEYS  1 state  2 limit: a hash with count, window and burst, if they were set live (set_limit.lua)
-- ARGV  1 n, 1 to 10⁹  2 all: 1 for all n or none, 0 for up to n
--       3 count  4 window, µs  5 burst, all three used while no others are set  6 option
--       7 name of this call, an integer: for give_back.lua
-- Returns granted, remaining, retry_after, reset_after as integers (limiter.lua), times in µs; an error if an argument
--       is wrong; an error NEVER if more is wanted at once than can ever be granted.
-- Invariant: a refused call changes nothing, but it keeps a limit set live that would be forgotten before it has room
--       again.

local clock = redis.call('TIME')
local bad = wrong('take', { 1, 'n', 1, COUNT, 2, 'all', 0, 1, 3, 'count', 1, COUNT, 4, 'window', 1, WINDOW, 5, 'burst', 1, COUNT,
  6, 'option', 0, 1000, 7, 'name', 0, MOST - 1 })
if bad then return bad end
local n, all = tonumber(ARGV[1]), tonumber(ARGV[2]) == 1
local limit = { count = ARGV[3], window = ARGV[4], burst = ARGV[5], option = tonumber(ARGV[6]), name = ARGV[7] }

local set = redis.call('HMGET', KEYS[2], 'count', 'window', 'burst')
if set[1] then limit.count, limit.window, limit.burst = set[1], set[2], set[3] end
limit.count, limit.window, limit.burst = whole(limit.count, 1, COUNT), whole(limit.window, 1, WINDOW), whole(limit.burst, 1, COUNT)
if not (limit.count and limit.window and limit.burst) then return refuse('take', 'the limit that was set') end
local most = capacity(limit)
if not most then return refuse('take', 'burst times window') end
if all and n > most then
  return redis.error_reply('NEVER take: ' .. digits(n) .. ' permits at once; at most ' .. digits(most) .. ' can be granted')
end

local granted, remaining, retry, reset = decide(KEYS[1], tonumber(clock[1]) * 1000000 + tonumber(clock[2]), limit, n, all)
-- A limit is kept while it is of use: 7 days after a grant, and until all that was granted is gone, even if granted
-- before it was set.
if set[1] and (granted > 0 or redis.call('PTTL', KEYS[2]) < reset / 1000) then
  redis.call('PEXPIRE', KEYS[2], digits(KEEP + math.ceil(reset / 1000)))
end
return { granted, remaining, retry, reset }
