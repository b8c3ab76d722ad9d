-- shares: the records of members, and how much of the circle each is to have. Included behind laws.lua.
--
-- A member is { name, inc, seq, weight, version, joins, state, leaving, giving, missing, units }. held(m) is what it
-- holds and target(m) what it is to hold; both are read when they are first needed. giving: places that it holds and
-- that are not in its target. missing: the other way round. units: places of its target. joins: when neighbours may
-- be joined, ENDLESS = there are none; of a departed member: when it last called. Functions of the same names in
-- internal/proof/model/share.go do the same. A call handles about AT_ONCE members, and the next call goes on.

local AT_ONCE = 16
local MAKE_UP = 100000 -- µs: slots of a free range that are past by no more than this are given too, to be sent late
local SETTLED = 5000000 -- µs after which new ranges are in force everywhere

local cache, touched, unplaced, woken, everyone, entries = {}, {}, {}, {}, false, {}

local function parse(name, text)
  local $names(record), at = struct.unpack(RECORD, text)
  local bare = at + holds * bytes(RANGE)
  if min(holds, aims, state) < 0 or state > REPLACED or bare + aims * bytes(BARE) > #text then error('the record is not whole') end
  local m = { $table(record) }
  m.name, m.inc, m.leaving, m.text, m.at, m.bare = name, sub(text, bare + aims * bytes(BARE)), leaving == 1, text, at, bare
  return m
end

-- member: by its name, or nil. Within a call it is always the same table.
local function member(name)
  if cache[name] == nil then
    local text = redis.call('HGET', keys.workers, name)
    cache[name] = text and parse(name, text) or false
  end
  return cache[name] or nil
end

local function held(m)
  if not m.held then m.held = unpackRanges(m.text, m.at, m.holds) end
  return m.held
end

local function target(m)
  if not m.target then m.target = unpackBares(m.text, m.bare, m.aims) end
  return m.target
end

-- gone: also true for a member of before a failover that has not claimed anything in time.
local function gone(m) return m.state >= LEFT or (m.state == OLD and b.grace == 0) end

local function owner(m) return m.name .. '/' .. m.inc end

-- touch: notes that m must be stored.
local function touch(m) touched[m.name] = m end

-- stays: whether m shares the circle.
local function stays(m) return m.state == PRESENT and not m.leaving end

-- setHeld: sets all that m holds.
local function setHeld(m, ranges)
  m.held, m.owns, m.moved, m.joins, m.version = ranges, true, true, b.now + SETTLED, m.version + 1
  touch(m)
end

-- setTarget: sets all that m is to hold.
local function setTarget(m, ranges)
  m.target, m.aimed, m.moved, m.units = ranges, true, true, length(ranges)
  unplaced[m.name] = m
  touch(m)
end

-- rank: updates the scores in `byLoad` of members whose target or weight has changed.
local function rank()
  for name, m in pairs(unplaced) do
    if stays(m) then redis.call('ZADD', keys.byLoad, string.format('%.17g', m.units / m.weight), name) end
  end
  unplaced = {}
end

-- enters, leaves: m begins, or ends, to share the circle.
local function enters(m)
  b.w, b.made = b.w + m.weight, true
  unplaced[m.name] = m
end

local function leaves(m)
  b.w = b.w - m.weight
  unplaced[m.name] = nil
  redis.call('ZREM', keys.byLoad, m.name)
end

-- close: ends an entry of the log, and returns where the next one begins.
local function close(name, s, g, k)
  if not (s.sg < g or (s.sg == g and s.sk < k)) then return s.sg, s.sk end
  entries[#entries + 1] = struct.pack(RANGE, s.lo, s.hi, s.sg, s.sk, g, k) .. name
  return g, k
end

-- few: how many members share an amount: 16 times as many as it has mean shares, and at least 16.
local function few(amount, n) return min(n, max(16, floor(16 * amount * n / UNITS))) end

-- share: the share of a weight in a sum of weights, in places.
local function share(weight, sum) return floor(UNITS * weight / sum) end

-- members: the members of these names. A name without a record is removed from `byLoad`.
local function members(names)
  local out = {}
  for _, name in ipairs(names) do
    local m = member(name)
    if m then out[#out + 1] = m else redis.call('ZREM', keys.byLoad, name) end
  end
  return out
end

local function leastLoaded(n)
  rank()
  return members(redis.call('ZRANGE', keys.byLoad, '0', int(n - 1)))
end

local function mostLoaded(n)
  rank()
  return members(redis.call('ZREVRANGE', keys.byLoad, '0', int(n - 1)))
end

-- staying: how many members share the circle.
local function staying()
  rank()
  return redis.call('ZCARD', keys.byLoad)
end

-- takeUnits: takes an amount from a member's target, and returns it: whole small ranges first, then a part of the
-- next one.
local function takeUnits(from, amount)
  local moved, units, small = 0, {}, {}
  for i, s in ipairs(target(from)) do small[i] = s end
  table.sort(small, function(x, y)
    local a, z = x.hi - x.lo, y.hi - y.lo
    return a < z or (a == z and x.lo < y.lo)
  end)
  for _, s in ipairs(small) do
    if moved >= amount then break end
    local s = { lo = s.lo, hi = min(s.hi, s.lo + amount - moved) }
    units[#units + 1] = s
    moved = moved + s.hi - s.lo
  end
  if moved > 0 then
    units = plus({}, units)
    setTarget(from, minus(target(from), units))
    woken[from.name] = true
  end
  return units, moved
end

-- addUnits: adds places to a member's target.
local function addUnits(to, units)
  if #units == 0 then return end
  setTarget(to, union(target(to), units))
  woken[to.name] = true
end

-- giveUnassigned: gives a member an amount of some unassigned ranges, and returns the others. beside: only those next to its own
-- ranges.
local function giveUnassigned(m, some, amount, beside)
  if amount <= 0 then return some end
  local got, ends = {}, {}
  if beside then
    -- As texts: the embedded server makes room for all numbers below one.
    for _, x in ipairs(target(m)) do ends[int(x.hi)] = true end
  end
  for _, s in ipairs(some) do
    if amount <= 0 then break end
    if not beside or ends[int(s.lo)] then
      local s = { lo = s.lo, hi = min(s.hi, s.lo + amount) }
      got[#got + 1] = s
      amount = amount - (s.hi - s.lo)
    end
  end
  if #got == 0 then return some end
  pull(UNASSIGNED, got)
  setTarget(m, union(target(m), got))
  woken[m.name] = true
  return minus(some, got)
end

-- someUnassigned: in a large fleet, as many unassigned ranges as a member has on average.
local function someUnassigned(n)
  local most, out = UNITS, {}
  if n > AT_ONCE then most = floor(UNITS / n) end
  for _, s in ipairs(every(UNASSIGNED, int(AT_ONCE))) do
    if most <= 0 then break end
    local s = { lo = s.lo, hi = min(s.hi, s.lo + most) }
    most = most - (s.hi - s.lo)
    out[#out + 1] = s
  end
  return out
end

-- assign: gives unassigned ranges to the least loaded members, up to one level, those next to their own ranges first. When the run is
-- over nobody needs them, and thousands may leave.
local function assign()
  if b.begun == 0 or b.grace > 0 or b.unassigned == 0 then return end
  local last = newest()
  if last.phase >= STOPPED and last.t0 <= b.now then return end
  local n = staying()
  if n == 0 then return end
  local some = someUnassigned(n)
  local sum, w, level, took = length(some), 0, 0, 0
  local list = leastLoaded(few(sum, n))
  for i, m in ipairs(list) do
    if i > 1 and level <= m.units / m.weight then break end
    sum, w, took = sum + m.units, w + m.weight, i
    level = sum / w
  end
  for i = 1, took do some = giveUnassigned(list[i], some, floor(level * list[i].weight) - list[i].units, true) end
  for i = 1, took do some = giveUnassigned(list[i], some, floor(level * list[i].weight) - list[i].units, false) end
  giveUnassigned(list[1], some, length(some), false)
end

-- unassign: gives others what a member was to hold and does not. So a member that leaves keeps its target until it
-- releases a range. Then the range is free, and who gets it calls once.
local function unassign(m)
  local units = minus(target(m), held(m))
  put(UNASSIGNED, units)
  setTarget(m, minus(target(m), units))
  assign()
end

-- welcome: gives a newcomer its share. The most loaded members go down to one level.
local function welcome(m)
  assign()
  local n = staying() - 1
  local need, donors = share(m.weight, b.w) - m.units, {}
  local most = few(need, n)
  for _, x in ipairs(mostLoaded(most + 1)) do
    if x ~= m and #donors < most then donors[#donors + 1] = x end
  end
  local sum, w, level, give = 0, 0, 0, 0
  for i, x in ipairs(donors) do
    if i > 1 and level >= x.units / x.weight then break end
    sum, w, give = sum + x.units, w + x.weight, i
    level = max(0, (sum - need) / w)
  end
  local got = {}
  for i = 1, give do
    local x = donors[i]
    local units, moved = takeUnits(x, min(need, x.units - floor(level * x.weight)))
    for _, s in ipairs(units) do got[#got + 1] = s end
    need = need - moved
  end
  addUnits(m, plus({}, got))
end

-- rebalance: moves places from the most loaded to the least loaded member, if one is more than 8 % off the mean.
local function rebalance()
  if b.grace > 0 then return end
  for _ = 1, 8 do
    if staying() < 2 then return end
    local mean, least, most = UNITS / b.w, leastLoaded(1)[1], mostLoaded(1)[1]
    if not (least and most) then return end
    local low, high = least.units / least.weight, most.units / most.weight
    if low > 0.92 * mean and high < 1.08 * mean then return end
    local amount = min((high - mean) * most.weight, (mean - low) * least.weight)
    local units, moved = takeUnits(most, max(1, amount < 0 and ceil(amount) or floor(amount)))
    if moved == 0 then return end
    addUnits(least, units)
  end
end

-- wake: notifies members that they should call. Everybody is sent the laws. A member whose message is lost learns it at
-- its next call.
local function wake(channel)
  if everyone then
    redis.pcall('PUBLISH', channel, message())
    return
  end
  for name in pairs(woken) do
    local m = member(name)
    if m and m.state == PRESENT then redis.pcall('PUBLISH', channel .. ':' .. name, '') end
  end
end

-- gives: the ranges that m holds and is to release.
local function gives(m) return m.leaving and held(m) or minus(held(m), target(m)) end

-- tally: counts how much m is to release, and how much of its target it has not.
local function tally(m)
  if not m.moved then return end
  m.giving, m.missing, m.moved = length(gives(m)), m.units - common(held(m), target(m)), false
end

local function record(m)
  tally(m)
  local held = m.owns and packed(m.held) or sub(m.text, m.at, m.bare - 1)
  local target = m.aimed and packed(m.target) or sub(m.text, m.bare, m.bare + m.aims * bytes(BARE) - 1)
  return struct.pack(RECORD, $of(record)) .. held .. target .. m.inc
end

-- storeMembers: stores the members and the log.
local function storeMembers()
  local values = {}
  for name, m in pairs(touched) do
    values[#values + 1] = name
    values[#values + 1] = record(m)
  end
  for i = 1, #values, 1000 do redis.call('HSET', keys.workers, unpack(values, i, min(#values, i + 999))) end
  if #entries > 0 then b.made = true end
  for i = 1, #entries, 1000 do redis.call('RPUSH', keys.log, unpack(entries, i, min(#entries, i + 999))) end
  rank()
end
