-- limiter: what the limiters have in common. Included before each of them.
--
-- A limiter is two functions in a file of its own. take.lua calls them; another script that includes the file may do so too.
--   capacity(limit)  the most permits that can ever be granted at once; nil where the arithmetic would not be exact.
--   decide(key, now, limit, n, all)  takes up to n permits, or if `all` either all n or none. Gives
--     granted      how many
--     remaining    how many the same instant would still grant
--     retry_after  when less than n: µs until there may be n (if `all`), or one more; otherwise 0
--     reset_after  µs until nothing is left of what was granted: from then on the key may be gone as well
-- limit: count permits in each window (µs); burst, where the limiter has one; option, of the limiter's own; name, of the call.
--
-- What all of them keep to: the state is one key with a lifetime. Time never goes back: the later of `now` and of what the state has
-- seen. All numbers are integers below 2^53, so they are exact. Who is granted nothing changes nothing, except that state which was
-- counted by another limit is counted anew by this one (and take.lua keeps what was set live while it is needed).

local COUNT = 1000000000      -- the largest count, burst and n
local WINDOW = 31622400000000 -- the longest window, µs: 366 days
local SPARE = 10000           -- ms that a key outlives its use: lifetimes go by another clock than TIME, and need not be exact

local KEEP = 604800000         -- ms that a limit is kept which was set live, since nothing is left of what it granted: 7 days

local function digits(x) return string.format('%.0f', x) end

-- part: how many of n are granted where there is room for `free`.
local function part(free, n, all)
  if free >= n then return n end
  return all and 0 or math.max(0, free)
end

-- lifetime: ms after which a key is of no use any more that is of none after `reset` µs.
local function lifetime(reset) return digits(math.ceil(reset / 1000) + SPARE) end
