-- gcra: one time instead of a bucket: when all granted permits are paid for (tat, the theoretical arrival time of the
-- next permit).
--
--   tat = max(tat, now) + n · 1/rate, granted if that is at most burst · 1/rate after now
--
-- KEYS  1 state: hash tat (µs), rest (drops of bucket.lua beyond it), time, up, down  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst  6 option: none
-- Returns granted, remaining, retry_after, reset_after (take.lua)
-- Invariant: at most rate · t + burst permits in any time t. A change of the rate keeps the debt in permits, not in
-- time.

local function capacity(limit) return lowest(limit) and limit.burst end

-- ahead: how far tat is ahead of now, in drops, and the time. Up to the first call with another rate the old rate
-- counts.
local function ahead(state, now, limit)
  if not state[1] then return 0, now end
  local tat, rest, time, up, down = tonumber(state[1]), tonumber(state[2]), tonumber(state[3]), tonumber(state[4]), tonumber(state[5])
  now = math.max(now, time)
  return recount(math.max(0, (tat - now) * up + rest), up, down, limit, math.ceil), now
end

local function decide(key, now, limit, n, all)
  local up, down = lowest(limit)
  limit.up, limit.down = up, down
  local state = redis.call('HMGET', key, 'tat', 'rest', 'time', 'up', 'down')
  local owed
  owed, now = ahead(state, now, limit)

  local most = limit.burst * down
  local granted = part(math.floor((most - owed) / down), n, all)
  owed = owed + granted * down
  local reset = math.ceil(owed / up)
  if granted > 0 or (state[1] and (tonumber(state[4]) ~= up or tonumber(state[5]) ~= down)) then
    redis.call('HSET', key, 'tat', digits(now + math.floor(owed / up)), 'rest', digits(owed % up), 'time', digits(now),
      'up', digits(up), 'down', digits(down))
    redis.call('PEXPIRE', key, lifetime(reset))
  end

  local retry = granted < n and math.ceil((owed + (all and n or 1) * down - most) / up) or 0
  return granted, math.max(0, math.floor((most - owed) / down)), retry, reset, now
end

-- undo: after a later grant nobody knows whether all would have been paid for in between.
local function undo(key, at, n)
  local state = redis.call('HMGET', key, 'tat', 'rest', 'time', 'up', 'down')
  if tonumber(state[3]) ~= at then return 0 end
  local up = tonumber(state[4])
  local owed = (tonumber(state[1]) - at) * up + tonumber(state[2]) - n * tonumber(state[5])
  if owed < 0 then return 0 end
  redis.call('HSET', key, 'tat', digits(at + math.floor(owed / up)), 'rest', digits(owed % up))
  return n
end
