-- changes: what few calls do: generations begin and are cut, members leave, all goes on anew. Included after schedule.lua and member.lua.
--
-- This is the body of a function changes(b, keys), and what it returns its functions: Lua makes functions anew at each call of a script, so
-- these are made by calls that need them, and so are the fields read that only they need (RARE). Whoever calls it has the state stored.
-- schedule.lua and member.lua are in it once more: a function that uses nothing from outside is made at once.

local RARE = { 'cutat', 'joins', 'piece', 'loop', 'ended', 'pausedat', 'restc', 'min', 'span', 'revoked', 'renewed' }

b.changed = true
if not b.rare then
  local values, rare = redis.call('HMGET', keys.budget, 'rest', unpack(RARE)), {}
  rare.rest = values[1] or ''
  for i, name in ipairs(RARE) do rare[name] = tonumber(values[i + 1] or 0) end
  for name, value in pairs(rare) do b[name] = value end
  b.rare = rare
end

local function split(s, sep)
  local out = {}
  for part in string.gmatch(s or '', '[^' .. sep .. ']+') do out[#out + 1] = part end
  return out
end

local function numbers(text)
  local out = split(text, ':')
  for i = 1, #out do out[i] = tonumber(out[i]) end
  return out
end

-- piece: of its text "r0:r1:den:dur:f".
local function piece(text)
  local r0, r1, den, dur, f = unpack(numbers(text))
  return { r0 = r0, r1 = r1, den = den, dur = dur, f = f }
end

-- law: of a generation, as text.
local function law(g)
  return format('%d:%d:%d:%d:%d:%d:%d:%d:%d', g.id, g.t0, g.c, g.r0, g.r1, g.den, g.dur, g.k, g.f)
end

-- text: of a piece, as piece reads it.
local function text(p) return format('%d:%d:%d:%d:%d', p.r0, p.r1, p.den, p.dur, p.f) end

-- before: how many slots are due before t.
local function before(g, t)
  if t <= g.t0 then return 0 end
  return max(0, min(g.k, ceil((area(g, t - g.t0) - g.c) / U)))
end

-- part: the piece p from its µs a to its µs b (0: to its end).
local function part(p, a, b)
  if b == 0 then b = p.dur end
  local dur = max(1, b - a) -- 0 would be endless
  if p.r0 == p.r1 then return { r0 = p.r0, r1 = p.r1, den = p.den, dur = dur, f = p.f } end
  -- The rate inside a ramp is rarely a whole number: go to millionths where they fit.
  local s = U
  if max(p.r0, p.r1) * U > ENDLESS or p.den >= U then s = 1 end
  local function at(e) return floor(s * (p.r0 + (p.r1 - p.r0) * (e / p.dur)) + 0.5) end
  local r0, r1 = at(a), at(b)
  if r0 == r1 and p.den * s > U then -- a constant law keeps a small denominator
    r0 = floor(r0 / s + 0.5)
    return { r0 = r0, r1 = r0, den = p.den, dur = dur, f = p.f }
  end
  return { r0 = r0, r1 = r1, den = p.den * s, dur = dur, f = p.f }
end

local function pieces()
  local out = {}
  for i, text in ipairs(split(redis.call('HGET', keys.budget, 'pieces'), ';')) do out[i] = piece(text) end
  return out
end

-- lowest: the lowest rate of the schedule, in slots per 10^6 s, over piece p, which is the queue's number `piece`, and as long
-- after it as a permit given during it may last. A queue that begins anew is looked at once.
local function lowest(p, piece)
  local low, rest = min(p.r0, p.r1) / p.den, 2 * b.reach + b.permitfor
  if p.dur > 0 and b.permitfor > 0 then
    local queue = pieces()
    for _ = 1, #queue do
      if piece >= #queue then
        if b.loop == 0 then break end
        piece = 0
      end
      piece = piece + 1
      local x = queue[piece]
      low, rest = min(low, x.r0 / x.den, x.r1 / x.den), rest - x.dur
      if x.dur == 0 or rest <= 0 then break end
    end
  end
  return floor(low * U)
end

-- low: the lowest rate of what is to come, as far as a permit given now may last.
local function low()
  local low = ENDLESS
  for _, g in ipairs(b.gens) do
    if g.ends > b.now then low = min(low, g.low) end
  end
  return low
end

-- begin: a generation of piece p from t0 with phase c.
local function begin(p, t0, c, piece)
  b.id = max(b.id + 1, b.now)
  local g = { id = b.id, t0 = t0, c = c, r0 = p.r0, r1 = p.r1, den = p.den, dur = p.dur, f = p.f, nx = 0, piece = piece,
    k = ENDLESS, ends = ENDLESS, low = lowest(p, piece) }
  if p.dur > 0 then
    g.k = max(0, ceil((area(g, p.dur) - c) / U))
    g.ends = t0 + p.dur
  elseif p.r0 == 0 then
    g.k = 0
  end
  if b.left >= 0 then
    if g.k >= b.left then
      g.k = b.left
      -- n requests at a rate take n / rate, as they do where a duration is given.
      g.ends = min(g.ends, when(g, g.k))
    end
    b.left = b.left - g.k
  end
  g.cut, g.law = g.k, struct.pack(LAW, g.id, g.t0, g.c, g.r0, g.r1, g.den, g.dur, g.k, g.f)
  b.gens[#b.gens + 1] = g
  redis.call('HSET', keys.laws, int(g.id), law(g) .. ':' .. int(g.cut))
end

-- advance: the next piece of the queue as a generation behind the last one. Returns whether there is one.
local function advance()
  local prev = b.gens[#b.gens]
  if b.left == 0 or prev.dur == 0 then return false end
  local queue = pieces()
  if b.piece >= #queue then
    if b.loop == 0 then return false end
    b.piece = 0
  end
  local p, t0 = queue[b.piece + 1], prev.t0 + prev.dur
  if b.stop > 0 then
    if t0 >= b.stop then return false end
    if p.dur == 0 or t0 + p.dur > b.stop then p = part(p, 0, b.stop - t0) end
  end
  local c = max(0, min(U - 1, prev.k * U + prev.c - area(prev, prev.dur)))
  b.piece = b.piece + 1
  begin(p, t0, c, b.piece)
  return true
end

-- members: every record, by field.
local function members()
  local flat, out = redis.call('HGETALL', keys.workers), {}
  for i = 1, #flat, 2 do out[flat[i]] = parse(flat[i + 1]) end
  return out
end

-- cut: ends all generations at t, counting in slot space: leased slots at or beyond the cut go to
-- `beyond` of whoever leased them; skipped ones were never asked for.
-- Returns the generation in force at t (its first recalled slot is g.cut) and the phase to go on with.
local function cut(all, t)
  local active = b.gens[1]
  for _, g in ipairs(b.gens) do
    local s = before(g, t)
    if s < g.cut then
      local given = over(g, 0, g.nx, s) - over(g, 0, g.nx, g.cut)
      for _, m in pairs(all) do
        for at = 1, #m.ranges, bytes(RANGE) do
          local _, gen, first, n = struct.unpack(RANGE, m.ranges, at)
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
      redis.call('HSET', keys.laws, int(g.id), law(g) .. ':' .. int(s))
    end
    g.ends = min(g.ends, max(t, g.t0))
    if g.t0 <= t then active = g end
  end
  local c = max(0, min(U - 1, active.cut * U + active.c - area(active, max(0, t - active.t0))))
  b.cutat, b.revoked = t, t
  b.id = max(b.id + 1, b.now)
  local recalls = split(b.recalls, ';')
  recalls[#recalls + 1] = format('%d:%d:%d:%d', b.id, t, active.id, active.cut)
  while #recalls > 4 do table.remove(recalls, 1) end
  b.recalls = table.concat(recalls, ';')
  return active, c
end

-- latest: the id of the latest recall, 0 if there is none.
local function latest()
  local recalls = split(b.recalls, ';')
  return #recalls > 0 and numbers(recalls[#recalls])[1] or 0
end

-- event: into the event stream.
local function event(kind, who, what)
  redis.call('XADD', keys.events, 'MAXLEN', '~', '10000', '*', 't', int(b.now), 'kind', kind, 'who', who, 'what', what)
end

-- live: gives keys that were made after the run's creation its lifetime. From then on snapshots renew that of all keys.
local function live()
  local ttl = redis.call('PTTL', keys.budget)
  if ttl <= 0 then return end
  for _, key in pairs(keys) do redis.call('PEXPIRE', key, ttl) end
end

-- position: the time up to which slots have been granted.
local function position()
  local g = b.gens[b.at]
  if not g then return b.now end
  if g.nx >= limit(g) then return max(b.now, min(g.ends, b.now + b.horizon)) end
  return max(b.now, when(g, g.nx))
end

-- start: the run's first t0 is set when the required members are there (min 0: when it is started by command); all of them can
-- still lease its first frame. Of a run that was restored, all that was leased before is due by then.
local function start(worker)
  local t0 = b.now + b.horizon
  b.phase, b.cutat = 'running', t0 - 1
  if b.started == 0 then b.started = t0 end
  if b.span > 0 then b.stop = t0 + b.span end
  local p = pieces()[1]
  if b.stop > 0 and (p.dur == 0 or p.dur > b.span) then p = part(p, 0, b.span) end
  b.piece = 1
  begin(p, t0, 0, 1)
  event('start', worker, 'first slot in ' .. int(floor((max(t0, b.grantfrom) - b.now) / 1000 + 0.5)) .. ' ms')
end

-- go: generations from t0 on, beginning with piece p, the queue's number `piece`.
local function go(p, t0, c, piece)
  if b.stop > 0 then
    if t0 >= b.stop then return end
    if p.dur == 0 or t0 + p.dur > b.stop then p = part(p, 0, b.stop - t0) end
  end
  begin(p, t0, c, piece)
  b.piece = piece
end

-- rest: what is left of generation g's piece after t.
local function rest(g, t)
  local p = { r0 = g.r0, r1 = g.r1, den = g.den, dur = g.dur, f = g.f }
  if g.dur > 0 then p = part(p, max(0, min(g.dur, t - g.t0)), 0) end
  return p
end

-- halt: nothing is asked for any more from t0 on.
local function halt(all, t0)
  if b.gens[1] then cut(all, t0) end
  for _, g in ipairs(b.gens) do skip(b, g, limit(g)) end
  b.phase, b.ended = 'stopped', t0
end

-- drop: member m leaves the weight sum, and its permit is free. Credit follows: what it had not taken up to the granting
-- position is shared out among those who stay, or they would trail behind it for ever.
--
-- What was due while it may have been firing on its permit was sent. A schedule alone grants nothing that is past; a limiter's gate does.
local function drop(name, m, state, what)
  local g = b.gens[b.at]
  if g and m.phi > 0 and (m.state == 'suspect' or m.from <= b.now) and redis.call('HEXISTS', keys.budget, 'limit') == 1 then
    skip(b, g, min(limit(g), ceil(upto(g, b.now) / g.f) * g.f))
  end
  b.phi = b.phi - m.phi
  if m.state == 'suspect' then b.away = b.away - m.phi end
  m.phi = 0
  m.state = state
  b.w = b.w - m.weight
  b.n = b.n - 1
  if b.w > 0 then
    local d = m.weight * (position() - (m.v - (b.shift - m.shift))) / b.w
    b.shift = b.shift + floor(max(-b.horizon, min(b.horizon, d)) + 0.5)
  end
  if b.standby == name then b.standby = '' end
  b.version = b.version + 1
  redis.call('ZREM', keys.seen, name)
  redis.call('HSET', keys.workers, name, record(m))
  event(state, name, what)
end

-- suspect: its record is written here, unless all are at the end.
local function suspect(name, m, all)
  m.state = 'suspect'
  b.away = b.away + m.phi
  if not all then redis.call('HSET', keys.workers, name, record(m)) end
end

-- anew: what was granted last may have been forgotten, or lies in another time: all generations end at t, the same
-- law goes on at t0, and every member may have been heard of a moment ago and be firing on its permit.
local function anew(t, t0, what)
  local all = members()
  if b.phase == 'running' and b.gens[1] then
    local g, c = cut(all, t)
    for _, x in ipairs(b.gens) do skip(b, x, limit(x)) end
    b.cutat = t0
    local over = b.gens
    if t ~= t0 then -- their times mean nothing any more, nor do those of a limiter
      b.gens, b.at = {}, 1
      if keys.limiter then redis.call('DEL', keys.limiter) end
    end
    go(rest(g, t), t0, c, g.piece)
    if #b.gens == 0 then b.gens, b.at = over, #over end
  end
  b.edge = b.now + b.reach
  for name, m in pairs(all) do
    m.at = min(m.at, b.now)
    if t ~= t0 then m.ranges = '' end
    if m.state == 'active' then suspect(name, m, all) end
    if m.state == 'suspect' then
      m.from = b.edge - 1
      redis.call('ZADD', keys.seen, int(m.from), name)
    end
    redis.call('HSET', keys.workers, name, record(m))
  end
  b.version = b.version + 1
  event(what, '-', 'a new generation begins at ' .. int(t0))
end

-- back: all goes on as new generations, because the clock went back too far, or because this server is another one, or behind what a member
-- knows. b.renewed is the latest recall while nothing was told since.
local function back(other)
  local untold = latest() == b.renewed
  if b.time < b.last - b.reach then
    local by, last = b.last - b.time, b.last
    for _, name in ipairs({ 'started', 'stop', 'pausedat', 'heard', 'grown', 'cutat', 'grantfrom', 'revoked' }) do
      if b[name] > 0 then b[name] = b[name] - by end
    end
    b.now = b.time
    anew(last, b.now + b.reach, 'clock')
  else
    local t0 = max(b.now + b.reach, b.cutat + 1)
    anew(t0, t0, 'failover')
  end
  if other or untold then b.renewed = latest() end
end

-- unheard: the run is stopped, because no controller was heard of for too long.
local function unheard()
  local all = members()
  halt(all, max(b.now + LEAD, b.cutat + 1))
  for name, m in pairs(all) do redis.call('HSET', keys.workers, name, record(m)) end
  b.version = b.version + 1
  event('deadman', '-', 'no controller was heard of for ' .. int(floor(b.deadman / U + 0.5)) .. ' s')
end

-- expire: members leave whose permits began before `gone`, own being the caller's record.
local function expire(worker, own, gone, life)
  local what = 'silent for ' .. int(floor(life / 1000 + 0.5)) .. ' ms'
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.seen, '-inf', '(' .. int(gone), 'LIMIT', 0, 16)) do
    if name ~= worker then drop(name, parse(redis.call('HGET', keys.workers, name)), 'lost', what) end
  end
  if own and present(own) and own.from < gone then drop(worker, own, 'lost', what) end
end

-- replace: another incarnation has taken a member's name.
local function replace(worker, m, inc)
  if present(m) then drop(worker, m, 'replaced', 'by ' .. inc) end
  redis.call('HSET', keys.workers, worker .. '/' .. m.inc, record(m))
end

-- store: the figures with their texts, and what has changed of RARE.
local function store()
  local texts = { struct.pack(FIGURES, b.id, b.w, b.n, b.at, b.stop, b.left, b.shift, b.horizon, b.ttl, b.qmax, b.reach, b.grown, b.phi, b.away,
    b.thin, b.beyond, b.permitfor, b.deadman, b.started, b.heard, b.stood, b.version, b.grantfrom) }
  for i, g in ipairs(b.gens) do
    texts[i + 1] = struct.pack(GENERATION, g.id, g.t0, g.c, g.r0, g.r1, g.den, g.dur, g.k, g.f, g.nx, g.cut, g.ends, g.piece, g.low)
  end
  local out = { 'phase', b.phase, 'figures', table.concat(texts), 'identity', b.identity, 'recalls', b.recalls }
  for name, was in pairs(b.rare) do
    if b[name] ~= was then
      b.rare[name] = b[name]
      out[#out + 1] = name
      out[#out + 1] = name == 'rest' and b.rest or int(b[name])
    end
  end
  redis.call('HSET', keys.budget, unpack(out))
  b.changed = false
end

-- forget: of the generations those stay that a cut can still reach.
local function forget()
  while b.at > 1 and b.gens[1].ends < b.now do
    table.remove(b.gens, 1)
    b.at = b.at - 1
  end
end

return {
  store = store, forget = forget, split = split, piece = piece, text = text, pieces = pieces, part = part, members = members,
  low = low, begin = begin, advance = advance, cut = cut, latest = latest, event = event, live = live, start = start, go = go, rest = rest, halt = halt,
  drop = drop, suspect = suspect, back = back, unheard = unheard, expire = expire, replace = replace,
}
