-- token_bucket: a bucket of tokens, filled at the rate up to burst. A permit takes one out.
--
--   tokens = min(burst, tokens + rate · (now − time))
--
-- KEYS  1 state: hash tokens (drops, bucket.lua), time, up, down  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst  6 option: 1 for debt: a caller that finds a token may take n at
--       once, however many there are, and the next callers wait until they are paid back
-- Returns granted, remaining, retry_after, reset_after (take.lua)
-- Invariant: at most rate · t + burst permits in any time t; with debt n more. tokens ≤ burst; they are lost only if
-- the bucket is full.

local function capacity(limit)
  local _, down = lowest(limit)
  if not down then return nil end
  return limit.option == 1 and math.floor(EXACT / down) or limit.burst
end

-- refilled: the drops there are now, and the time. Up to the first call with another rate the old rate counts.
local function refilled(state, now, full, limit)
  if not state[1] then return full, now end -- never used, or full for some time
  local tokens, time, up, down = tonumber(state[1]), tonumber(state[2]), tonumber(state[3]), tonumber(state[4])
  now = math.max(now, time)
  tokens = math.min(limit.burst * down, tokens + (now - time) * up)
  return math.min(full, recount(tokens, up, down, limit, math.floor)), now
end

local function decide(key, now, limit, n, all)
  local up, down = lowest(limit)
  limit.up, limit.down = up, down
  local full, debt = limit.burst * down, limit.option == 1
  local state = redis.call('HMGET', key, 'tokens', 'time', 'up', 'down')
  local tokens
  tokens, now = refilled(state, now, full, limit)

  local granted = part(math.floor(tokens / down), n, all)
  if debt then granted = tokens >= down and math.min(n, capacity(limit)) or 0 end
  tokens = tokens - granted * down
  local reset = math.ceil((full - tokens) / up)
  if granted > 0 or (state[1] and (tonumber(state[3]) ~= up or tonumber(state[4]) ~= down)) then
    redis.call('HSET', key, 'tokens', digits(tokens), 'time', digits(now), 'up', digits(up), 'down', digits(down))
    redis.call('PEXPIRE', key, lifetime(reset))
  end

  local wanted = all and not debt and n or 1
  local retry = granted < n and math.ceil((wanted * down - tokens) / up) or 0
  return granted, math.max(0, math.floor(tokens / down)), retry, reset, now
end

-- undo: after a later grant nobody knows whether the bucket would have been full in between.
local function undo(key, at, n)
  local state = redis.call('HMGET', key, 'tokens', 'time', 'down')
  if tonumber(state[2]) ~= at then return 0 end
  redis.call('HSET', key, 'tokens', digits(tonumber(state[1]) + n * tonumber(state[3])))
  return n
end
