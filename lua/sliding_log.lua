-- sliding_log: when each permit of the last window was granted. It is exact, but keeps one member for each permit:
-- about 130 bytes times count.
--
--   ──x──[──x─xx────x──x─]now     room for count − 5
--
-- KEYS  1 state: zset, one member for each permit by the time of its grant, µs  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst: not used  6 option: none
-- Returns granted, remaining, retry_after, reset_after (take.lua)
-- Invariant: at most count permits in any window.

local function capacity(limit) return limit.count end

-- log: adds permits of this instant. Each needs a name of its own: the time, and its number among those of that time.
local function log(key, now, n)
  local at = digits(now)
  local before, entries = redis.call('ZCOUNT', key, at, at), {}
  for i = 1, n do
    entries[#entries + 1] = at -- the score comes first
    entries[#entries + 1] = at .. ':' .. digits(before + i)
    if #entries == 1000 or i == n then
      redis.call('ZADD', key, unpack(entries))
      entries = {}
    end
  end
end

local function decide(key, now, limit, n, all)
  now = math.max(now, tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2] or 0))
  local edge = digits(now - limit.window) -- a permit of this time is no longer in the window
  local free = limit.count - redis.call('ZCOUNT', key, '(' .. edge, '+inf')
  local granted = part(free, n, all)
  if granted > 0 then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', edge)
    log(key, now, granted)
    redis.call('PEXPIRE', key, lifetime(limit.window))
  end
  free = free - granted

  local retry, newest = 0, tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2] or 0)
  if granted < n then -- there is room when so many of the oldest have left
    local leave = (all and n or 1) - free
    retry = tonumber(redis.call('ZRANGEBYSCORE', key, '(' .. edge, '+inf', 'WITHSCORES', 'LIMIT', digits(leave - 1), 1)[2]) + limit.window - now
  end
  return granted, math.max(0, free), retry, math.max(0, newest + limit.window - now), now
end

local function undo(key, at, n)
  local there = redis.call('ZCOUNT', key, digits(at), digits(at))
  if there < n then return 0 end
  for i = there - n + 1, there do redis.call('ZREM', key, digits(at) .. ':' .. digits(i)) end
  return n
end
