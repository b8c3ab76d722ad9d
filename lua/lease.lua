-- lease: grants one member the next range of slot numbers, and tells it all it must know.
--
-- KEYS  1 budget  2 workers  3 seen  4 events  5 laws
-- ARGV  1 run uid  2 worker  3 incarnation  4 seq (1, 2, …; after a timeout the same again)
--       5 ack: leased_at of the last reply received, µs  6 until: cover me up to here, µs
--       7 weight ≥ 1  8 rtt_hi, µs  9 phi_held: permit held, slots per 10⁶ s  10 leased: slots in all replies received
--       11 known: the highest id of a generation in them
-- Returns an array of strings, or an error if an argument is wrong:
--       1 status  2 law  3 first  4 n  5 f  6 hand  7 now  8 TIME as read  9 leased_at  10 next  11 N  12 W
--       13 version  14 recalls  15 permit  16 H  17 stood: how long pauses took so far, µs; −1: the plan was left by set-rate, −2: while
--       paused, and nothing was granted since
--       status: OK, WAIT (for members), PAUSED, STOPPED, ENDED, NOSTATE, STALE (seq), REPLACED (by
--       another incarnation), SUSPECT (ack is too old; ask again). Only OK and PAUSED come with numbers.
--       f, hand and permit are about outages, see permit.lua: the part of the range to be yielded, in millionths; when a permit
--       in force ends, 0 = not yet; φ:t0:c:from:until.
-- Invariant: a number of a generation is granted once; replaying a call changes nothing; numbers, clock and generation
--       ids never go back; no number is granted whose frame has begun or ends after now + H.

local clock = redis.call('TIME')
local keys = { budget = KEYS[1], workers = KEYS[2], seen = KEYS[3], events = KEYS[4], laws = KEYS[5] }
local uid, worker, inc = ARGV[1], ARGV[2], ARGV[3]
local seq, ack, ask, weight, rtt = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local held, told, known = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

local bad = wrong('lease', { 4, 'seq', 1, MOST, 5, 'ack', 0, MOST, 6, 'until', -MOST, MOST, 7, 'weight', 1, 1000000,
  8, 'rtt_hi', 0, MOST, 9, 'phi_held', 0, MOST, 10, 'leased', 0, MOST, 11, 'known', 0, MOST })
if bad then return bad end
if not plain(worker) or not plain(inc) then return refuse('lease', 'worker or incarnation') end
rtt = math.min(rtt, RTT) -- a member that was frozen in the middle of a call must not put off every command

local b = load(keys.budget, clock)
local function answer(status, now, time)
  return { status, '', '0', '0', '0', '0', int(now), int(time), '0', '0', '0', '0', '0', b and b.recalls or '', '', '0', '0' }
end
if not b or b.uid ~= uid then return answer('NOSTATE', 0, 0) end

local m = parse(redis.call('HGET', keys.workers, worker))
if m and m.inc == inc then
  if seq < m.seq then return answer('STALE', b.now, b.time) end
  if seq == m.seq then
    local reply = split(m.reply, '|')
    for i = 1, #reply do if reply[i] == '-' then reply[i] = '' end end
    reply[7], reply[8] = int(b.now), int(b.time)
    return reply
  end
elseif m and (seq > 1 and ack <= m.at or redis.call('HEXISTS', keys.workers, worker .. '/' .. inc) == 1) then
  return answer('REPLACED', b.now, b.time)
end
if b.phase == 'ended' or (b.phase == 'stopped' and not (m and m.inc == inc)) then
  return answer('ENDED', b.now, b.time)
end
settle(b, keys, known)
m = parse(redis.call('HGET', keys.workers, worker))

-- H for the fleet as it is now: long round trips and large fleets call less often. It grows by a fifth in the time in which each member
-- calls, or those told of the old one were taken for suspects; and shrinks by a tenth when nobody has needed it for 10 s.
local far = math.floor(3 * U * b.n / b.qmax)
local need = math.max(b.horizon, 3 * (rtt + 2 * FRAME + 2000), far)
if need > b.reach and b.now - b.grown >= 0.2 * b.reach then
  b.reach, b.grown = math.min(need, math.floor(1.2 * b.reach)), b.now
elseif b.reach > b.horizon and b.now - b.grown > 10 * U then
  b.reach, b.grown = math.max(b.horizon, math.floor(0.9 * b.reach)), b.now
end

-- Members: who was silent for too long leaves, who is new joins. Who may hold a permit stays until that has run out.
local life = math.max(b.ttl, far)
if b.permitfor > 0 and b.phase ~= 'waiting' then life = math.max(life, b.permitfor) end
local gone = b.now + b.horizon - life -- `seen` is ahead of the last contact by at least this horizon
local function expire(name, o) drop(b, keys, name, o, 'lost', 'silent for ' .. int(life / 1000) .. ' ms') end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.seen, '-inf', '(' .. int(gone), 'LIMIT', 0, 16)) do
  if name ~= worker then expire(name, parse(redis.call('HGET', keys.workers, name))) end
end
local present = redis.call('ZSCORE', keys.seen, worker)
if present and tonumber(present) < gone then
  expire(worker, m)
  present = nil
end
if m and m.inc ~= inc then
  if present then drop(b, keys, worker, m, 'replaced', 'by ' .. inc) end
  redis.call('HSET', keys.workers, worker .. '/' .. m.inc, format(m))
  m, present = nil, false
end
suspects(b, keys, worker, m)

local function reply(status, law, first, n, f, hand, next, permitted)
  local out = { status, law, int(first), int(n), int(f), int(hand), int(b.now), int(b.time), int(b.now), int(next), int(b.n), int(b.w),
    int(b.version), b.recalls or '', permitted, int(b.reach), int(stood(b)) }
  local kept = {}
  for i = 1, #out do kept[i] = out[i] == '' and '-' or out[i] end
  m.reply = table.concat(kept, '|')
  if m.from then redis.call('ZADD', keys.seen, int(m.from), worker) end
  redis.call('HSET', keys.workers, worker, format(m))
  store(keys.budget, b)
  return out
end

-- A new seq says that the last reply has arrived, so phi_held is what this member holds now. Whether replies still arrive
-- only a fresh ack can tell.
local fresh = ack <= b.now and ack >= b.now - math.floor(0.6 * b.reach)
if present and m.phi > 0 and b.phase == 'running' and not fresh then
  if m.state ~= 'suspect' then suspect(b, keys, worker, m) end
  m.seq, m.ack, m.at, m.rtt = seq, ack, b.now, rtt
  return reply('SUSPECT', '', 0, 0, 0, 0, 0, '')
end
local handing, away = held > 0 and (not present or m.state == 'suspect'), b.away
if present and m.state == 'suspect' then b.away = b.away - m.phi end

local joins = not present
if joins then
  b.joins = b.joins + 1
  b.n = b.n + 1
  b.w = b.w + weight
  b.version = b.version + 1
  if not m then m = { inc = inc, ranges = '-', v = 0, leased = 0, beyond = 0, gen = 0, share = 0, phi = 0 } end
  m.rank = b.joins
  event(keys.events, b, 'join', worker, 'weight ' .. int(weight))
elseif weight ~= m.weight then
  b.w = b.w + weight - m.weight
  b.version = b.version + 1
end
b.phi = b.phi + held - m.phi
m.state, m.seq, m.weight, m.at, m.ack, m.rtt, m.phi = 'active', seq, weight, b.now, ack, rtt, held
if not joins then m.v = m.v - (b.shift - m.shift) end
m.shift = b.shift
if told > m.leased then -- the server that granted them was another one, or had its memory: they do not count as skipped
  local known = math.min(told - m.leased, b.skipped)
  b.skipped = b.skipped - known
  b.issued = b.issued + told - m.leased - known
  m.leased = told
end

local steal = math.min(rtt + 10000, math.floor(b.reach / 2))

-- The run's first t0 is set when the required members are there (min 0: when it is started by command); all of them can
-- still lease its first frame. Where a lost state was restored, permits may be in force until then.
if b.phase == 'waiting' and b.min > 0 and b.n >= b.min then
  local t0 = b.now + math.max(b.horizon, b.delay)
  b.phase, b.cutat = 'running', t0 - 1
  if b.started == 0 then b.started = t0 end
  if b.span > 0 then b.stop = t0 + b.span end
  local p = pieces(keys.budget)[1]
  if b.stop > 0 and (p.dur == 0 or p.dur > b.span) then p = part(p, 0, b.span) end
  b.piece = 1
  begin(b, keys, p, t0, 0, 1)
  event(keys.events, b, 'start', worker, 'first slot in ' .. int((t0 - b.now) / 1000) .. ' ms')
end

-- granting: the generation to grant from, after passing over what is too late and what is used up.
local function granting()
  while true do
    local g = b.gens[b.at]
    if not g then return nil end
    local top = limit(g)
    skip(b, g, math.min(top, math.ceil(upto(g, b.now) / g.f) * g.f))
    if g.nx < top then return g, top end
    if not b.gens[b.at + 1] and (b.phase ~= 'running' or not advance(b, keys)) then return nil end
    b.at = b.at + 1
  end
end

-- credit: m.v, the time up to which the member has taken its share, brought to generation g.
-- A newcomer starts at the granting position, its phase spread by the golden ratio; under a new
-- generation at most one slot of credit is carried over, at its new value.
local function credit(g, share)
  if joins then
    m.v = math.max(b.now, when(g, g.nx)) - math.floor((b.joins * 0.618 % 1) / share)
  elseif m.gen ~= g.id then
    local ref = math.max(b.now, g.t0)
    local c = math.max(0, math.min(1, (ref - m.v) * m.share / U / U))
    m.v = ref - math.floor(c / share)
  end
  m.v = math.max(m.v, b.now - math.floor(1 / share))
  m.gen, m.share = g.id, math.floor(share * U * U)
end

-- hold: notes what the member may still hold, so that a cut can count it, and forgets what is past.
local function hold(g, n)
  local kept = m.ranges
  while true do
    local untilText, rest = string.match(kept, '^[^,]*:(%d+),?(.*)$')
    if not untilText or tonumber(untilText) > b.now then break end
    kept = rest
  end
  local last = math.min(g.k, math.ceil((g.nx + n) / g.f) * g.f)
  local held = join({ g.id, g.nx, n, when(g, last - 1) + 1 }, ':')
  if kept == '' or kept == '-' then m.ranges = held else m.ranges = kept .. ',' .. held end
end

-- promise: m.from, when this member's permit begins. It moves by 0.2·H a call at most: so far, and no further, a permit begins too early
-- whose last reply was lost. Returns hand, when a returning member's stream ends, or 0; until it has confirmed that, the others are held
-- back soon after.
local function promise(g)
  local promised = m.from
  m.from = b.now + b.reach
  if present and held > 0 then -- and it does not go back, when H shrinks
    promised = math.max(promised, b.edge)
    m.from = math.max(promised, math.min(m.from, promised + math.floor(b.reach / 5)))
  end
  if not handing then return 0 end
  -- What was granted already gives way to the suspects' streams. Where those are more than the rate by now, or nothing is granted, this one ends at once.
  local hand = b.now
  if g and b.phase == 'running' and away <= rate(g, math.max(b.now, g.t0)) * U * U then hand = when(g, math.ceil(g.nx / g.f) * g.f) end
  m.from = math.min(b.now + b.reach, math.max(hand, b.edge) + 2 * rtt + 10000)
  return hand
end

-- barrier: nobody is granted what is due later.
local function barrier()
  local first = {}
  if b.permitfor > 0 then
    redis.call('ZADD', keys.seen, int(m.from), worker)
    first = redis.call('ZRANGEBYSCORE', keys.seen, int(b.edge), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  end
  return math.min(b.now + b.reach, tonumber(first[2] or ENDLESS))
end

-- grant: from position g.nx of a generation with numbers below top. Returns first, n, f as in the reply, and next.
local function grant(g, top, hand)
  local edge = barrier()
  local x = upto(g, edge)
  local hi = top
  if x < top then hi = x - x % g.f end
  -- The higher end of a ramp: shares that are too large only mean that who comes first takes a little more. What is yielded
  -- goes by the lower one.
  local now, later = rate(g, math.max(b.now, when(g, g.nx))), rate(g, edge)
  local share = math.max(now, later, rate(g, b.now)) * weight / b.w
  local f = yields(b, math.min(now, later))
  -- The numbers of a frame are not in the order of time: all of one frame are thinned alike, or what is sent were not even.
  if g.nx % g.f > 0 and f ~= b.thin then
    f = b.thin
    hi = math.min(hi, math.ceil(g.nx / g.f) * g.f)
  end
  b.thin = f
  local first, n, next = g.nx, 0, 0
  if share > 0 then
    credit(g, share)
    if hand > 0 then m.v = math.max(m.v, hand) end
    local q = math.max(0, math.floor((math.min(ask, edge) - m.v) * share))
    local wanted = q
    if f > 0 and f < U then wanted = math.floor(q * U / (U - f)) end
    local left = math.ceil(upto(g, b.now + steal) / g.f) * g.f - g.nx
    if f < U then n = math.max(0, math.min(hi - g.nx, math.max(wanted, left))) end -- else it all gives way, and is skipped
    if n > 0 then
      hold(g, n)
      m.v = m.v + math.floor(math.min(n * (U - f) / U, q) / share + 0.5)
      local beyond = over(g, g.nx, g.nx + n, g.cut)
      m.leased, m.beyond = m.leased + n, m.beyond + beyond
      b.issued, b.beyond = b.issued + n, b.beyond + beyond
      g.nx = g.nx + n
      b.standby = worker
    end
  end
  -- Whoever took the last number looks after the next one: at low rates nobody else may come in time.
  if b.standby == '' then b.standby = worker end
  if b.standby == worker and g.nx < top then next = when(g, g.nx - g.nx % g.f) - steal end
  -- One reply is of one generation. Where it is used up and the horizon reaches into the next one, ask again at once.
  if g.nx >= top and g.ends < b.now + b.reach then next = b.now end
  return first, n, n > 0 and f or 0, next
end

local g, top
if b.phase == 'running' or b.phase == 'paused' then g, top = granting() end
local hand = promise(g)
local status, first, n, f, next = 'OK', 0, 0, 0, 0
if g then
  first, n, f, next = grant(g, top, hand)
elseif b.phase == 'running' and b.now >= b.gens[#b.gens].ends then
  b.phase, b.ended = 'ended', b.gens[#b.gens].ends
  event(keys.events, b, 'end', worker, 'every slot is past')
end
if b.phase == 'waiting' then status = 'WAIT'
elseif b.phase == 'paused' then status = 'PAUSED'
elseif b.phase == 'stopped' then status = 'STOPPED'
elseif b.phase == 'ended' then status = 'ENDED' end

local law, permitted = '', ''
if n > 0 then law = unnamed(LAW, g, 9) end
if b.permitfor > 0 and status == 'OK' and g and not joins then permitted = permit(b, g, m, weight) end
local out = reply(status, law, first, n, f, hand, next, permitted)
if joins then live(keys) end
return out
