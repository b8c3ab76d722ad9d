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

-- All arguments are looked at together; which one is wrong is asked when one is.
local sound = seq and ack and ask and weight and rtt and held and told and known and #worker <= 64 and #inc <= 64
  and find(table.concat(ARGV, ' ', 2, 11), '^%w[%w._-]* %w[%w._-]* %d+ %d+ %-?%d+ %d+ %d+ %d+ %d+ %d+$')
  and seq >= 1 and weight >= 1 and weight <= 1000000 and max(seq, ack, ask, -ask, rtt, held, told, known) <= 2 ^ 53
if not sound then
  local wrong, refuse = check()
  return wrong('lease', { 4, 'seq', 1, 2 ^ 53, 5, 'ack', 0, 2 ^ 53, 6, 'until', -2 ^ 53, 2 ^ 53, 7, 'weight', 1, 1000000,
    8, 'rtt_hi', 0, 2 ^ 53, 9, 'phi_held', 0, 2 ^ 53, 10, 'leased', 0, 2 ^ 53, 11, 'known', 0, 2 ^ 53 }) or refuse('lease', 'worker or incarnation')
end
rtt = min(rtt, RTT) -- a member that was frozen in the middle of a call must not put off every command

-- written: a reply from its texts and its figures.
local function written(status, law, recalls, permitted, figures, now, time)
  local first, n, f, hand, at, next, members, weights, version, reach, stood =
    string.match(figures, '^(%d+):(%d+):(%d+):(%d+):(%d+):(%-?%d+):(%d+):(%d+):(%d+):(%d+):(%-?%d+)$')
  return { status, law, first, n, f, hand, now or at, time or at, at, next, members, weights, version, recalls, permitted, reach, stood }
end

local b = load(keys.budget, clock)
local function answer(status, now, time)
  return { status, '', '0', '0', '0', '0', int(now), int(time), '0', '0', '0', '0', '0', b and b.recalls or '', '', '0', '0' }
end
if not b or b.uid ~= uid then return answer('NOSTATE', 0, 0) end

local m = parse(redis.call('HGET', keys.workers, worker))
if m and m.inc == inc then
  if seq < m.seq then return answer('STALE', b.now, b.time) end
  if seq == m.seq then
    local status, law, recalls, permitted, figures = string.match(m.reply, '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|(.*)$')
    return written(status, law, recalls, permitted, figures, int(b.now), int(b.time))
  end
elseif m and (seq > 1 and ack <= m.at or redis.call('HEXISTS', keys.workers, worker .. '/' .. inc) == 1) then
  return answer('REPLACED', b.now, b.time)
end
if b.phase == 'ended' or (b.phase == 'stopped' and not (m and m.inc == inc)) then
  return answer('ENDED', b.now, b.time)
end
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

-- Members: who was silent for too long leaves, who is new joins. Who may hold a permit stays until that has run out.
local life = max(b.ttl, far)
if b.permitfor > 0 and b.phase ~= 'waiting' then life = max(life, b.permitfor) end
local gone = b.now + b.horizon - life -- `seen` is ahead of the last contact by at least this horizon
local seen = redis.call('ZRANGE', keys.seen, 0, 1, 'WITHSCORES') -- whose permits begin first: two, because one may be the caller
if seen[2] and tonumber(seen[2]) < gone then
  local function expire(name, o) changes(b, keys).drop(name, o, 'lost', 'silent for ' .. int(floor(life / 1000 + 0.5)) .. ' ms') end
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.seen, '-inf', '(' .. int(gone), 'LIMIT', 0, 16)) do
    if name ~= worker then expire(name, parse(redis.call('HGET', keys.workers, name))) end
  end
  if m and present(m) and m.from < gone then expire(worker, m) end
  seen = redis.call('ZRANGE', keys.seen, 0, 1, 'WITHSCORES')
end
if m and m.inc ~= inc then
  if present(m) then changes(b, keys).drop(worker, m, 'replaced', 'by ' .. inc) end
  redis.call('HSET', keys.workers, worker .. '/' .. m.inc, record(m))
  m = nil
end
if b.permitfor > 0 then suspects(b, keys, worker, m, tonumber(seen[2] or ENDLESS)) end

-- reply: stores the reply as it will be repeated, and all else.
local function reply(status, law, first, n, f, hand, next, permitted)
  local stood = b.stood -- how long the schedule's clock stood still so far, while the plan is in force, µs
  if stood >= 0 and b.phase == 'paused' then
    stood = stood + max(0, b.now - (b.pausedat or tonumber(redis.call('HGET', keys.budget, 'pausedat'))))
  end
  local figures = format('%d:%d:%d:%d:%d:%d:%d:%d:%d:%d:%d', first, n, f, hand, b.now, next, b.n, b.w, b.version, b.reach, stood)
  m.reply = format('%s|%s|%s|%s|%s', status, law, b.recalls, permitted, figures)
  redis.call('ZADD', keys.seen, int(m.from), worker)
  redis.call('HSET', keys.workers, worker, record(m))
  store(b, keys)
  return written(status, law, b.recalls, permitted, figures, nil, b.time < b.now and int(b.time))
end

-- A new seq says that the last reply has arrived, so phi_held is what this member holds now. Whether replies still arrive
-- only a fresh ack can tell.
local fresh = ack <= b.now and ack >= b.now - floor(0.6 * b.reach)
local joins = not (m and present(m))
if not joins and m.phi > 0 and b.phase == 'running' and not fresh then
  if m.state ~= 'suspect' then changes(b, keys).suspect(worker, m) end
  m.seq, m.at, m.rtt = seq, b.now, rtt
  return reply('SUSPECT', '', 0, 0, 0, 0, 0, '')
end
local handing, away = held > 0 and (joins or m.state == 'suspect'), b.away
if not joins and m.state == 'suspect' then b.away, b.changed = b.away - m.phi, true end

if joins then
  local change = changes(b, keys)
  b.joins = b.joins + 1
  b.n = b.n + 1
  b.w = b.w + weight
  b.version = b.version + 1
  if not m then m = { inc = inc, ranges = '-', v = 0, leased = 0, beyond = 0, gen = 0, share = 0, phi = 0 } end
  m.rank = b.joins
  change.event('join', worker, 'weight ' .. int(weight))
elseif weight ~= m.weight then
  b.w, b.version, b.changed = b.w + weight - m.weight, b.version + 1, true
end
if held ~= m.phi then b.phi, b.changed = b.phi + held - m.phi, true end
m.state, m.seq, m.weight, m.at, m.rtt, m.phi = 'active', seq, weight, b.now, rtt, held
if not joins then m.v = m.v - (b.shift - m.shift) end
m.shift = b.shift
if told > m.leased then -- the server that granted them was another one, or had its memory: they do not count as skipped
  local known = min(told - m.leased, b.skipped)
  b.skipped = b.skipped - known
  b.issued = b.issued + told - m.leased - known
  m.leased = told
end

local steal = min(rtt + 10000, floor(b.reach / 2))

if b.phase == 'waiting' then changes(b, keys).start(worker) end

-- credit: m.v, the time up to which the member has taken its share, brought to generation g.
-- A newcomer starts at the granting position, its phase spread by the golden ratio; under a new
-- generation at most one slot of credit is carried over, at its new value.
local function credit(g, share)
  if joins then
    m.v = max(b.now, when(g, g.nx)) - floor((b.joins * 0.618 % 1) / share)
  elseif m.gen ~= g.id then
    local ref = max(b.now, g.t0)
    local c = max(0, min(1, (ref - m.v) * m.share / U / U))
    m.v = ref - floor(c / share)
  end
  m.v = max(m.v, b.now - floor(1 / share))
  m.gen, m.share = g.id, floor(share * U * U)
end

-- hold: notes what the member may still hold, so that a cut can count it, and forgets what is past.
local function hold(g, n)
  local kept = m.ranges
  while true do
    local ends = find(kept, ':', 1, true)
    if not ends or tonumber(sub(kept, 1, ends - 1)) > b.now then break end
    local comma = find(kept, ',', 1, true)
    kept = comma and sub(kept, comma + 1) or '-'
  end
  local last = min(g.k, ceil((g.nx + n) / g.f) * g.f)
  m.ranges = format('%d:%d:%d:%d', when(g, last - 1) + 1, g.id, g.nx, n)
  if kept ~= '-' then m.ranges = kept .. ',' .. m.ranges end
end

-- barrier: nobody is granted what is due later: the oldest `from` of the others who are not suspects, and of the caller.
local function barrier()
  local edge = b.now + b.reach
  if b.permitfor == 0 then return edge end
  local them = seen
  if tonumber(them[2] or ENDLESS) < b.edge then
    them = redis.call('ZRANGEBYSCORE', keys.seen, int(b.edge), '+inf', 'WITHSCORES', 'LIMIT', 0, 2)
  end
  local other = them[1] == worker and them[4] or them[1] ~= worker and them[2]
  if m.from >= b.edge then edge = min(edge, m.from) end
  return min(edge, tonumber(other or ENDLESS))
end

-- grant: from position g.nx of a generation with numbers below top. Returns first, n, f as in the reply, and next.
local function grant(g, top, hand)
  local edge = barrier()
  local x = upto(g, edge)
  local hi = top
  if x < top then hi = x - x % g.f end
  -- The higher end of a ramp: shares that are too large only mean that who comes first takes a little more. What is yielded
  -- goes by the lower one.
  local now, later = rate(g, max(b.now, when(g, g.nx))), rate(g, edge)
  local share = max(now, later, rate(g, b.now)) * weight / b.w
  local f = yields(b, min(now, later))
  -- The numbers of a frame are not in the order of time: all of one frame are thinned alike, or what is sent were not even.
  if g.nx % g.f > 0 and f ~= b.thin then
    f = b.thin
    hi = min(hi, ceil(g.nx / g.f) * g.f)
  end
  if f ~= b.thin then b.thin, b.changed = f, true end
  local first, n, next = g.nx, 0, 0
  if share > 0 then
    credit(g, share)
    if hand > 0 then m.v = max(m.v, hand) end
    local q = max(0, floor((min(ask, edge) - m.v) * share))
    local wanted = q
    if f > 0 and f < U then wanted = floor(q * U / (U - f)) end
    local left = ceil(upto(g, b.now + steal) / g.f) * g.f - g.nx
    if f < U then n = max(0, min(hi - g.nx, max(wanted, left))) end -- else it all gives way, and is skipped
    if n > 0 then
      hold(g, n)
      m.v = m.v + floor(min(n * (U - f) / U, q) / share + 0.5)
      local beyond = over(g, g.nx, g.nx + n, g.cut)
      m.leased, b.issued = m.leased + n, b.issued + n
      if beyond > 0 then m.beyond, b.beyond, b.changed = m.beyond + beyond, b.beyond + beyond, true end
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

-- g: the generation to grant from, its numbers below top, after passing over what is too late and what is used up; or nil.
local g, top = (b.phase == 'running' or b.phase == 'paused') and b.gens[b.at], 0
while g do
  top = limit(g)
  skip(b, g, min(top, ceil(upto(g, b.now) / g.f) * g.f))
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
m.from = b.now + b.reach
if not joins and held > 0 then -- and it does not go back, when H shrinks
  promised = max(promised, b.edge)
  m.from = max(promised, min(m.from, promised + floor(b.reach / 5)))
end
-- hand: when a returning member's stream ends; until it has confirmed that, the others are held back soon after.
if handing then
  -- What was granted already gives way to the suspects' streams. Where those are more than the rate by now, or nothing is granted,
  -- this one ends at once.
  hand = b.now
  if g and b.phase == 'running' and away <= rate(g, max(b.now, g.t0)) * U * U then hand = when(g, ceil(g.nx / g.f) * g.f) end
  m.from = min(b.now + b.reach, max(hand, b.edge) + 2 * rtt + 10000)
end

local status, first, n, f, next = 'OK', 0, 0, 0, 0
if g then
  first, n, f, next = grant(g, top, hand)
elseif b.phase == 'running' and b.now >= b.gens[#b.gens].ends then
  local change = changes(b, keys)
  b.phase, b.ended = 'ended', b.gens[#b.gens].ends
  change.event('end', worker, 'every slot is past')
end
if b.phase == 'waiting' then status = 'WAIT'
elseif b.phase == 'paused' then status = 'PAUSED'
elseif b.phase == 'stopped' then status = 'STOPPED'
elseif b.phase == 'ended' then status = 'ENDED' end

local text, permitted = '', ''
if n > 0 then text = law(g) end
if b.permitfor > 0 and status == 'OK' and g and not joins then permitted = permit(b, g, m, weight) end
local out = reply(status, text, first, n, f, hand, next, permitted)
if joins then changes(b, keys).live() end
return out
