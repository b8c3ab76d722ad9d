-- schedule: the arithmetic of laws, in micro-slots and µs. Included before laws.lua.
--
-- A law g has id, t0, c, r0, r1, den, dur, k: see pacer/law.go for the formulas. Workers compute slot times exactly.
-- Here floating point is enough: a count may be off by one at a border in time. Nothing depends on that, because a
-- cut is a slot number.

local floor, ceil, max, min, format, find, sub = math.floor, math.ceil, math.max, math.min, string.format, string.find, string.sub

local U = 1000000                -- micro-slots in a slot; µs in a second
local ENDLESS = 4503599627370496 -- 2^52: the end is not known

-- %d and not tostring or '..': those keep 14 digits only, and a µs epoch has 16. Numbers must be whole. make.lua
-- checks that %d can write them. %.0f takes three times as long.
local function int(x) return format('%d', x) end

-- area: the integral of the rate over the first e µs, micro-slots: e·r0 + (r1−r0)·e²/(2·dur).
local function area(g, e)
  if g.dur > 0 then e = min(e, g.dur) end
  local mean = g.r0
  if g.r0 ~= g.r1 then mean = g.r0 + (g.r1 - g.r0) * (e / g.dur) / 2 end
  return floor(e * mean / g.den + 0.5)
end

-- when: the time of slot s, µs.
local function when(g, s)
  local x = (s * U + g.c) * g.den
  if g.k == 0 or x == 0 then return g.t0 end
  if g.r0 == g.r1 then return g.t0 + floor(x / g.r0) end
  local a = (g.r1 - g.r0) / g.dur
  return g.t0 + floor(2 * x / (g.r0 + math.sqrt(max(0, g.r0 * g.r0 + 2 * a * x))))
end

