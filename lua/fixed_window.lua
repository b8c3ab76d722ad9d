-- fixed_window: a counter for each window. A window begins with the first permit after the last window.
--
--   |x x x x x|. . . .|x…     at most count in each window, so up to 2 · count at once where two windows meet
--
-- KEYS  1 state: hash start, used, window  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst: not used  6 option: how the lifetime is set.
--       0: when the window begins  1: by each grant, if there is none (PEXPIRE NX, Redis 7.0 or newer)
-- Returns granted, remaining, retry_after, reset_after (take.lua)
-- Invariant: at most count permits between start and start + window. Neither permits nor refusals move a window's
-- end.

local function capacity(limit) return limit.count end

local function decide(key, now, limit, n, all)
  local state = redis.call('HMGET', key, 'start', 'used', 'window')
  local start, used, window = tonumber(state[1] or -MOST), tonumber(state[2] or 0), tonumber(state[3] or 0)
  now = math.max(now, start)
  local over = now >= start + limit.window
  if over then start, used = now, 0 end

  local granted = part(limit.count - used, n, all)
  used = used + granted
  local ends = used > 0 and start + limit.window - now or 0
  if granted > 0 or (not over and window ~= limit.window) then
    local newWindow = over or window ~= limit.window
    if newWindow then redis.call('DEL', key) end -- this also removes the lifetime of the window before
    redis.call('HSET', key, 'start', digits(start), 'used', digits(used), 'window', digits(limit.window))
    if limit.option == 1 then
      redis.call('PEXPIRE', key, lifetime(ends), 'NX')
    elseif newWindow then
      redis.call('PEXPIRE', key, lifetime(ends))
    end
  end
  return granted, math.max(0, limit.count - used), granted < n and ends or 0, ends, now
end

-- undo: a window has no memory of when its permits were granted, and needs none.
local function undo(key, at, n)
  local state = redis.call('HMGET', key, 'start', 'used')
  if at < tonumber(state[1] or MOST) or tonumber(state[2]) < n then return 0 end
  redis.call('HINCRBY', key, 'used', -n)
  return n
end
