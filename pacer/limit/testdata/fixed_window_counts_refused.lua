-- Refused calls count too: INCR first, then compare. Under load nothing is ever granted again, if the window moves as well.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  local used = redis.call('HINCRBY', key, 'used', digits(n))
  local start = tonumber(redis.call('HGET', key, 'start') or 0)
  if now >= start + limit.window then
    redis.call('HSET', key, 'start', digits(now), 'used', digits(n))
    start, used = now, n
  end
  redis.call('PEXPIRE', key, lifetime(limit.window))
  local granted = used <= limit.count and n or 0
  local ends = start + limit.window - now
  return granted, math.max(0, limit.count - used), granted < n and ends or 0, ends
end
