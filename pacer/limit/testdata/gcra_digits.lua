-- tostring keeps 14 digits of the 16 that a time in µs has.
local function capacity(limit) return limit.burst end

local function decide(key, now, limit, n, all)
  local each = limit.window / limit.count -- µs
  local tat = math.max(now, tonumber(redis.call('GET', key) or 0))
  local new = tat + n * each
  local early = new - limit.burst * each - now
  if early > 0 then return 0, 0, math.max(1, math.ceil(early)), math.ceil(tat - now) end
  redis.call('SET', key, tostring(new), 'PX', lifetime(new - now))
  return n, math.floor((limit.burst * each + now - new) / each), 0, math.ceil(new - now)
end
