-- lawful: whether texts are laws in the form of laws.lua, and plans. Included behind check.lua.

-- piece: whether these numbers are a piece whose arithmetic is defined (pacer/law.go).
local function piece(r0, r1, den, dur)
  local most = math.min(MOST, 100000000 * den) -- the highest rate (pacer/rate.go)
  if r0 < 0 or r1 < 0 or r0 > most or r1 > most or den < 1 or den > (r0 == r1 and 1000000 or 1000000000000) or dur < 0 or dur > MOST / 2 then return false end
  return r0 == r1 or dur > 0
end

-- scale: whether a text is the numbers of a scaled plan, ":factor:top:of"; or nothing, if the plan is as people gave it.
local function scale(text, number)
  if text == '' then return true end
  local factor, top, of = string.match(text, '^:(%d+):(%d+):(%d+)$')
  top = whole(top, 1, 1000000)
  return top and whole(factor, 1, top) and whole(of, 0, number)
end

-- readPlans: the plans that come with laws, by number: the arguments from one on. nil if one of them is no plan.
local function readPlans(from)
  local plans = {}
  for i = from, #ARGV do
    local number, numbers, pieces = string.match(ARGV[i], '^(%d+):[01]([:%d]*);(.*)$')
    number = whole(number, 1, MOST)
    if not number or not queue(pieces) or not scale(numbers, number) then return nil end
    plans[number] = ARGV[i]
  end
  return plans
end

-- lawful: whether a text is laws in the order of their numbers, whose arithmetic is defined and whose plans came.
local function lawful(text, plans)
  local at, last = 1, 0
  if #text % 176 ~= 0 then return false end
  while at <= #text do
    local v = { struct.unpack('<llllllllllllllllllllll', text, at) }
    for i = 1, 22 do
      if v[i] < 0 or v[i] > MOST then return false end
    end
    local id, t0, c, k, dur, r0, phase, prev, cut, plan = v[1], v[2], v[3], v[8], v[7], v[4], v[10], v[11], v[12], v[13]
    if id <= last or prev >= id or t0 > MOST / 2 or c > 999999 or k > MOST / 2 or cut > MOST / 2 or phase > 3 then return false end
    if not piece(r0, v[5], v[6], dur) or (dur == 0 and r0 == 0 and k > 0) then return false end
    local rest = math.max(v[15], v[16], v[17], v[18]) > 0
    if v[21] > id or (rest and not piece(v[15], v[16], v[17], v[18])) then return false end
    if plan > 0 and not plans[plan] then return false end
    if v[22] > 2147483646 then return false end
    last, at = id, v[23]
  end
  return true
end

