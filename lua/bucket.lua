-- bucket: exact rates, for the limiters that have one. Included after limiter.lua.
--
-- A rate is a fraction in lowest terms: `up` permits each `down` µs. A permit counts as `down` drops, and each µs is
-- worth `up` drops. Both are integers, so a bucket neither gains nor loses anything in years.

local EXACT = MOST / 2 -- drops in a bucket at most; twice as many are still exact

-- lowest: up and down of a limit; nil if its burst has too many drops.
local function lowest(limit)
  local a, b = limit.count, limit.window
  while b > 0 do
    local rest = a % b -- not a, b = b, a % b: the embedded server assigns one after the other
    a, b = b, rest
  end
  local up, down = limit.count / a, limit.window / a
  if limit.burst * down <= EXACT then return up, down end
end

-- recount: converts drops counted at the rate up/down to the limit's own (limit.up, limit.down). A change of the rate
-- keeps every permit that is there or owed. Permits owed beyond the burst are forgotten if they are more than EXACT,
-- or take longer than WINDOW at the new rate: so all times stay exact. round: math.floor for permits there, math.ceil
-- for permits owed.
local function recount(drops, up, down, limit, round)
  if up == limit.up and down == limit.down then return drops end
  local permits = math.floor(drops / down)
  drops = permits * limit.down + round((drops - permits * down) / down * limit.down)
  local most = math.max(limit.burst * limit.down, math.min(EXACT, WINDOW * limit.up))
  return math.max(-most, math.min(most, drops))
end
