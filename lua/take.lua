-- take: asks a limiter for permits. Put behind the limiter, whose header explains its option.
--
-- KEYS  1 state  2 limit: a hash with count, window and burst, if they were set live (set_limit.lua)
-- ARGV  1 n, 0 to 10⁹; 0 only looks  2 all: 1 for all n or none, 0 for up to n
--       3 count  4 window, µs  5 burst, all three used while no others are set  6 option
--       7 name of this call, an integer: for give_back.lua
-- Returns granted, remaining, retry_after, reset_after, at as integers (limiter.lua), times in µs; an error if an argument
--       is wrong; an error NEVER if more is wanted at once than can ever be granted. If n is 0, retry_after is for one
--       permit.
-- Invariant: a refused call changes nothing, but it keeps a limit set live that would be forgotten before it has room
--       again.

local clock = redis.call('TIME')
local bad = wrong('take', { 1, 'n', 0, COUNT, 2, 'all', 0, 1, 3, 'count', 1, COUNT, 4, 'window', 1, WINDOW, 5, 'burst', 1, COUNT,
  6, 'option', 0, 1000, 7, 'name', 0, MOST - 1 })
if bad then return bad end
local n, all = tonumber(ARGV[1]), tonumber(ARGV[2]) == 1
local limit = { count = ARGV[3], window = ARGV[4], burst = ARGV[5], option = tonumber(ARGV[6]), name = ARGV[7] }
local set = inForce(KEYS[2], limit)
if set == nil then return refuse('take', 'the limit that was set') end
local most = capacity(limit)
if not most then return refuse('take', 'burst times window') end
if all and n > most then return never(n, most) end

local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local granted, remaining, retry, reset, at = decide(KEYS[1], now, limit, n, all)
if n == 0 and remaining == 0 then
  local _, _, after = decide(KEYS[1], now, limit, 1, true) -- it is refused
  retry = after
end
if set then prolong(KEYS[2], granted, reset) end
return { granted, remaining, retry, reset, at }
