-- budget: loading, storing and cutting a run's budget, and its members. Included after schedule.lua.
-- Everything is kept as text, so that no number is cut to 14 digits on its way.

local NUMBERS = { 'id', 'cutat', 'last', 'w', 'n', 'joins', 'version', 'issued', 'skipped', 'beyond',
  'at', 'piece', 'loop', 'stop', 'left', 'started', 'ended', 'pausedat', 'restc', 'shift', 'min', 'span',
  'horizon', 'ttl', 'qmax', 'reach', 'phi', 'away', 'edge', 'thin', 'grown', 'permitfor', 'deadman', 'heard', 'delay',
  'stood', 'renewed' }
local TEXTS = { 'uid', 'phase', 'gens', 'recalls', 'rest', 'standby', 'identity' }
local LAW = { 'id', 't0', 'c', 'r0', 'r1', 'den', 'dur', 'k', 'f', 'nx', 'cut', 'ends', 'piece', 'low' }
local PIECE = { 'r0', 'r1', 'den', 'dur', 'f' }
local MEMBER = { 'seq', 'weight', 'v', 'gen', 'share', 'leased', 'beyond', 'at', 'ack', 'rtt', 'shift', 'phi', 'from', 'rank' }

local FRAME = 25000   -- µs a frame covers at most (pacer/frame.go)
local LEAD = 20000     -- µs between a change and its t0, at least
local RTT = 500000    -- µs of round trip that are believed at most: one frozen member must not change the whole fleet's times

local function named(names, values)
  local out = {}
  for i = 1, #names do out[names[i]] = values[i] end
  return out
end

local function unnamed(names, t, n)
  local out = {}
  for i = 1, n or #names do out[i] = t[names[i]] end
  return join(out, ':')
end

-- load: the budget b of KEYS.budget, or nil. now = max(TIME, last seen): the clock never goes back.
local function load(key, clock)
  local names = {}
  for i = 1, #NUMBERS do names[i] = NUMBERS[i] end
  for i = 1, #TEXTS do names[#NUMBERS + i] = TEXTS[i] end
  local values = redis.call('HMGET', key, unpack(names))
  if not values[#NUMBERS + 1] then return nil end
  local b, was = named(names, values), {}
  for _, name in ipairs(NUMBERS) do
    b[name] = tonumber(b[name] or 0)
    was[name] = b[name]
  end
  for _, name in ipairs(TEXTS) do was[name] = b[name] end
  b.was = was
  b.at = math.max(1, b.at)
  b.standby = b.standby or ''
  b.reach = math.max(b.reach, b.horizon)
  b.time = tonumber(clock[1]) * U + tonumber(clock[2])
  b.now = math.max(b.time, b.last)
  local gens = {}
  for i, text in ipairs(split(b.gens, ';')) do gens[i] = named(LAW, numbers(text)) end
  b.gens = gens
  return b
end

-- store: keeps of the generations those that a cut can still reach.
local function store(key, b)
  while b.at > 1 and b.gens[1].ends < b.now do
    table.remove(b.gens, 1)
    b.at = b.at - 1
  end
  local gens, texts = b.gens, {}
  for i, g in ipairs(gens) do texts[i] = unnamed(LAW, g) end
  b.gens = table.concat(texts, ';')
  b.last = b.now
  local out = { 'last', int(b.last) }
  local function change(names, text)
    for _, name in ipairs(names) do
      if b[name] ~= b.was[name] then
        out[#out + 1] = name
        out[#out + 1] = text(b[name])
      end
    end
  end
  change(NUMBERS, int)
  change(TEXTS, function(text) return text or '' end)
  redis.call('HSET', key, unpack(out))
  b.gens = gens
end

local function event(key, b, kind, who, what)
  redis.call('XADD', key, 'MAXLEN', '~', '10000', '*', 't', int(b.now), 'kind', kind, 'who', who, 'what', what)
end

-- live: gives keys that were made after the run's creation its lifetime. From then on snapshots renew that of all keys.
local function live(keys)
  local ttl = redis.call('PTTL', keys.budget)
  if ttl <= 0 then return end
  for _, key in pairs(keys) do redis.call('PEXPIRE', key, ttl) end
end

-- A member's record: "incarnation state numbers reply ranges"; '-' where there is none.
-- ranges: what it may still hold, "generation:first:n:until,…", until being when the last slot is past. They stay
-- text, because only a cut looks into them.
local function parse(text)
  if not text then return nil end
  local f = split(text, ' ')
  local m = named(MEMBER, numbers(f[3]))
  m.inc, m.state, m.reply, m.ranges = f[1], f[2], f[4], f[5]
  return m
end

local function format(m)
  return table.concat({ m.inc, m.state, unnamed(MEMBER, m), m.reply or '-', m.ranges }, ' ')
end

local function pieces(key)
  local out = {}
  for i, text in ipairs(split(redis.call('HGET', key, 'pieces'), ';')) do out[i] = named(PIECE, numbers(text)) end
  return out
end

-- lowest: the lowest rate of the schedule, in slots per 10^6 s, over piece p, which is the queue's number `piece`, and as long
-- after it as a permit given during it may last. A queue that begins anew is looked at once.
local function lowest(b, keys, p, piece)
  local low, rest = math.min(p.r0, p.r1) / p.den, 2 * b.reach + b.permitfor
  if p.dur > 0 and b.permitfor > 0 then
    local queue = pieces(keys.budget)
    for _ = 1, #queue do
      if piece >= #queue then
        if b.loop == 0 then break end
        piece = 0
      end
      piece = piece + 1
      local x = queue[piece]
      low, rest = math.min(low, x.r0 / x.den, x.r1 / x.den), rest - x.dur
      if x.dur == 0 or rest <= 0 then break end
    end
  end
  return math.floor(low * U)
end

-- begin: a generation of piece p from t0 with phase c.
local function begin(b, keys, p, t0, c, piece)
  b.id = math.max(b.id + 1, b.now)
  local g = { id = b.id, t0 = t0, c = c, r0 = p.r0, r1 = p.r1, den = p.den, dur = p.dur, f = p.f, nx = 0, piece = piece,
    k = ENDLESS, ends = ENDLESS, low = lowest(b, keys, p, piece) }
  if p.dur > 0 then
    g.k = math.max(0, math.ceil((area(g, p.dur) - c) / U))
    g.ends = t0 + p.dur
  elseif p.r0 == 0 then
    g.k = 0
  end
  if b.left >= 0 then
    if g.k >= b.left then
      g.k = b.left
      -- n requests at a rate take n / rate, as they do where a duration is given.
      g.ends = math.min(g.ends, when(g, g.k))
    end
    b.left = b.left - g.k
  end
  g.cut = g.k
  b.gens[#b.gens + 1] = g
  redis.call('HSET', keys.laws, int(g.id), unnamed(LAW, g, 9) .. ':' .. int(g.cut))
  return g
end

-- advance: the next piece of the queue as a generation behind the last one, or nil.
local function advance(b, keys)
  local prev = b.gens[#b.gens]
  if b.left == 0 or prev.dur == 0 then return nil end
  local queue = pieces(keys.budget)
  if b.piece >= #queue then
    if b.loop == 0 then return nil end
    b.piece = 0
  end
  local p, t0 = queue[b.piece + 1], prev.t0 + prev.dur
  if b.stop > 0 then
    if t0 >= b.stop then return nil end
    if p.dur == 0 or t0 + p.dur > b.stop then p = part(p, 0, b.stop - t0) end
  end
  local c = math.max(0, math.min(U - 1, prev.k * U + prev.c - area(prev, prev.dur)))
  b.piece = b.piece + 1
  return begin(b, keys, p, t0, c, b.piece)
end

-- members: every record, by field.
local function members(key)
  local flat, out = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do out[flat[i]] = parse(flat[i + 1]) end
  return out
end

-- cut: ends all generations at t, counting in slot space: leased slots at or beyond the cut go to
-- `beyond` of whoever leased them; skipped ones were never asked for.
-- Returns the generation in force at t (its first recalled slot is g.cut) and the phase to go on with.
local function cut(b, keys, all, t)
  local active = b.gens[1]
  for _, g in ipairs(b.gens) do
    local s = before(g, t)
    if s < g.cut then
      local given = over(g, 0, g.nx, s) - over(g, 0, g.nx, g.cut)
      for _, m in pairs(all) do
        for _, text in ipairs(split(m.ranges, ',')) do
          local gen, first, n = unpack(numbers(text))
          if gen == g.id then
            local beyond = over(g, first, first + n, s) - over(g, first, first + n, g.cut)
            m.beyond = m.beyond + beyond
            b.beyond = b.beyond + beyond
            given = given - beyond
          end
        end
      end
      b.issued = b.issued - given
      b.skipped = b.skipped - given
      if b.left >= 0 then b.left = b.left + g.cut - s end
      g.cut = s
      redis.call('HSET', keys.laws, int(g.id), unnamed(LAW, g, 9) .. ':' .. int(s))
    end
    g.ends = math.min(g.ends, math.max(t, g.t0))
    if g.t0 <= t then active = g end
  end
  local c = math.max(0, math.min(U - 1, active.cut * U + active.c - area(active, math.max(0, t - active.t0))))
  b.cutat = t
  b.id = math.max(b.id + 1, b.now)
  local recalls = split(b.recalls, ';')
  recalls[#recalls + 1] = join({ b.id, t, active.id, active.cut }, ':')
  while #recalls > 4 do table.remove(recalls, 1) end
  b.recalls = table.concat(recalls, ';')
  return active, c
end

-- latest: the id of the latest recall, 0 if there is none.
local function latest(b)
  local recalls = split(b.recalls, ';')
  return #recalls > 0 and numbers(recalls[#recalls])[1] or 0
end

-- skip: number g.nx moves to `to`; what was passed over was due, and nobody had leased it.
local function skip(b, g, to)
  if to <= g.nx then return end
  local n = to - g.nx - over(g, g.nx, to, g.cut)
  b.issued = b.issued + n
  b.skipped = b.skipped + n
  g.nx = to
end

-- position: the time up to which slots have been granted.
local function position(b)
  local g = b.gens[b.at]
  if not g then return b.now end
  if g.nx >= limit(g) then return math.max(b.now, math.min(g.ends, b.now + b.horizon)) end
  return math.max(b.now, when(g, g.nx))
end

-- go: generations from t0 on, beginning with piece p, the queue's number `piece`.
local function go(b, keys, p, t0, c, piece)
  if b.stop > 0 then
    if t0 >= b.stop then return end
    if p.dur == 0 or t0 + p.dur > b.stop then p = part(p, 0, b.stop - t0) end
  end
  begin(b, keys, p, t0, c, piece)
  b.piece = piece
end

-- rest: what is left of generation g's piece after t.
local function rest(g, t)
  local p = { r0 = g.r0, r1 = g.r1, den = g.den, dur = g.dur, f = g.f }
  if g.dur > 0 then p = part(p, math.max(0, math.min(g.dur, t - g.t0)), 0) end
  return p
end

-- stood: how long the schedule's clock stood still so far, while the plan is in force, µs.
local function stood(b)
  if b.stood >= 0 and b.phase == 'paused' then return b.stood + math.max(0, b.now - b.pausedat) end
  return b.stood
end

-- halt: nothing is asked for any more from t0 on.
local function halt(b, keys, all, t0)
  if b.gens[1] then cut(b, keys, all, t0) end
  for _, g in ipairs(b.gens) do skip(b, g, limit(g)) end
  b.phase, b.ended = 'stopped', t0
end

-- drop: member m leaves the weight sum, and its permit is free. Credit follows: what it had not taken up to the granting
-- position is shared out among those who stay, or they would trail behind it for ever.
local function drop(b, keys, name, m, state, what)
  b.phi = b.phi - m.phi
  if m.state == 'suspect' then b.away = b.away - m.phi end
  m.phi = 0
  m.state = state
  b.w = b.w - m.weight
  b.n = b.n - 1
  if b.w > 0 then
    local d = m.weight * (position(b) - (m.v - (b.shift - m.shift))) / b.w
    b.shift = b.shift + math.floor(math.max(-b.horizon, math.min(b.horizon, d)) + 0.5)
  end
  if b.standby == name then b.standby = '' end
  b.version = b.version + 1
  redis.call('ZREM', keys.seen, name)
  redis.call('HSET', keys.workers, name, format(m))
  event(keys.events, b, state, name, what)
end
