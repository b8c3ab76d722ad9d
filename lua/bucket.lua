-- bucket: rates without rounding, for the limiters that have one. Included after limiter.lua.
--
-- A rate is a fraction in lowest terms: up permits each down µs. A permit is counted as `down` drops and each µs is worth `up` drops: both
-- are integers, so a bucket neither gains nor loses anything in years.

local EXACT = MOST / 2 -- drops in a bucket at most: twice as many are still exact

-- lowest: up and down of a limit, or nil if its burst has too many drops.
local function lowest(limit)
  local a, b = limit.count, limit.window
  while b > 0 do
    local rest = a % b -- not a, b = b, a % b: embedded servers assign one after the other
    a, b = b, rest
  end
  local up, down = limit.count / a, limit.window / a
  if limit.burst * down <= EXACT then return up, down end
end

-- recount: drops that were counted as `was` to a permit, as `down` to a permit: a change of the rate leaves every permit that is there or
-- is owed. round: math.floor for what one has, math.ceil for what one owes.
local function recount(drops, was, down, round)
  if was == down then return drops end
  local permits = math.floor(drops / was)
  return permits * down + round((drops - permits * was) / was * down)
end
