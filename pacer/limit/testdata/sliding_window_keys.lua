-- A key for each part, made up in the script: outside of KEYS, and with a name of its own in another slot of a cluster.
local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  local m = math.max(1, limit.option)
  local size, used = math.ceil(limit.window / m), 0
  local last = math.floor(now / size)
  for i = last - m + 1, last do used = used + tonumber(redis.call('GET', 'part:' .. digits(i)) or 0) end
  local granted = part(limit.count - used, n, all)
  redis.call('INCRBY', 'part:' .. digits(last), digits(granted))
  redis.call('PEXPIRE', 'part:' .. digits(last), lifetime(limit.window))
  return granted, math.max(0, limit.count - used - granted), granted < n and size or 0, limit.window
end
