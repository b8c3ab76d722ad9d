-- The bucket has no bottom: every caller gets a time, even those that gave up long ago. The next caller waits for all
-- of them.
local function capacity(limit) return limit.burst end

local function decide(key, now, limit, n, all)
  local up, down = lowest(limit)
  local level, time = tonumber(redis.call('HGET', key, 'level') or 0), tonumber(redis.call('HGET', key, 'time') or now)
  level = math.max(0, level - math.max(0, now - time) * up) + n * down
  redis.call('HSET', key, 'level', digits(level), 'time', digits(math.max(now, time)))
  redis.call('PEXPIRE', key, lifetime(level / up))
  return n, 0, math.ceil((level - down) / up), math.ceil(level / up)
end
