-- The time is in whole seconds: up to a second too early or too late.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  now = math.floor(now / 1000000) * 1000000
  local old, granted = redis.call('LINDEX', key, limit.count - n), 0
  if n <= limit.count and not (old and tonumber(old) > now - limit.window) then
    for _ = 1, n do redis.call('LPUSH', key, digits(now)) end
    redis.call('LTRIM', key, 0, limit.count - 1)
    redis.call('PEXPIRE', key, lifetime(limit.window))
    granted = n
  end
  return granted, 0, granted < n and limit.window or 0, limit.window
end
