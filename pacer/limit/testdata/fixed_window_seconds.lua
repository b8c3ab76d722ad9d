-- The window is named by the whole second: a window of less than a second lasts one, and TIME's microseconds are thrown away.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  local name = digits(math.floor(now / 1000000 / math.max(1, math.floor(limit.window / 1000000))))
  local used = redis.call('HGET', key, 'name') == name and tonumber(redis.call('HGET', key, 'used')) or 0
  local granted = part(limit.count - used, n, all)
  if granted > 0 then redis.call('HSET', key, 'name', name, 'used', digits(used + granted)) end
  redis.call('PEXPIRE', key, lifetime(limit.window))
  return granted, math.max(0, limit.count - used - granted), granted < n and limit.window or 0, limit.window
end
