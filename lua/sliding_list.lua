-- sliding_list: the times of the last permits, newest first. One more is granted when the count-th last is at least a
-- window old. It is as exact as the log, in a tenth of its memory: about 10 bytes times count.
--
--   newest [now, …, …, …] oldest
--
-- KEYS  1 state: list of times, µs  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst: not used  6 option: none
-- Returns granted, remaining, retry_after, reset_after (take.lua)
-- Invariant: at most count permits in any window. The list is sorted, and as long as the window has permits.

local function capacity(limit) return limit.count end

-- younger: how many of the list are later than edge. They come first, so binary search finds their end.
local function younger(key, edge)
  local low, high = 0, redis.call('LLEN', key)
  while low < high do
    local mid = math.floor((low + high) / 2)
    if tonumber(redis.call('LINDEX', key, mid)) > edge then low = mid + 1 else high = mid end
  end
  return low
end

local function push(key, now, n)
  local times = {}
  for i = 1, n do
    times[#times + 1] = digits(now)
    if #times == 1000 or i == n then
      redis.call('LPUSH', key, unpack(times))
      times = {}
    end
  end
end

local function decide(key, now, limit, n, all)
  now = math.max(now, tonumber(redis.call('LINDEX', key, 0) or 0))
  local used = younger(key, now - limit.window)
  local granted = part(limit.count - used, n, all)
  used = used + granted
  if granted > 0 then
    push(key, now, granted)
    redis.call('LTRIM', key, 0, used - 1)
    redis.call('PEXPIRE', key, lifetime(limit.window))
  end
  local free = limit.count - used

  local retry = 0
  if granted < n then -- there is room when so many of the oldest have left
    local leave = (all and n or 1) - free
    retry = tonumber(redis.call('LINDEX', key, used - leave)) + limit.window - now
  end
  return granted, math.max(0, free), retry, math.max(0, tonumber(redis.call('LINDEX', key, 0) or 0) + limit.window - now), now
end

local function undo(key, at, n)
  local first = younger(key, at)
  if tonumber(redis.call('LINDEX', key, first + n - 1) or 0) ~= at then return 0 end
  return redis.call('LREM', key, n, digits(at))
end
