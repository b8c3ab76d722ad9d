-- Tokens and time are two keys: Redis may evict one without the other, and in a cluster they are in two slots.
local function capacity(limit) return limit.burst end

local function decide(key, now, limit, n, all)
  local rate = limit.count / limit.window
  local tokens, time = tonumber(redis.call('GET', key) or limit.burst), tonumber(redis.call('GET', key .. ':time') or 0)
  tokens = math.min(limit.burst, tokens + math.max(0, now - time) * rate)
  local granted = part(math.floor(tokens), n, all)
  tokens = tokens - granted
  local life = lifetime((limit.burst - tokens) / rate)
  redis.call('SET', key, string.format('%.17g', tokens), 'PX', life)
  redis.call('SET', key .. ':time', digits(math.max(now, time)), 'PX', life)
  return granted, math.floor(tokens), granted < n and math.ceil((n - tokens) / rate) or 0, math.ceil((limit.burst - tokens) / rate)
end
