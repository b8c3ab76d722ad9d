-- sliding_window: the window cut into m parts, each a counter. The oldest slides out as the next one begins: the log in m numbers, coarser.
--
--   3 | 0 | 5 | 1 | 2 ]now     m = 5: room for count − 11; the 3 leave when the part of now is over
--
-- KEYS  1 state: hash part number → permits; size: µs of a part, rounded up  2 limit
-- ARGV  1 n  2 all  3 count  4 window, µs  5 burst: not used  6 option: m; 0 is 1
-- Returns granted, remaining, retry_after, reset_after (take.lua)
-- Invariant: at most count permits in any m successive parts, which together are a window or, by rounding, a bit more.

local function capacity(limit) return limit.count end

-- load: the counters by number, as text (an embedded server would take large numbers for the size of an array), the number of the part of now, and whether they had another size: then all of them count as of now.
local function load(key, now, size)
  local state, parts, newest, was = redis.call('HGETALL', key), {}, 0, size
  for i = 1, #state, 2 do
    if state[i] == 'size' then
      was = tonumber(state[i + 1])
    else
      parts[state[i]] = tonumber(state[i + 1])
      newest = math.max(newest, tonumber(state[i]))
    end
  end
  local last = math.max(math.floor(now / size), math.floor(newest * was / size))
  return parts, last, was
end

-- live: of the counters those of the last m parts, and their sum.
local function live(parts, last, m)
  local kept, used = {}, 0
  for i, permits in pairs(parts) do
    if tonumber(i) > last - m then
      kept[i] = permits
      used = used + permits
    end
  end
  return kept, used
end

local function store(key, parts, size, reset)
  local fields = { 'size', digits(size) }
  for i, permits in pairs(parts) do
    fields[#fields + 1] = i
    fields[#fields + 1] = digits(permits)
  end
  redis.call('DEL', key)
  redis.call('HSET', key, unpack(fields))
  redis.call('PEXPIRE', key, lifetime(reset))
end

local function decide(key, now, limit, n, all)
  local m = math.max(1, limit.option)
  local size = math.ceil(limit.window / m)
  local parts, last, was = load(key, now, size)
  now = math.max(now, last * size)
  local used
  parts, used = live(parts, was == size and last or math.floor(now / was), m)
  if was ~= size then parts = { [digits(last)] = used } end

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
  if granted > 0 or was ~= size then store(key, parts, size, reset) end
  return granted, math.max(0, free), retry, reset
end
