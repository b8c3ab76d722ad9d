-- Parts that have slid out are never removed, and the key has no lifetime.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  local m = math.max(1, limit.option)
  local size, used = math.ceil(limit.window / m), 0
  local last = math.floor(now / size)
  for i = last - m + 1, last do used = used + tonumber(redis.call('HGET', key, digits(i)) or 0) end
  local granted = part(limit.count - used, n, all)
  if granted > 0 then redis.call('HINCRBY', key, digits(last), digits(granted)) end
  return granted, math.max(0, limit.count - used - granted), granted < n and size or 0, limit.window
end
