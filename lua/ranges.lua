-- ranges: ranges of the circle: lists of { lo, hi, from (fg, fk), since (sg, sk) }, disjoint and in order. A target has
-- only lo and hi. from: the owner sends from this slot of this law on. since: for the log. pacer/lease/range.go does
-- the same in Go.

local UNITS = 16777216
local RANGE, BARE = '<$letters(range)', '<$letters(bare)'
local FREE, UNKNOWN, UNASSIGNED = 0, 1, 2 -- kinds of ranges that no member holds, or that are in no target
local KIND = 33554432 -- distance of the scores of two kinds

-- later: the later one of two slots.
local function later(g, k, h, l)
  if g < h or (g == h and k < l) then return h, l end
  return g, k
end

local function part(s, lo, hi) return { lo = lo, hi = hi, fg = s.fg, fk = s.fk, sg = s.sg, sk = s.sk } end

local function length(ranges)
  local n = 0
  for _, s in ipairs(ranges) do n = n + s.hi - s.lo end
  return n
end

-- split: the parts of ranges that are in cover, and those that are not.
local function split(ranges, cover)
  local inside, outside, i = {}, {}, 1
  for _, s in ipairs(ranges) do
    while cover[i] and cover[i].hi <= s.lo do i = i + 1 end
    local at, j = s.lo, i
    while cover[j] and cover[j].lo < s.hi do
      local lo, hi = math.max(s.lo, cover[j].lo), math.min(s.hi, cover[j].hi)
      if at < lo then outside[#outside + 1] = part(s, at, lo) end
      inside[#inside + 1] = part(s, lo, hi)
      at, j = hi, j + 1
    end
    if at < s.hi then outside[#outside + 1] = part(s, at, s.hi) end
  end
  return inside, outside
end

local function minus(ranges, cover)
  local _, out = split(ranges, cover)
  return out
end

-- common: how many places are in both.
local function common(ranges, more)
  local n, i, j = 0, 1, 1
  while ranges[i] and more[j] do
    local x, y = ranges[i], more[j]
    local lo, hi = x.lo, x.hi
    if y.lo > lo then lo = y.lo end
    if y.hi < hi then hi, j = y.hi, j + 1 else i = i + 1 end
    if lo < hi then n = n + hi - lo end
  end
  return n
end

-- plus: both, which have no place in common.
local function plus(ranges, more)
  if #more == 0 then return ranges end
  local out = {}
  for _, s in ipairs(ranges) do out[#out + 1] = s end
  for _, s in ipairs(more) do out[#out + 1] = s end
  table.sort(out, function(a, b) return a.lo < b.lo end)
  return out
end

-- bare: only the places, with neighbours joined.
local function bare(ranges)
  local out = {}
  for _, s in ipairs(ranges) do
    local last = out[#out]
    if last and last.hi == s.lo then last.hi = s.hi else out[#out + 1] = { lo = s.lo, hi = s.hi } end
  end
  return out
end

local function union(ranges, more) return bare(plus(bare(ranges), minus(bare(more), ranges))) end

-- unpackRanges: reads n ranges, or all, of a text from its byte `at` on.
local function unpackRanges(text, at, n)
  local out, size = {}, bytes(RANGE)
  for i = 1, n or (#text - at + 1) / size do
    local $names(range) = struct.unpack(RANGE, text, at)
    out[i], at = { $table(range) }, at + size
  end
  return out
end

local function unpackBares(text, at, n)
  local out, size = {}, bytes(BARE)
  for i = 1, n do
    local $names(bare) = struct.unpack(BARE, text, at)
    out[i], at = { $table(bare) }, at + size
  end
  return out
end

local function pack(s)
  if s.fg then return struct.pack(RANGE, $of(range)) end
  return struct.pack(BARE, $of(bare))
end

local function packed(ranges)
  local out = {}
  for i, s in ipairs(ranges) do out[i] = pack(s) end
  return table.concat(out)
end

-- What no member holds, or is in no target.
local every, put, pull, clear

do
  -- count: changes the number of ranges of a kind by n.
  local function count(kind, n)
    if kind == FREE then b.free = b.free + n elseif kind == UNASSIGNED then b.unassigned = b.unassigned + n end
  end

  local function place(kind, at) return string.format('%d', kind * KIND + at) end

  -- unowned: ranges of a kind, from their texts.
  local function unowned(kind, texts)
    local out = {}
    for i, text in ipairs(texts) do
      out[i] = kind == UNASSIGNED and unpackBares(text, 1, 1)[1] or unpackRanges(text, 1, 1)[1]
      out[i].text = text
    end
    return out
  end

  -- every: all ranges of a kind, or the first n.
  function every(kind, n)
    return unowned(kind, redis.call('ZRANGEBYSCORE', keys.unowned, place(kind, 0), '(' .. place(kind, UNITS), 'LIMIT', '0', n or '-1'))
  end

  -- left: the last range of a kind that begins before a place.
  local function left(kind, at)
    return unowned(kind, redis.call('ZREVRANGEBYSCORE', keys.unowned, '(' .. place(kind, at), place(kind, 0), 'LIMIT', '0', '1'))[1]
  end

  local function drop(kind, s)
    redis.call('ZREM', keys.unowned, s.text)
    count(kind, -1)
  end

  -- put: adds ranges of a kind. Unassigned ranges are joined to their neighbours.
  function put(kind, ranges)
    for _, s in ipairs(ranges) do
      if kind == UNASSIGNED then
        local a = left(kind, s.lo)
        local z = unowned(kind, redis.call('ZRANGEBYSCORE', keys.unowned, place(kind, s.hi), place(kind, s.hi)))[1]
        s = { lo = s.lo, hi = s.hi }
        if a and a.hi == s.lo then
          drop(kind, a)
          s.lo = a.lo
        end
        if z then
          drop(kind, z)
          s.hi = z.hi
        end
      end
      redis.call('ZADD', keys.unowned, place(kind, s.lo), pack(s))
      count(kind, 1)
      b.made = true
    end
  end

  -- pull: takes out the ranges of a kind that are in cover.
  function pull(kind, cover)
    local out = {}
    for _, c in ipairs(cover) do
      local found = unowned(kind, redis.call('ZRANGEBYSCORE', keys.unowned, place(kind, c.lo), '(' .. place(kind, c.hi)))
      local first = left(kind, c.lo)
      if first and first.hi > c.lo then table.insert(found, 1, first) end
      for _, s in ipairs(found) do
        drop(kind, s)
        local lo, hi = math.max(s.lo, c.lo), math.min(s.hi, c.hi)
        local function rest(lo, hi)
          if lo < hi then
            redis.call('ZADD', keys.unowned, place(kind, lo), pack(part(s, lo, hi)))
            count(kind, 1)
          end
        end
        rest(s.lo, lo)
        rest(hi, s.hi)
        out[#out + 1] = part(s, lo, hi)
      end
    end
    return out
  end

  -- clear: removes all ranges of a kind.
  function clear(kind)
    count(kind, -redis.call('ZREMRANGEBYSCORE', keys.unowned, place(kind, 0), '(' .. place(kind, UNITS)))
  end
end
