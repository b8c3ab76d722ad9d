-- The lifetime is computed with a rate of at least 1 per second. With a lower rate, the bucket is new before it could
-- be full.
local function capacity(limit) return limit.burst end

local function decide(key, now, limit, n, all)
  local rate = limit.count / limit.window -- permits per µs
  local tokens, time = tonumber(redis.call('HGET', key, 'tokens') or limit.burst), tonumber(redis.call('HGET', key, 'time') or now)
  tokens = math.min(limit.burst, tokens + math.max(0, now - time) * rate)
  local granted = part(math.floor(tokens), n, all)
  tokens = tokens - granted
  redis.call('HSET', key, 'tokens', string.format('%.17g', tokens), 'time', digits(now))
  redis.call('EXPIRE', key, digits(math.ceil(limit.burst / math.max(1, rate * 1000000))))
  return granted, math.floor(tokens), granted < n and math.ceil(((all and n or 1) - tokens) / rate) or 0, math.ceil((limit.burst - tokens) / rate)
end
