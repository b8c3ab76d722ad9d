-- lease: grants one member the next range of slot numbers, and tells it all it must know.
--
-- KEYS  1 budget  2 workers  3 seen  4 events  5 laws
--       6 state of the run's limiter, if it has one: then the text of gate.lua is in front of this, and else gate is nil
-- ARGV  1 run uid  2 worker  3 incarnation  4 the numbers seq, ack, until, weight, rtt_hi, phi_held, leased, known (form.lua):
--       seq 1, 2, …; after a timeout the same again · ack: leased_at of the last reply received, µs · until: cover me up to here, µs ·
--       weight ≥ 1 · rtt_hi, µs · phi_held: permit held, slots per 10⁶ s · leased: slots in all replies received ·
--       known: the highest id of a generation in them
-- Returns an array of one text or two, or an error if an argument is wrong:
--       1 numbers, and behind them "status|recalls". It is stored as it is, for a call repeated. The numbers:
--         first, n, f, hand, leased_at, next, N, W, version, H, stood
--         the permit: φ, t0, c, from, until; 0 of all for none
--         the law of the range: id, t0, c, r0, r1, den, dur, K, F; 0 of all where n is 0
--       2 now and TIME as read: only where they are not leased_at
--       stood: how long pauses took so far, µs; −1: the plan was left by set-rate, −2: while paused, and nothing was granted since
--       status: OK, WAIT (for members), PAUSED, STOPPED, ENDED, NOSTATE, STALE (seq), REPLACED (by
--       another incarnation), SUSPECT (ack is too old; ask again). Only OK and PAUSED come with numbers.
--       f, hand and permit are about outages, see permit.lua: the part of the range to be yielded, in millionths; when a permit
--       in force ends, 0 = not yet.
-- Invariant: a number of a generation is granted once; replaying a call changes nothing; numbers, clock and generation
--       ids never go back; no number is granted whose frame has begun or ends after now + H, or by a limiter, where it is made up for.

local clock = redis.call('TIME')
local keys = { budget = KEYS[1], workers = KEYS[2], seen = KEYS[3], events = KEYS[4], laws = KEYS[5], limiter = KEYS[6] }
local uid, worker, inc = ARGV[1], ARGV[2], ARGV[3]

-- All arguments are looked at together; which one is wrong is asked when one is.
local numbers = ARGV[4] or ''
local whole = #numbers == bytes(ASK)
local sound = whole and #worker <= 64 and #inc <= 64 and find(worker, '^%w[%w._-]*$') and find(inc, '^%w[%w._-]*$')
local seq, ack, ask, weight, rtt, held, told, known
if sound then
  seq, ack, ask, weight, rtt, held, told, known = struct.unpack(ASK, numbers)
  sound = min(seq, weight) >= 1 and min(ack, rtt, held, told, known) >= 0 and weight <= 1000000
    and max(seq, ack, ask, -ask, rtt, held, told, known) <= 2 ^ 53
end
if not sound then
  local refuse = check()
  if not whole then return refuse('lease', 'numbers') end
  local values = { struct.unpack(ASK, numbers) }
  for i, rule in ipairs({ { 'seq', 1 }, { 'ack', 0 }, { 'until', -2 ^ 53 }, { 'weight', 1, 1000000 }, { 'rtt_hi', 0 }, { 'phi_held', 0 },
    { 'leased', 0 }, { 'known', 0 } }) do
    if values[i] < rule[2] or values[i] > (rule[3] or 2 ^ 53) then return refuse('lease', rule[1]) end
  end
  return refuse('lease', 'worker or incarnation')
end
rtt = min(rtt, RTT) -- a member that was frozen in the middle of a call must not put off every command

local b = load(keys.budget, clock)
local here = b and b.uid == uid
local m = here and parse(redis.call('HGET', keys.workers, worker))
local same, said = m and m.inc == inc, nil -- said: what is answered at the door
if not here then said = 'NOSTATE'
elseif same and seq < m.seq then said = 'STALE'
elseif same and seq == m.seq then said = 'AGAIN'
elseif m and not same and (seq > 1 and ack <= m.at or redis.call('HEXISTS', keys.workers, worker .. '/' .. inc) == 1) then said = 'REPLACED'
elseif b.phase == 'ended' or (b.phase == 'stopped' and not same and not (told > 0 and b.now < b.grantfrom)) then said = 'ENDED' end
if said then
  local text = string.rep('\0', bytes(REPLY) + bytes(LAW)) .. said .. '|' .. (b and b.recalls or '')
  if said == 'AGAIN' then text = sub(m.text, m.tail) end
  return { text, struct.pack(CLOCKS, here and b.now or 0, here and b.time or 0) }
end
if b.phase == 'paused' or b.phase == 'stopped' then room(keys) end -- nothing is granted, and everybody must hear of it
if settle(b, keys, known) then m = parse(redis.call('HGET', keys.workers, worker)) end

-- H for the fleet as it is now: long round trips and large fleets call less often. It grows by a fifth in the time in which each member
-- calls, or those told of the old one were taken for suspects; and shrinks by a tenth when nobody has needed it for 10 s.
local far = floor(3 * U * b.n / b.qmax)
local need = max(b.horizon, 3 * (rtt + 2 * FRAME + 2000), far)
if need > b.reach and b.now - b.grown >= 0.2 * b.reach then
  b.reach, b.grown, b.changed = min(need, floor(1.2 * b.reach)), b.now, true
elseif b.reach > b.horizon and b.now - b.grown > 10 * U then
  b.reach, b.grown, b.changed = max(b.horizon, floor(0.9 * b.reach)), b.now, true
end

local now, reach = b.now, b.reach

-- Members: who was silent for too long leaves, who is new joins. Who may hold a permit stays until that has run out.
local life = max(b.ttl, far)
if b.permitfor > 0 and b.phase ~= 'waiting' then life = max(life, b.permitfor) end
local gone = now + b.horizon - life -- `seen` is ahead of the last contact by at least this horizon
local seen = redis.call('ZRANGE', keys.seen, '0', '1', 'WITHSCORES') -- whose permits begin first: two, because one may be the caller
local oldest = tonumber(seen[2] or ENDLESS)
if oldest < gone then
  changes(b, keys).expire(worker, m, gone, life)
  seen = redis.call('ZRANGE', keys.seen, '0', '1', 'WITHSCORES')
  oldest = tonumber(seen[2] or ENDLESS)
end
if m and m.inc ~= inc then
  changes(b, keys).replace(worker, m, inc)
  m = nil
end

-- Suspects: those who have become it since the last call.
if b.permitfor > 0 then
  local edge = max(b.edge, now + floor(0.4 * reach))
  if oldest < edge then
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.seen, int(b.edge), '(' .. int(edge))) do
      local o = name == worker and m or parse(redis.call('HGET', keys.workers, name))
      if o.state == 'active' then changes(b, keys).suspect(name, o) end
    end
  end
  b.edge = edge
end

local NONE = { 0, 0, 0, 0, 0 } -- no permit

-- reply: stores the reply as it will be repeated, and all else. law: nil for none.
local function reply(status, law, first, n, f, hand, next, permit)
  local stood = b.stood -- how long the schedule's clock stood still so far, while the plan is in force, µs
  if stood >= 0 and b.phase == 'paused' then
    stood = stood + max(0, now - (b.pausedat or tonumber(redis.call('HGET', keys.budget, 'pausedat'))))
  end
  m.reply = struct.pack(REPLY, first, n, f, hand, now, next, b.n, b.w, b.version, reach, stood, unpack(permit)) ..
    (law or string.rep('\0', bytes(LAW))) .. status .. '|' .. b.recalls
  redis.call('ZADD', keys.seen, format('%d', m.from), worker)
  redis.call('HSET', keys.workers, worker, record(m))
  store(b, keys)
  if b.time == now then return { m.reply } end
  return { m.reply, struct.pack(CLOCKS, now, b.time) }
end

-- A new seq says that the last reply has arrived, so phi_held is what this member holds now. Whether replies still arrive
-- only a fresh ack can tell.
local fresh = ack <= now and ack >= now - floor(0.6 * reach)
local joins = not (m and present(m))
if not joins and m.phi > 0 and b.phase == 'running' and not fresh then
  if m.state ~= 'suspect' then changes(b, keys).suspect(worker, m) end
  m.seq, m.at, m.rtt = seq, now, rtt
  return reply('SUSPECT', nil, 0, 0, 0, 0, 0, NONE)
end
local handing, away = held > 0 and (joins or m.state == 'suspect'), b.away
if not joins and m.state == 'suspect' then b.away, b.changed = b.away - m.phi, true end

if joins then
  local change = changes(b, keys)
  b.joins = b.joins + 1
  b.n = b.n + 1
  b.w = b.w + weight
  b.version = b.version + 1
  if not m then m = { inc = inc, ranges = '', v = 0, leased = 0, beyond = 0, gen = 0, share = 0, phi = 0 } end
  m.rank = b.joins
  change.event('join', worker, 'weight ' .. int(weight))
elseif weight ~= m.weight then
  b.w, b.version, b.changed = b.w + weight - m.weight, b.version + 1, true
end
if held ~= m.phi then b.phi, b.changed = b.phi + held - m.phi, true end
m.state, m.seq, m.weight, m.at, m.rtt, m.phi = 'active', seq, weight, now, rtt, held
if not joins then m.v = m.v - (b.shift - m.shift) end
m.shift = b.shift
if told > m.leased then -- the server that granted them was another one, or had its memory: they do not count as skipped
  local known = min(told - m.leased, b.skipped)
  b.skipped = b.skipped - known
  b.issued = b.issued + told - m.leased - known
  m.leased = told
end

if b.phase == 'waiting' then
  local change = changes(b, keys)
  if b.min > 0 and b.n >= b.min then change.start(worker) end
end

-- opens: of a run with a limiter of its own, what that lets through; else nil.
local opens = gate and gate(b, reach, handing)

-- waits: nothing due up to H from now is granted, because permits of before the state was lost may be in force until b.grantfrom.
local waits = now + reach < b.grantfrom

-- g: the generation to grant from, its numbers below top, after passing over what is too late and what is used up; or nil.
local g, top = (b.phase == 'running' or b.phase == 'paused') and b.gens[b.at], 0
while g do
  top = limit(g)
  local past = opens and opens.past(g) or ceil(upto(g, now) / g.f) * g.f
  if now < b.grantfrom and not waits then past = max(past, ceil(upto(g, b.grantfrom) / g.f) * g.f) end
  skip(b, g, min(top, past))
  if g.nx < top then break end
  if b.gens[b.at + 1] or (b.phase == 'running' and changes(b, keys).advance()) then
    b.at, b.changed = b.at + 1, true
    g = b.gens[b.at]
  else
    g = nil
  end
end

-- m.from: when this member's permit begins. It moves by 0.2·H a call at most: so far, and no further, a permit begins too early
-- whose last reply was lost.
local promised, hand = m.from, 0
m.from = now + reach
if not joins and held > 0 then -- and it does not go back, when H shrinks
  promised = max(promised, b.edge)
  m.from = max(promised, min(m.from, promised + floor(reach / 5)))
end
-- hand: when a returning member's stream ends; until it has confirmed that, the others are held back soon after.
if handing then
  -- What was granted already gives way to the suspects' streams. Where those are more than the rate by now, or nothing is granted,
  -- this one ends at once.
  hand = now
  if now < b.grantfrom then
    if b.phase == 'running' then
      changes(b, keys) -- reads b.revoked
      if b.revoked == 0 then hand = b.grantfrom end
    end
  elseif g and b.phase == 'running' and away <= rate(g, max(now, g.t0)) * U * U then hand = when(g, ceil(g.nx / g.f) * g.f) end
  m.from = min(now + reach, max(hand, b.edge) + 2 * rtt + 10000)
end

-- The grant: n numbers from g.nx on, of which the part f gives way to permits; and when to come back at the latest.
local first, n, f, next = 0, 0, 0, 0
if g then
  -- edge, the barrier: nobody is granted what is due later: the oldest `from` of the others who are not suspects, and of the caller.
  local edge = now + reach
  if b.permitfor > 0 then
    if oldest < b.edge then
      seen = redis.call('ZRANGEBYSCORE', keys.seen, int(b.edge), '+inf', 'WITHSCORES', 'LIMIT', '0', '2')
    end
    local other = seen[1] == worker and seen[4] or seen[1] ~= worker and seen[2]
    if m.from >= b.edge then edge = min(edge, m.from) end
    edge = min(edge, tonumber(other or ENDLESS))
  end
  local together = opens and opens.together
  if together then edge = min(edge, now) end
  local nx, frame, x, hi = g.nx, g.f, upto(g, edge), top
  if x < top then hi = x - x % frame end
  -- The higher end of a ramp: shares that are too large only mean that who comes first takes a little more. What is yielded
  -- goes by the lower one.
  local high = rate(g, now)
  local low = high
  if g.r0 ~= g.r1 then
    local first, last = rate(g, max(now, when(g, nx))), rate(g, edge)
    high, low = max(high, first, last), min(first, last)
  end
  local share = high * weight / b.w
  -- yield: what is granted gives way to the suspects' permits, in millionths.
  local yield = 0
  if waits then yield = U
  elseif b.away ~= 0 then yield = min(U, ceil(b.away / max(1, low * U * U) * U)) end
  -- The numbers of a frame are not in the order of time: all of one frame are thinned alike, or what is sent were not even.
  if yield ~= b.thin then
    if nx % frame > 0 then
      yield = b.thin
      hi = min(hi, ceil(nx / frame) * frame)
    else
      b.thin, b.changed = yield, true
    end
  end
  first = nx
  local steal = together and -opens.wait(g) or min(rtt + 10000, floor(reach / 2))
  local refused = 0 -- in how many µs the limiter lets the next one pass; 0: it let all pass
  if share > 0 then
    -- Credit: m.v, the time up to which the member has taken its share, brought to generation g. A newcomer starts at the granting
    -- position, its phase spread by the golden ratio; under a new generation at most one slot of credit is carried over, at its new value.
    if joins then
      m.v = max(now, when(g, nx)) - floor((b.joins * 0.618 % 1) / share)
    elseif m.gen ~= g.id then
      local ref = max(now, g.t0)
      local c = max(0, min(1, (ref - m.v) * m.share / U / U))
      m.v = ref - floor(c / share)
    end
    m.v = max(m.v, now - floor(1 / share) - (together and reach or 0))
    m.gen, m.share = g.id, floor(share * U * U)
    if hand > 0 then m.v = max(m.v, hand) end
    local q = max(0, floor((min(ask, edge) - m.v) * share))
    local wanted = q
    if yield > 0 and yield < U then wanted = floor(q * U / (U - yield)) end
    local left = ceil(upto(g, now + steal) / frame) * frame - nx
    if yield < U then n = max(0, min(hi - nx, max(wanted, left))) end -- else it all gives way, and is skipped
    if opens and n > 0 then n, refused = opens.grant(g, n) end
    if n > 0 then
      -- What the member may still hold is noted, so that a cut can count it; what is past is forgotten when that has become much.
      local kept, at = m.ranges, 1
      if #kept >= 6 * bytes(RANGE) then
        while at < #kept and struct.unpack(RANGE, kept, at) <= now do at = at + bytes(RANGE) end
        kept = sub(kept, at)
      end
      local last = min(g.k, ceil((nx + n) / frame) * frame)
      m.ranges = kept .. struct.pack(RANGE, when(g, last - 1) + 1, g.id, nx, n)
      m.v = m.v + floor(min(n * (U - yield) / U, q) / share + 0.5)
      local beyond = over(g, nx, nx + n, g.cut)
      m.leased, b.issued = m.leased + n, b.issued + n
      if beyond > 0 then m.beyond, b.beyond, b.changed = m.beyond + beyond, b.beyond + beyond, true end
      nx = nx + n
      g.nx = nx
      b.standby, f = worker, yield
    end
  end
  -- Whoever took the last number looks after the next one: at low rates nobody else may come in time.
  if b.standby == '' then b.standby = worker end
  if b.standby == worker and nx < top then next = max(b.grantfrom, when(g, nx - nx % frame)) - steal end
  if opens and nx < top then next = refused > 0 and now + refused or together and max(now, min(g.ends, now - steal)) or next end
  -- One reply is of one generation. Where it is used up and the horizon reaches into the next one, ask again at once.
  if nx >= top and g.ends < now + reach then next = now end
elseif b.phase == 'running' and now >= b.gens[#b.gens].ends then
  local change = changes(b, keys)
  b.phase, b.ended = 'ended', b.gens[#b.gens].ends
  change.event('end', worker, 'every slot is past')
end

local status = 'OK'
if b.phase == 'waiting' then status = 'WAIT'
elseif b.phase == 'paused' then status = 'PAUSED'
elseif b.phase == 'stopped' then status = 'STOPPED'
elseif b.phase == 'ended' then status = 'ENDED' end

-- The permit: what the member may fire by itself from m.from on. Its rate is at most the share, and what the others do not hold. A
-- reply to a join has none: who makes only one call may be dead.
local permit = NONE
if b.permitfor > 0 and status == 'OK' and g and not joins then
  local low, ends = ENDLESS, min(now, m.from - b.horizon) + b.permitfor -- when the member is dropped that is silent from now on
  for i = 1, #b.gens do
    if b.gens[i].ends > now then low = min(low, b.gens[i].low) end
  end
  if b.stop > 0 then ends = min(ends, b.stop) end
  if b.deadman > 0 then ends = min(ends, max(b.heard, b.started) + b.deadman) end
  if b.left >= 0 then -- what is left of a number of requests lasts as long as this at least
    ends = min(ends, b.gens[#b.gens].ends + floor(b.left / max(1, low) * U * U))
  end
  local phi, from = max(0, min(floor(low * weight / b.w), low - (b.phi - m.phi))), max(m.from, g.t0, b.grantfrom)
  if low < ENDLESS and phi > 0 and from < ends then
    if phi > m.phi then
      b.phi, b.changed = b.phi + phi - m.phi, true
      m.phi = phi
    end
    permit = { phi, g.t0, floor(m.rank * 0.6180339887 % 1 * U), from, ends }
  end
end
local out = reply(status, n > 0 and g.law, first, n, f, hand, next, permit)
if joins then changes(b, keys).live() end
return out
