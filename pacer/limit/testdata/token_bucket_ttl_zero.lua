-- The lifetime is floor(2 · burst / rate) seconds: 0 for high rates, which SETEX refuses and EXPIRE takes for "delete".
local function capacity(limit) return limit.burst end

local function decide(key, now, limit, n, all)
  local rate = limit.count / limit.window -- permits per µs
  local tokens, time = tonumber(redis.call('HGET', key, 'tokens') or limit.burst), tonumber(redis.call('HGET', key, 'time') or now)
  tokens = math.min(limit.burst, tokens + math.max(0, now - time) * rate)
  local granted = part(math.floor(tokens), n, all)
  tokens = tokens - granted
  redis.call('HSET', key, 'tokens', string.format('%.17g', tokens), 'time', digits(now))
  redis.call('EXPIRE', key, digits(math.floor(2 * limit.burst / rate / 1000000)))
  return granted, math.floor(tokens), granted < n and math.ceil(((all and n or 1) - tokens) / rate) or 0, math.ceil((limit.burst - tokens) / rate)
end
