-- limiter: what the limiters have in common. Included before each of them.
--
-- A limiter is three functions in a file of its own. take.lua, all.lua, give_back.lua and grant.lua call them.
--   capacity(limit)  the most permits that can ever be granted at once; nil if the arithmetic is not exact.
--   decide(key, now, limit, n, all)  takes up to n permits, or if `all` either n or none. It only looks if n is 0. Returns
--     granted      how many
--     remaining    how many the same instant would still grant
--     retry_after  if less than n: µs until there may be n (if `all`), or one more; otherwise 0
--     reset_after  µs until nothing is left of what was granted; from then on the key may be gone
--     at           the limiter's time of the call, µs, by which permits are given back
--   undo(key, at, n, name)  forgets n permits that a call granted at that time, if that leaves the state as if they had
--     never been granted. Returns how many.
-- limit: count permits in each window (µs); burst, if the limiter has one; option, the limiter's own; name, of the
-- call.
--
-- Rules for all of them: the state is one key with a lifetime. Time never goes back: it is the later of `now` and the
-- state's time. All numbers are integers below 2^53, so they are exact. A refused call changes nothing, with two
-- exceptions: a state counted by another limit is counted by this one, and take.lua keeps a limit that was set live
-- while it is needed.

local COUNT = 1000000000      -- the largest count, burst and n
local WINDOW = 31622400000000 -- the longest window, µs: 366 days
local SPARE = 10000 -- ms that a key outlives its use: lifetimes go by another clock than TIME, and need not be exact

local KEEP = 604800000 -- ms that a limit set live is kept after nothing is left of what it granted: 7 days

local function digits(x) return string.format('%.0f', x) end

-- part: how many of n are granted if there is room for `free`.
local function part(free, n, all)
  if free >= n then return n end
  return all and 0 or math.max(0, free)
end

-- inForce: completes a limit: what was set live at the key counts, else what the caller gave. Returns whether one was
-- set; nil if that is damaged.
local function inForce(key, limit)
  local set = redis.call('HMGET', key, 'count', 'window', 'burst')
  if set[1] then limit.count, limit.window, limit.burst = set[1], set[2], set[3] end
  limit.count, limit.window, limit.burst = whole(limit.count, 1, COUNT), whole(limit.window, 1, WINDOW), whole(limit.burst, 1, COUNT)
  if limit.count and limit.window and limit.burst then return set[1] ~= false end
end

-- prolong: keeps a limit that was set live while it is of use: 7 days after a grant, and until all that was granted is
-- gone, even if granted before it was set.
local function prolong(key, granted, reset)
  if granted > 0 or redis.call('PTTL', key) < reset / 1000 then
    redis.call('PEXPIRE', key, digits(KEEP + math.ceil(reset / 1000)))
  end
end

-- never: the error for a call that wants more at once than can ever be granted.
local function never(n, most)
  return redis.error_reply('NEVER take: ' .. digits(n) .. ' permits at once; at most ' .. digits(most) .. ' can be granted')
end

-- lifetime: ms after which a key can be removed that is of no use after `reset` µs.
local function lifetime(reset) return digits(math.ceil(reset / 1000) + SPARE) end
