-- give_back: permits that were granted and not used go back to their limiter. Put behind the limiter.
--
-- KEYS  1 state  2 mark of this call
-- ARGV  1 name of the call that took them  2 its time, µs, as take.lua returned it  3 n, how many are not used
-- Returns how many were given back; an error if an argument is wrong.
-- Invariant: the state is as if these permits had never been granted. Where that cannot be known, nothing is given
--       back. A repetition within a minute gives back nothing.

local bad = wrong('give_back', { 1, 'name', 0, MOST - 1, 2, 'at', 0, MOST - 1, 3, 'n', 1, COUNT })
if bad then return bad end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local back = undo(KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[1])
if back > 0 then redis.call('SET', KEYS[2], '', 'PX', '60000') end
return back
