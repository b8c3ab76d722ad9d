-- schedule: the arithmetic of laws, in micro-slots and µs. Included before every script that needs it.
--
-- A generation g is a law (id, t0, c, r0, r1, den, dur, k, f) with its state (nx: the next number,
-- cut: its first recalled slot, ends: µs, piece: its place in the queue). See pacer/law.go for the formulas;
-- workers compute slot times exactly, here floating point is enough: a count may be off by one at
-- a border in time, and nothing depends on it, because a cut is announced as a slot number.

local U = 1000000                -- micro-slots in a slot; µs in a second
local ENDLESS = 4503599627370496 -- 2^52: no end known

-- %.0f and not tostring or '..': those keep 14 digits only, and a µs epoch has 16.
local function int(x) return string.format('%.0f', x) end

local function split(s, sep)
  local out = {}
  for part in string.gmatch(s or '', '[^' .. sep .. ']+') do out[#out + 1] = part end
  return out
end

local function numbers(s)
  local out = split(s, ':')
  for i = 1, #out do out[i] = tonumber(out[i]) end
  return out
end

local function join(values, sep)
  local out = {}
  for i = 1, #values do out[i] = int(values[i]) end
  return table.concat(out, sep)
end

-- area: the integral of the rate over the first e µs, micro-slots: e·r0 + (r1−r0)·e²/(2·dur).
local function area(g, e)
  if g.dur > 0 then e = math.min(e, g.dur) end
  local mean = g.r0
  if g.r0 ~= g.r1 then mean = g.r0 + (g.r1 - g.r0) * (e / g.dur) / 2 end
  return math.floor(e * mean / g.den + 0.5)
end

-- before: how many slots are due before t.  upto: how many are due at or before t.
local function before(g, t)
  if t <= g.t0 then return 0 end
  return math.max(0, math.min(g.k, math.ceil((area(g, t - g.t0) - g.c) / U)))
end

local function upto(g, t)
  if t < g.t0 then return 0 end
  return math.max(0, math.min(g.k, math.floor((area(g, t - g.t0) - g.c) / U) + 1))
end

-- when: the time of slot s, µs.
local function when(g, s)
  local x = (s * U + g.c) * g.den
  if g.k == 0 or x == 0 then return g.t0 end
  if g.r0 == g.r1 then return g.t0 + math.floor(x / g.r0) end
  local a = (g.r1 - g.r0) / g.dur
  return g.t0 + math.floor(2 * x / (g.r0 + math.sqrt(math.max(0, g.r0 * g.r0 + 2 * a * x))))
end

-- rate: slots per µs in force at t.
local function rate(g, t)
  local r = g.r0
  if g.r0 ~= g.r1 then r = r + (g.r1 - g.r0) * math.max(0, math.min(1, (t - g.t0) / g.dur)) end
  return r / g.den / U
end

local function bitrev(x, f)
  local out = 0
  while f > 1 do
    out = out * 2 + x % 2
    x = math.floor(x / 2)
    f = f / 2
  end
  return out
end

-- over: how many of the numbers a … b−1 stand for slots at or beyond slot s.
local function over(g, a, b, s)
  if s >= g.k then return 0 end
  local base = s - s % g.f
  if g.f == 1 or base + g.f > g.k then return math.max(0, b - math.max(a, s)) end
  local top = base + g.f
  local n = math.max(0, b - math.max(a, top))
  for number = math.max(a, base), math.min(b, top) - 1 do
    if base + bitrev(number - base, g.f) >= s then n = n + 1 end
  end
  return n
end

-- limit: the numbers below it may be granted. A cut inside a bit-reversed frame leaves the frame whole:
-- its numbers stand for slots on both sides.
local function limit(g)
  local base = g.cut - g.cut % g.f
  if g.cut >= g.k or base == g.cut or base + g.f > g.k then return g.cut end
  return base + g.f
end

-- part: the piece p from its µs a to its µs b (0: to its end).
local function part(p, a, b)
  if b == 0 then b = p.dur end
  local dur = math.max(1, b - a) -- 0 would be endless
  if p.r0 == p.r1 then return { r0 = p.r0, r1 = p.r1, den = p.den, dur = dur, f = p.f } end
  -- The rate inside a ramp is rarely a whole number: go to millionths where they fit.
  local s = U
  if math.max(p.r0, p.r1) * U > ENDLESS or p.den >= U then s = 1 end
  local function at(e) return math.floor(s * (p.r0 + (p.r1 - p.r0) * (e / p.dur)) + 0.5) end
  local r0, r1 = at(a), at(b)
  if r0 == r1 and p.den * s > U then -- a constant law keeps a small denominator
    r0 = math.floor(r0 / s + 0.5)
    return { r0 = r0, r1 = r0, den = p.den, dur = dur, f = p.f }
  end
  return { r0 = r0, r1 = r1, den = p.den * s, dur = dur, f = p.f }
end
