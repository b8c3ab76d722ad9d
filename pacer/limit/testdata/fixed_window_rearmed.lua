-- Every hit moves the end of the window: under load it never ends.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  local ends, used = tonumber(redis.call('HGET', key, 'ends') or 0), tonumber(redis.call('HGET', key, 'used') or 0)
  if now >= ends then used = 0 end
  local granted = part(limit.count - used, n, all)
  redis.call('HSET', key, 'ends', digits(now + limit.window), 'used', digits(used + granted))
  redis.call('PEXPIRE', key, lifetime(limit.window))
  return granted, math.max(0, limit.count - used - granted), granted < n and limit.window or 0, limit.window
end
