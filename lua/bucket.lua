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

-- recount: drops that were counted at the rate up and down, at the limit's own (limit.up and limit.down): a change of the rate leaves
-- every permit that is there or is owed. What is owed beyond the burst is forgotten as far as it is more than EXACT, or takes longer
-- than WINDOW at the new rate: so all times stay exact. round: math.floor for what one has, math.ceil for what one owes.
local function recount(drops, up, down, limit, round)
  if up == limit.up and down == limit.down then return drops end
  local permits = math.floor(drops / down)
  drops = permits * limit.down + round((drops - permits * down) / down * limit.down)
  local most = math.max(limit.burst * limit.down, math.min(EXACT, WINDOW * limit.up))
  return math.max(-most, math.min(most, drops))
end
