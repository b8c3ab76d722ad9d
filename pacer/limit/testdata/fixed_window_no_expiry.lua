-- The expiry is set by another call than the counter, by a client that may be dead by then: here it is.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  local start, used = tonumber(redis.call('HGET', key, 'start') or 0), tonumber(redis.call('HGET', key, 'used') or 0)
  now = math.max(now, start)
  if now >= start + limit.window then start, used = now, 0 end
  local granted = part(limit.count - used, n, all)
  local ends = start + limit.window - now
  if granted > 0 then redis.call('HSET', key, 'start', digits(start), 'used', digits(used + granted)) end
  return granted, math.max(0, limit.count - used - granted), granted < n and ends or 0, ends
end
