-- laws: the laws of a run and how the next ones follow. Included behind schedule.lua and ranges.lua.
--
-- A law is { id, t0, c, r0, r1, den, dur, k, base, phase, prev, cut, plan, piece, rest (a piece), ends, stop, clockEpoch,
-- seed }, see pacer/lease/law.go. live: whether it is in force in its time. last: how many of its slots are asked for. Of one
-- clock epoch the newest law is in force, and so are those that it follows from. Functions of the same names in
-- internal/proof/model/command.go and schedule.go do the same.

local LAW = '<$letters(law)'
local RUNNING, PAUSED, STOPPED, ENDED = 0, 1, 2, 3
local BEGIN = 600000 -- µs from the last join to the first slot, or 400 µs a member if that is more
local SPREAD = 4096 -- a server takes one number of each SPREAD
local MANY = 100 -- from so many laws on only those are made that begin within NEAR
local NEAR = 10000000 -- µs
local UNSCALED = 1000000 -- millionths: the rates of a plan as they were given
local HIGHEST = 100000000 -- the highest rate (pacer/rate.go)
local HISTORY = 1000 -- laws that are over and that a reply contains, at most
local MARGIN = U -- by which the clocks of two servers may differ; no slot is sent later than this

local laws, known, changed -- in order; by number; whether they must be stored

-- read: the laws of a text.
local function read(text)
  local out, at = {}, 1
  while at <= #text do
    local $names(law), behind = struct.unpack(LAW, text, at)
    local l = { $table(law) }
    l.rest, l.text = { r0 = s0, r1 = s1, den = sden, dur = sdur }, sub(text, at, behind - 1)
    out[#out + 1], at = l, behind
  end
  return out
end

local function written(l) return struct.pack(LAW, $of(law)) end

-- chain: finds the laws in force.
local function chain()
  known = {}
  for i, l in ipairs(laws) do
    l.live, l.last, known[l.id] = false, 0, i
  end
  local i, cut = #laws, ENDLESS
  while laws[i] and laws[i].clockEpoch ~= b.clockEpoch do i = i - 1 end
  while laws[i] do
    local l = laws[i]
    l.live, l.last = true, min(cut, l.k)
    cut, i = l.cut, known[l.prev]
  end
end

-- all: the laws, read when they are first needed.
local function all()
  if not laws then
    laws = read(redis.call('HGET', keys.budget, 'laws') or '')
    chain()
  end
  return laws
end

-- newest: the newest law of the clock epoch.
local function newest()
  local list = all()
  for i = #list, 1, -1 do
    if list[i].live then return list[i] end
  end
end

-- at: the law in force at a time of the clock epoch; before the first law, the first.
local function at(t)
  local list, first = all(), nil
  for i = #list, 1, -1 do
    local l = list[i]
    if l.live and l.clockEpoch == b.clockEpoch then
      first = l
      if l.t0 <= t then return l end
    end
  end
  return first
end

-- asks: the integral of the rate up to t, in whole slots.
local function asks(l, t)
  if t <= l.t0 then return 0 end
  return max(0, min(l.k, ceil((area(l, t - l.t0) - l.c) / U)))
end

-- before: how many slots are due before t.
local function before(l, t)
  if l.seed == 0 or t <= l.t0 then return asks(l, t) end
  local all = ENDLESS * U
  if l.dur > 0 then all = area(l, l.dur) end
  return arrived(l, area(l, t - l.t0), all)
end

-- slot: the first slot due at or after a time of the clock epoch, also if the law of that time is over for long.
local function slot(t)
  local l = b.begun == 1 and at(t)
  if not l then return 0, 0 end
  while l.t0 > t and l.prev > 0 do
    local text = redis.call('HGET', keys.laws, int(l.prev))
    local old = text and read(text)[1]
    if not old or old.clockEpoch ~= l.clockEpoch then break end
    old.last = min(l.cut, old.k)
    l = old
  end
  return l.id, min(before(l, t), l.last)
end

-- remaining: the part of a slot that is left at t before the next one, in micro-slots, when `cut` slots are past.
local function remaining(l, cut, t) return max(0, min(U - 1, cut * U + l.c - area(l, max(0, t - l.t0)))) end

-- portion: the piece p from its µs a to its µs b (0: to its end). It equals Part in pacer/part.go.
local function portion(p, a, b)
  if b == 0 then b = p.dur end
  local dur = max(1, b - a) -- a length of 0 would be endless
  if p.r0 == p.r1 then return { r0 = p.r0, r1 = p.r1, den = p.den, dur = dur } end
  local s = U -- the rate inside a ramp is rarely a whole number: count in millionths where they fit
  if max(p.r0, p.r1) * U > ENDLESS or p.den >= U then s = 1 end
  local function at(e) return floor(s * (p.r0 + (p.r1 - p.r0) * (e / p.dur)) + 0.5) end
  local r0, r1 = at(a), at(b)
  if r0 == r1 and p.den * s > U then -- a constant law keeps a small denominator
    r0 = floor(r0 / s + 0.5)
    return { r0 = r0, r1 = r0, den = p.den, dur = dur }
  end
  return { r0 = r0, r1 = r1, den = p.den * s, dur = dur }
end

local function none() return { r0 = 0, r1 = 0, den = 0, dur = 0 } end

-- rest: the part of the piece that is left at t.
local function rest(l, t)
  if l.dur > 0 then return portion(l, max(0, min(l.dur, t - l.t0)), 0) end
  return { r0 = l.r0, r1 = l.r1, den = l.den, dur = l.dur }
end

-- askNothing: makes a law that asks for no slots.
local function askNothing(l) l.r0, l.r1, l.den, l.dur, l.k, l.stop = 0, 0, 1, 0, 0, 0 end

-- plan: the text of a plan, "number:1;pieces" if it loops, else "number:0;pieces"; of a scaled one
-- "number:0:factor:top:of;pieces" (Plan in pacer/lease/law.go).
local function plan(id) return redis.call('HGET', keys.budget, 'plan/' .. int(id)) end

-- open: whether a plan loops, '0' or '1', the millionths by which its rates are multiplied, its pieces, the highest factor
-- that a scale may make of it, and of a scaled one the number of the plan that people gave.
local function open(id)
  local loop, factor, top, of, queue = string.match(plan(id), ':(%d):?(%d*):?(%d*):?(%d*);(.*)')
  if factor == '' then return loop, UNSCALED, queue, UNSCALED end
  return loop, tonumber(factor), queue, tonumber(top), tonumber(of)
end

-- aim: what a plan becomes by scale or cap to some millionths, as give takes it. After a cap no scale makes more of it.
local function aim(kind, to, id)
  local loop, factor, queue, top, of = open(id)
  top = min(top, kind == 'cap' and to or UNSCALED)
  if kind == 'cap' then to = min(to, factor) end
  return loop, min(to, top), queue, top, of or id
end

-- isSo: whether the plan is already what aim makes of it.
local function isSo(kind, to, id)
  local _, factor, _, top = open(id)
  local _, f, _, t = aim(kind, to, id)
  return f == factor and t == top
end

-- numbersOf: the piece that a text is.
local function numbersOf(text)
  local r0, r1, den, dur = string.match(text, '(%d+):(%d+):(%d+):(%d+)')
  return { r0 = tonumber(r0), r1 = tonumber(r1), den = tonumber(den), dur = tonumber(dur) }
end

-- scaled: a piece with its rates multiplied by f. It equals Scaled in pacer/scale.go.
local function scaled(p, f)
  local function rate(r) return min(HIGHEST * U, floor(r * f * (U / p.den) + 0.5)) end
  return { r0 = rate(p.r0), r1 = rate(p.r1), den = U, dur = p.dur }
end

-- peakOf: the highest rate of pieces, some millionths of it, in requests per 1,000,000 s.
local function peakOf(queue, factor)
  local most = 0
  for text in string.gmatch(queue, '[^;]+') do
    local p = numbersOf(text)
    if factor < UNSCALED then p = scaled(p, factor / UNSCALED) end
    most = max(most, ceil(max(p.r0, p.r1) * (U / p.den)))
  end
  return most
end

-- takePiece: removes the next piece from what follows a law; nil if there is none.
local function takePiece(l)
  if l.rest.den > 0 then
    local p = l.rest
    l.rest = none()
    return p
  end
  local loop, factor, queue = open(l.plan)
  local n, first, found = 0, nil, nil
  for text in string.gmatch(queue, '[^;]+') do
    n = n + 1
    if n == 1 then first = text end
    if n == l.piece + 1 then
      found = text
      break
    end
  end
  if not found then
    if loop == '0' then return nil end
    found, l.piece = first, 0
  end
  l.piece = l.piece + 1
  local p = numbersOf(found)
  return factor < UNSCALED and scaled(p, factor / UNSCALED) or p
end

-- continue: takes the next piece of the plan, up to the run's end and its number of requests. No slot has an ordinal
-- beyond that number.
local function continue(l)
  local p = takePiece(l)
  if not p or l.t0 >= l.ends then
    l.phase = ENDED
    return askNothing(l)
  end
  if l.ends < ENDLESS and (p.dur == 0 or l.t0 + p.dur > l.ends) then p = portion(p, 0, l.ends - l.t0) end
  l.r0, l.r1, l.den, l.dur, l.k, l.stop = p.r0, p.r1, p.den, p.dur, ENDLESS, 0
  if p.dur > 0 then l.k = asks(l, l.t0 + p.dur)
  elseif p.r0 == 0 then l.k = 0 end
  if b.requests > 0 and l.base + l.k >= b.requests then
    l.k = max(0, b.requests - l.base)
    l.stop = when(l, l.k) -- n requests at a rate take n / rate
    if l.dur > 0 then l.stop = min(l.stop, l.t0 + l.dur) end
  end
end

-- forget: drops laws that are over, and plans that no law names any more.
local function forget()
  local first, last, named, gone = 1, 0, {}, {}
  for i, l in ipairs(laws) do
    if l.live then
      last = i
      if l.clockEpoch == b.clockEpoch and l.t0 <= b.now - MARGIN then first = i end
    end
  end
  if first == 1 and last == #laws then return end
  local kept = {}
  for i, l in ipairs(laws) do
    if i < first or i > last then
      gone[l.plan] = true
    else
      kept[#kept + 1], named[l.plan] = l, true
    end
  end
  for id in pairs(gone) do
    if id > 0 and not named[id] then redis.call('HDEL', keys.budget, 'plan/' .. int(id)) end
  end
  laws, changed = kept, true
  chain()
end

-- addLaws: adds laws. Known laws do not change.
local function addLaws(more)
  all()
  for _, l in ipairs(more) do
    if not known[l.id] then
      known[l.id], changed = true, true
      l.text = l.text or written(l)
      laws[#laws + 1] = l
      redis.call('HSETNX', keys.laws, int(l.id), l.text)
    end
  end
  table.sort(laws, function(a, b) return a.id < b.id end)
  b.begun = 1
  chain()
  forget()
end

-- number: a number for a new law, above all others. Modulo SPREAD it is this server's own.
local function number()
  local h, list = 0, all()
  for i = 1, #b.identity do h = (h * 31 + string.byte(b.identity, i)) % SPREAD end
  local id = b.now
  if #list > 0 then id = max(id, list[#list].id + 1) end
  b.command = id + (h - id % SPREAD + SPREAD) % SPREAD
  return b.command
end

-- period: the time between two calls of a worker, µs.
local function period() return rhythm(b.n, b.hold) end

-- follow: makes the laws of the plan ahead of time.
local function follow()
  while true do
    local l = newest()
    local t = l.t0 + l.dur
    if l.dur == 0 then t = ENDLESS end
    if l.stop > 0 then t = l.stop end
    if l.phase ~= RUNNING or t >= ENDLESS then
      b.follow = ENDLESS
      return
    end
    b.follow = t
    if #laws >= MANY then b.follow = t + max(0, b.hold - NEAR) end
    if b.follow > b.now + b.hold + period() then return end
    local n = { prev = l.id, cut = l.k, base = l.base + l.k, plan = l.plan, piece = l.piece, ends = l.ends, clockEpoch = l.clockEpoch, phase = RUNNING, rest = none(),
      t0 = t, id = l.id + 1, c = remaining(l, l.k, t), seed = nextSeed(l.seed) }
    if l.stop > 0 then n.ends = t end
    continue(n)
    addLaws({ n })
  end
end

-- lawAfter: a law from t0 on that follows the one in force at t, with nothing asked for yet; and that one.
local function lawAfter(t, t0)
  local old = at(t)
  local cut = min(before(old, t), old.last)
  return { prev = old.id, cut = cut, base = old.base + cut, plan = old.plan, piece = old.piece, rest = old.rest, ends = old.ends, clockEpoch = old.clockEpoch,
    phase = RUNNING, id = number(), t0 = t0, c = remaining(old, cut, t), seed = nextSeed(old.seed) }, old
end

-- ahead: how long a change is made before it is in force, µs.
local function ahead() return 20000 + 3 * redis.call('HLEN', keys.workers) end

-- give: makes text the pieces of a plan, some millionths of their rates. Without `of` people gave it, as it is.
local function give(id, loop, factor, pieces, top, of)
  local scale = of and format(':%d:%d:%d', factor, top, of) or ''
  redis.call('HSET', keys.budget, 'plan/' .. int(id), int(id) .. ':' .. loop .. scale .. ';' .. pieces)
end

-- first: the first law of the run, from t0 on.
local function first(t0)
  local l = { id = number(), t0 = t0, c = 0, base = 0, phase = RUNNING, prev = 0, cut = 0, plan = 0, piece = 0, rest = none(), ends = ENDLESS, seed = b.seed }
  l.clockEpoch, b.clockEpoch, b.started = l.id, l.id, t0
  if b.given == 1 then
    l.plan = l.id
    give(l.id, open(0))
  end
  return l
end

-- change: start, set-rate (to pieces), scale or cap (to millionths), pause, resume or stop after the start. Returns since when
-- it is in force, or when the run ended, and the status.
local function change(kind, to)
  local list, t0 = all(), b.now + ahead()
  local last = list[known[b.command]]
  if last and last.clockEpoch == b.clockEpoch then t0 = max(t0, last.t0 + 1) end
  local was = at(t0)
  local phase = was.phase
  if phase >= STOPPED and kind ~= 'stop' then return was.t0, 'ENDED' end
  if kind == 'start' then return b.started, 'SAME' end
  if phase >= STOPPED or (phase == RUNNING and kind == 'resume') or (phase == PAUSED and kind == 'pause') then return was.t0, 'SAME' end
  local scales = kind == 'scale' or kind == 'cap'
  if scales and isSo(kind, to, was.plan) then return was.t0, 'SAME' end
  local n, old = lawAfter(t0, t0)
  if kind == 'stop' then
    n.phase = STOPPED
    askNothing(n)
  elseif kind == 'pause' then
    n.phase, n.rest = PAUSED, rest(old, t0)
    askNothing(n)
    if n.ends < ENDLESS then n.ends = n.ends - t0 end
  elseif kind == 'resume' then
    if n.ends < ENDLESS then n.ends = n.ends + t0 end
    continue(n)
  else
    if scales then
      local _, factor = open(old.plan)
      local _, share = aim(kind, to, old.plan)
      if phase == RUNNING then n.rest = rest(old, t0) end
      if n.rest.den > 0 then n.rest = scaled(n.rest, share / factor) end
      give(n.id, aim(kind, to, old.plan))
    else
      give(n.id, '0', UNSCALED, to)
      n.piece, n.rest = 0, none()
    end
    n.plan, n.phase = n.id, phase
    if phase == PAUSED then askNothing(n) else continue(n) end
  end
  addLaws({ n })
  follow()
  return t0, 'OK'
end

-- early: start, set-rate, scale, cap or stop before the start, as change. A time of 0 means: when the run begins. After a stop
-- there is no start.
local function early(kind, to)
  if kind == 'set-rate' then
    give(0, '0', UNSCALED, to)
    b.given = 1
  elseif kind == 'scale' or kind == 'cap' then
    if isSo(kind, to, 0) then return 0, 'SAME' end
    give(0, aim(kind, to, 0))
    b.given = 1
  elseif kind == 'stop' then
    local l = first(b.now) -- nobody sends anything
    l.phase = STOPPED
    askNothing(l)
    addLaws({ l })
    return l.t0, 'OK'
  elseif b.min == 1 then return 0, 'SAME'
  else b.min = 1 end
  return 0, 'OK'
end

-- findCommand: finds the last law of a command. The plan's own next law has the next number. It may begin much later,
-- and a command must not wait for it.
local function findCommand()
  for _, l in ipairs(laws) do
    if l.live and (b.command == 0 or (l.id > b.command and l.id ~= l.prev + 1)) then b.command = l.id end
  end
end

-- learn: takes laws of this clock epoch that this server has forgotten or never received, with their plans by number.
local function learn(text, plans)
  if text == '' then return end
  local more, own = read(text), {}
  if b.begun == 0 then
    b.clockEpoch, b.started = more[#more].clockEpoch, more[1].t0
  end
  for _, l in ipairs(more) do
    if l.clockEpoch == b.clockEpoch then
      own[#own + 1] = l
      if l.plan > 0 then redis.call('HSETNX', keys.budget, 'plan/' .. int(l.plan), plans[l.plan]) end
    end
  end
  if #own > 0 then
    addLaws(own)
    findCommand()
    follow()
  end
end

-- since: the laws with higher numbers, as text, and the plans they name that a caller with that number does not have.
local function since(number)
  local texts, plans, named = {}, {}, {}
  for _, l in ipairs(all()) do
    if l.id > number then
      texts[#texts + 1] = l.text
      if l.plan > number and not named[l.plan] then
        plans[#plans + 1], named[l.plan] = plan(l.plan), true
      end
    end
  end
  return table.concat(texts), plans
end

-- missed: laws that are over and that c's worker does not know, as text. After a long absence it must learn which
-- slots of its own law nobody asks for. What followed these laws does not matter any more, so they name the plan of
-- the first law in force.
local function missed(c)
  local sent, first, texts = {}, nil, {}
  for _, l in ipairs(c.laws ~= '' and read(c.laws) or {}) do sent[l.id] = true end
  local function knows(id) return id <= c.known or sent[id] end
  if c.known == 0 and c.laws == '' then return '' end
  for _, l in ipairs(all()) do
    if l.live then
      if knows(l.id) then return '' end
      first = first or l
    end
  end
  local prev = first and first.prev or 0
  while prev > 0 and not knows(prev) and #texts < HISTORY do
    local text = redis.call('HGET', keys.laws, int(prev))
    if not text then break end
    local l = read(text)[1]
    l.plan, l.piece, l.rest, prev = first.plan, 0, none(), l.prev
    table.insert(texts, 1, written(l))
  end
  return table.concat(texts)
end

-- message: all laws and their plans, for all workers.
local function message()
  local text, plans = since(0)
  return struct.pack('<l', #all()) .. text .. table.concat(plans, '\n')
end

-- weigh: finds the highest rate by laws that are in force or will be, and by their plans. If it is more than the run's
-- rights allow, nothing is leased until the ledger was asked.
local function weigh()
  b.peak = 0
  local seen = {}
  local function consider(id)
    if seen[id] then return end
    local _, factor, queue = open(id)
    seen[id], b.peak = true, max(b.peak, peakOf(queue, factor))
  end
  if b.begun == 0 then consider(0) end
  local list = all()
  for i = #list, 1, -1 do
    local l = list[i]
    if l.live and l.phase == RUNNING then consider(l.plan) end
    if l.live and l.clockEpoch == b.clockEpoch and l.t0 <= b.now - MARGIN then break end
  end
  b.high = max(b.high, b.peak)
  if b.peak > b.allow then b.rightEnds = 0 end
end

-- reweigh: weighs if the laws have changed, or if that may lower the peak to what is allowed.
local function reweigh()
  if changed or b.peak > b.allow then weigh() end
end

-- storeLaws: stores the laws if they have changed.
local function storeLaws()
  if not changed then return end
  local texts = {}
  for i, l in ipairs(laws) do texts[i] = l.text end
  redis.call('HSET', keys.budget, 'laws', table.concat(texts))
  b.newest, b.phase = laws[#laws].id, newest().phase
end
