-- schedule: the arithmetic of laws, in micro-slots and µs. Included before every script that needs it, and in changes.lua.
--
-- A generation g is a law (id, t0, c, r0, r1, den, dur, k, f) with its state (nx: the next number,
-- cut: its first recalled slot, ends: µs, piece: its place in the queue). See pacer/law.go for the formulas;
-- workers compute slot times exactly, here floating point is enough: a count may be off by one at
-- a border in time, and nothing depends on it, because a cut is announced as a slot number.

local floor, ceil, max, min, format, find, sub = math.floor, math.ceil, math.max, math.min, string.format, string.find, string.sub

local U = 1000000                -- micro-slots in a slot; µs in a second
local ENDLESS = 4503599627370496 -- 2^52: no end known
local LEAD = 20000               -- µs between a change and its t0, at least

-- %d and not tostring or '..': those keep 14 digits only, and a µs epoch has 16. Numbers must be whole; create.lua sees to it that
-- %d has room for them. %.0f takes three times as long.
local function int(x) return format('%d', x) end

-- area: the integral of the rate over the first e µs, micro-slots: e·r0 + (r1−r0)·e²/(2·dur).
local function area(g, e)
  if g.dur > 0 then e = min(e, g.dur) end
  local mean = g.r0
  if g.r0 ~= g.r1 then mean = g.r0 + (g.r1 - g.r0) * (e / g.dur) / 2 end
  return floor(e * mean / g.den + 0.5)
end

-- upto: how many slots are due at or before t.
local function upto(g, t)
  if t < g.t0 then return 0 end
  return max(0, min(g.k, floor((area(g, t - g.t0) - g.c) / U) + 1))
end

-- when: the time of slot s, µs.
local function when(g, s)
  local x = (s * U + g.c) * g.den
  if g.k == 0 or x == 0 then return g.t0 end
  if g.r0 == g.r1 then return g.t0 + floor(x / g.r0) end
  local a = (g.r1 - g.r0) / g.dur
  return g.t0 + floor(2 * x / (g.r0 + math.sqrt(max(0, g.r0 * g.r0 + 2 * a * x))))
end

-- rate: slots per µs in force at t.
local function rate(g, t)
  local r = g.r0
  if g.r0 ~= g.r1 then r = r + (g.r1 - g.r0) * max(0, min(1, (t - g.t0) / g.dur)) end
  return r / g.den / U
end

-- over: how many of the numbers a … b−1 stand for slots at or beyond slot s.
local function over(g, a, b, s)
  if s >= g.k then return 0 end
  local base = s - s % g.f
  if g.f == 1 or base + g.f > g.k then return max(0, b - max(a, s)) end
  local top = base + g.f
  local n = max(0, b - max(a, top))
  for number = max(a, base), min(b, top) - 1 do
    local slot, x, f = 0, number - base, g.f -- x, its bits reversed
    while f > 1 do
      slot, x, f = slot * 2 + x % 2, floor(x / 2), f / 2
    end
    if base + slot >= s then n = n + 1 end
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

-- skip: number g.nx moves to `to`; what was passed over was due, and nobody had leased it.
local function skip(b, g, to)
  if to <= g.nx then return end
  local n = to - g.nx - over(g, g.nx, to, g.cut)
  b.issued = b.issued + n
  b.skipped = b.skipped + n
  g.nx = to
end
