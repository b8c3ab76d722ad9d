-- leaky_bucket: a queue with `burst` places that lets one out each 1/rate. Its answer says when a caller may go on, and
-- it refuses only when it is full.
--
--   level = max(0, level − rate · (now − time));  wait = level / rate;  level = level + 1
--
-- KEYS  1 state: hash level (drops, bucket.lua), time, up, down, last, of  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst: places  6 option: none
--       7 name of this call, an integer; the last call can be given back by it (give_back.lua)
-- Returns granted, remaining, wait, reset_after (take.lua). wait takes the place of retry_after: µs until the last of
--       those granted may go, each 1/rate after the one before. If none was granted: until there may be a place for n
--       (if `all`), or for one.
-- Invariant: callers that keep to their wait are at most rate · t + 1 in any time t. None waits longer than burst /
--       rate. A change of the rate leaves those in the queue where they are. Later callers wait for as many places as
--       before, at the new rate.

local function capacity(limit) return lowest(limit) and limit.burst end

-- leaked: the drops there are now, and the time. Up to the first call with another rate the old rate counts.
local function leaked(state, now, limit)
  if not state[1] then return 0, now end
  local level, time, up, down = tonumber(state[1]), tonumber(state[2]), tonumber(state[3]), tonumber(state[4])
  now = math.max(now, time)
  return recount(math.max(0, level - (now - time) * up), up, down, limit, math.ceil), now
end

local function decide(key, now, limit, n, all)
  local up, down = lowest(limit)
  limit.up, limit.down = up, down
  local state = redis.call('HMGET', key, 'level', 'time', 'up', 'down')
  local level
  level, now = leaked(state, now, limit)

  local granted = part(math.floor((limit.burst * down - level) / down), n, all)
  level = level + granted * down
  local reset = math.ceil(level / up)
  if granted > 0 or (state[1] and (tonumber(state[3]) ~= up or tonumber(state[4]) ~= down)) then
    redis.call('HSET', key, 'level', digits(level), 'time', digits(now), 'up', digits(up), 'down', digits(down),
      'last', limit.name, 'of', digits(granted))
    redis.call('PEXPIRE', key, lifetime(reset))
  end

  local wait = math.ceil((level - down) / up)
  if n == 0 then wait = reset -- of who comes next
  elseif granted == 0 then wait = math.ceil((level + ((all and n or 1) - limit.burst) * down) / up) end
  return granted, math.max(0, math.floor((limit.burst * down - level) / down)), wait, reset, now
end

-- undo: only of the last call, as others know their times already. So the call needs a name: several may come at a time.
local function undo(key, _, n, name)
  local state = redis.call('HMGET', key, 'level', 'down', 'last', 'of')
  if state[3] ~= name or tonumber(state[4]) < n then return 0 end
  redis.call('HSET', key, 'level', digits(tonumber(state[1]) - n * tonumber(state[2])), 'last', '')
  return n
end
