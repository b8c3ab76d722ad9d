-- sliding_window: the window cut into m parts, each a counter. The oldest slides out as the next one begins. Like the
-- log, but coarser, in m numbers.
--
--   3 | 0 | 5 | 1 | 2 ]now     m = 5: room for count − 11; the 3 leave when the part of now is over
--
-- KEYS  1 state: hash part number → permits; size: µs of a part, rounded up; m, of which it is  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst: not used  6 option: m; 0 is 1. If calls differ: the largest m
--       while the key lives
-- Returns granted, remaining, retry_after, reset_after (take.lua)
-- Invariant: at most count permits in any m successive parts. These are a window, or slightly more by rounding.

local function capacity(limit) return limit.count end

-- load: the counters by number as text, the newest of them, and the size and m of the count. Text, because the
-- embedded server takes large numbers for the size of an array.
local function load(key)
  local state, parts, newest, size, m = redis.call('HGETALL', key), {}, 0, nil, 1
  for i = 1, #state, 2 do
    local value = tonumber(state[i + 1])
    if state[i] == 'size' then
      size = value
    elseif state[i] == 'm' then
      m = value
    else
      parts[state[i]] = value
      newest = math.max(newest, tonumber(state[i]))
    end
  end
  return parts, newest, size, m
end

-- live: the counters of the last m parts, converted from size `was` to `size`, and their sum. Permits of another size
-- count from the end of their part, but not later than now.
local function live(parts, was, size, last, m)
  local kept, used = {}, 0
  for number, permits in pairs(parts) do
    local i = tonumber(number)
    if was ~= size then i = math.min(last, math.floor(((i + 1) * was - 1) / size)) end
    if i > last - m then
      kept[digits(i)] = (kept[digits(i)] or 0) + permits
      used = used + permits
    end
  end
  return kept, used
end

local function keep(key, parts, size, m, reset)
  local fields = { 'size', digits(size), 'm', digits(m) }
  for i, permits in pairs(parts) do
    fields[#fields + 1] = i
    fields[#fields + 1] = digits(permits)
  end
  redis.call('DEL', key)
  redis.call('HSET', key, unpack(fields))
  redis.call('PEXPIRE', key, lifetime(reset))
end

local function decide(key, now, limit, n, all)
  local parts, newest, was, cut = load(key)
  local m = math.max(1, limit.option)
  if was == math.ceil(limit.window / cut) then m = math.max(m, cut) end
  local size = math.ceil(limit.window / m)
  was = was or size
  local last = math.max(math.floor(now / size), math.floor(newest * was / size))
  now = math.max(now, last * size)
  local used
  parts, used = live(parts, was, size, last, m)

  local granted = part(limit.count - used, n, all)
  local free = limit.count - used - granted
  if granted > 0 then parts[digits(last)] = (parts[digits(last)] or 0) + granted end

  local retry, reset, left = 0, 0, 0
  local leave = granted < n and (all and n or 1) - free or 0 -- there is room when so many of the oldest have left
  for i = last - m + 1, last do
    local ends = (i + m) * size - now
    local permits = parts[digits(i)] or 0
    if permits > 0 then reset = ends end
    if left < leave then retry = ends end
    left = left + permits
  end
  if granted > 0 or was ~= size then keep(key, parts, size, m, reset) end
  return granted, math.max(0, free), retry, reset, now
end

-- undo: if the size of a part has changed since then, the permits count in a later part. Then nothing is given back, or
-- it leaves the window sooner than they would.
local function undo(key, at, n)
  local parts, _, size = load(key)
  local i = size and digits(math.floor(at / size))
  if not i or (parts[i] or 0) < n then return 0 end
  redis.call('HINCRBY', key, i, -n)
  return n
end
