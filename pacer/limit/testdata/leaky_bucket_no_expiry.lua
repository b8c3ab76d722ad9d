-- No expiry.
local function capacity(limit) return limit.burst end

local function decide(key, now, limit, n, all)
  local up, down = lowest(limit)
  local level, time = tonumber(redis.call('HGET', key, 'level') or 0), tonumber(redis.call('HGET', key, 'time') or now)
  level = math.max(0, level - math.max(0, now - time) * up)
  local granted = part(math.floor((limit.burst * down - level) / down), n, all)
  level = level + granted * down
  if granted > 0 then redis.call('HSET', key, 'level', digits(level), 'time', digits(math.max(now, time))) end
  return granted, 0, math.max(granted > 0 and 0 or 1, math.ceil((level - down) / up)), math.ceil(level / up)
end
