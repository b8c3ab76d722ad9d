-- −1 says "full", anything else is a wait in seconds with decimals: Redis cuts them off, so all waits below a second are 0.
local function capacity(limit) return limit.burst end

local function decide(key, now, limit, n, all)
  local rate = limit.count / limit.window * 1000000
  local level, time = tonumber(redis.call('HGET', key, 'level') or 0), tonumber(redis.call('HGET', key, 'time') or now)
  level = math.max(0, level - (now - time) / 1000000 * rate)
  if level + n > limit.burst then return 0, 0, -1, 0 end
  redis.call('HSET', key, 'level', string.format('%.17g', level + n), 'time', digits(now))
  redis.call('PEXPIRE', key, lifetime((level + n) / rate * 1000000))
  return n, 0, level / rate, (level + n) / rate * 1000000
end
