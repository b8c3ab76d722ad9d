-- Refused calls are logged too: a caller that keeps asking is never served.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', digits(now - limit.window))
  local used = redis.call('ZCARD', key)
  local granted = part(limit.count - used, n, all)
  for i = 1, n do redis.call('ZADD', key, digits(now), digits(now) .. ':' .. digits(used + i)) end
  redis.call('PEXPIRE', key, lifetime(limit.window))
  local oldest = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or now)
  return granted, math.max(0, limit.count - used - granted), granted < n and oldest + limit.window - now or 0, limit.window
end
