-- give_back: a caller that does not wait for its place in a leaky bucket leaves the queue.
--
-- KEYS  1 state (leaky_bucket.lua)
-- ARGV  1 name of the call whose permits are not used
-- Returns how many were given back: all of that call, or 0 if others have queued behind it, as they know their times
--       already; an error if an argument is wrong.
-- Invariant: a call is given back once, and only while it is the last one. Then the queue is as it was before the
-- call.

local bad = wrong('give_back', { 1, 'name', 0, MOST - 1 })
if bad then return bad end
local state = redis.call('HMGET', KEYS[1], 'last', 'of', 'level', 'down')
if state[1] ~= ARGV[1] then return 0 end
local level = tonumber(state[3]) - tonumber(state[2]) * tonumber(state[4])
redis.call('HSET', KEYS[1], 'level', digits(level), 'last', '')
return tonumber(state[2])
