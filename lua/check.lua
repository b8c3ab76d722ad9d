-- check: what the arguments of a script must be. Included before every script. A wrong argument is an error that
-- changes nothing: each script checks all of them before it reads or writes.

local MOST = 9007199254740992 -- 2^53: larger integers are not exact

-- whole: text as an integer from low to high, or nil. tonumber alone accepts nan, inf, 1e300 and 0x10.
local function whole(text, low, high)
  local x = string.find(text or '', '^%-?%d+$') and tonumber(text)
  if x and low <= x and x <= high then return x end
end

-- plain: whether text can name a worker, an incarnation or a command. Other characters divide records.
local function plain(text)
  return string.find(text or '', '^%w[%w._-]*$') and #text <= 64
end

-- hostname: whether text can name an endpoint or a budget: HOST, HOST:PORT, *.DOMAIN or *.
local function hostname(text)
  return string.find(text or '', '^[%w*%[][^%s%c]*$') and #text <= 300
end

-- queue: whether text is pieces "r0:r1:den:dur;…" whose arithmetic is defined (pacer/profile.go).
local function queue(text)
  local n = 0
  for piece in string.gmatch(text or '', '[^;]+') do
    local a, b, d, e = string.match(piece, '^(%d+):(%d+):(%d+):(%d+)$')
    -- The rest of a ramp may have a denominator a million times that of the whole (pacer/part.go).
    local den, dur = whole(d, 1, a == b and 1000000 or 1000000000000), whole(e, 0, MOST)
    if not (den and dur) then return false end
    local most = math.min(MOST, 100000000 * den) -- the highest rate (pacer/rate.go)
    if not (whole(a, 0, most) and whole(b, 0, most)) or (dur == 0 and a ~= b) then return false end
    n = n + 1
  end
  return n > 0
end

-- scriptConfig: whether text is the settings of a limiter (grant.lua).
local function scriptConfig(text)
  local burst, window, option = string.match(text or '', '^(%d+):(%d+):(%d+):[01]:[01]$')
  return whole(burst, 0, 1000000000) and whole(window, 0, 31622400000000) and whole(option, 0, 1000)
end

local function refuse(script, name)
  return redis.error_reply('ERR ' .. script .. ': ' .. name .. ' is malformed or out of range')
end

-- wrong: an error about the first number among the arguments that is out of range, or nil. rules: position, name,
-- low, high, …
local function wrong(script, rules)
  for i = 1, #rules, 4 do
    if not whole(ARGV[rules[i]], rules[i + 2], rules[i + 3]) then return refuse(script, rules[i + 1]) end
  end
end

