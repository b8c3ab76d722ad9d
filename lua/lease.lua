-- lease: grants one member the next range of slot numbers, and tells it all it must know.
--
-- KEYS  1 budget  2 workers  3 seen  4 events  5 laws
-- ARGV  1 run uid  2 worker  3 incarnation  4 seq (1, 2, …; after a timeout the same again)
--       5 ack: leased_at of the last reply received, µs  6 until: cover me up to here, µs
--       7 weight ≥ 1  8 rtt_hi, µs  9 phi_held: permit held, slots per 10⁶ s
-- Returns an array of strings, or an error if an argument is wrong:
--       1 status  2 law  3 first  4 n  5 f  6 hand  7 now  8 TIME as read  9 leased_at  10 next  11 N  12 W
--       13 version  14 recalls  15 permit
--       status: OK, WAIT (for members), PAUSED, STOPPED, ENDED, NOSTATE, STALE (seq), REPLACED (by
--       another incarnation), CLOCK (TIME went back too far). Only OK and PAUSED come with numbers.
--       f, hand and permit belong to outages and are 0.
-- Invariant: a number of a generation is granted once; replaying a call changes nothing; numbers, clock and generation
--       ids never go back; no number is granted whose frame has begun or ends after now + H.

local clock = redis.call('TIME')
local keys = { budget = KEYS[1], workers = KEYS[2], seen = KEYS[3], events = KEYS[4], laws = KEYS[5] }
local uid, worker, inc = ARGV[1], ARGV[2], ARGV[3]
local seq, ack, ask, weight, rtt = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])

local bad = wrong('lease', { 4, 'seq', 1, MOST, 5, 'ack', 0, MOST, 6, 'until', -MOST, MOST, 7, 'weight', 1, 1000000,
  8, 'rtt_hi', 0, MOST, 9, 'phi_held', 0, MOST })
if bad then return bad end
if not plain(worker) or not plain(inc) then return refuse('lease', 'worker or incarnation') end
rtt = math.min(rtt, RTT) -- a member that was frozen in the middle of a call must not put off every command

local b = load(keys.budget, clock)
local function answer(status, now, time)
  return { status, '', '0', '0', '0', '0', int(now), int(time), '0', '0', '0', '0', '0', b and b.recalls or '', '0' }
end
if not b or b.uid ~= uid then return answer('NOSTATE', 0, 0) end
if b.time < b.last - b.horizon then return answer('CLOCK', b.last, b.time) end

local m = parse(redis.call('HGET', keys.workers, worker))
if m and m.inc == inc then
  if seq < m.seq then return answer('STALE', b.now, b.time) end
  if seq == m.seq then
    local reply = split(m.reply, '|')
    for i = 1, #reply do if reply[i] == '-' then reply[i] = '' end end
    reply[7], reply[8] = int(b.now), int(b.time)
    return reply
  end
elseif m and (seq > 1 or redis.call('HEXISTS', keys.workers, worker .. '/' .. inc) == 1) then
  return answer('REPLACED', b.now, b.time)
end
if b.phase == 'ended' or (b.phase == 'stopped' and not (m and m.inc == inc)) then
  return answer('ENDED', b.now, b.time)
end

-- Members: who was silent for ttl leaves, who is new joins. A large fleet calls less often.
local ttl = math.max(b.ttl, math.floor(3 * U * b.n / b.qmax))
for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.seen, '-inf', '(' .. int(b.now - ttl), 'LIMIT', 0, 16)) do
  if name ~= worker then drop(b, keys, name, parse(redis.call('HGET', keys.workers, name)), 'lost', 'silent for ' .. int(ttl / 1000) .. ' ms') end
end
local present = redis.call('ZSCORE', keys.seen, worker)
if m and m.inc ~= inc then
  if present then drop(b, keys, worker, m, 'replaced', 'by ' .. inc) end
  redis.call('HSET', keys.workers, worker .. '/' .. m.inc, format(m))
  m, present = nil, false
end
local joins = not present
if joins then
  b.joins = b.joins + 1
  b.n = b.n + 1
  b.w = b.w + weight
  b.version = b.version + 1
  if not m then m = { inc = inc, ranges = '-', v = 0, leased = 0, beyond = 0, gen = 0, share = 0 } end
  event(keys.events, b, 'join', worker, 'weight ' .. int(weight))
elseif weight ~= m.weight then
  b.w = b.w + weight - m.weight
  b.version = b.version + 1
end
m.state, m.seq, m.weight, m.at, m.ack, m.rtt = 'active', seq, weight, b.now, ack, rtt
if not joins then m.v = m.v - (b.shift - m.shift) end
m.shift = b.shift

local horizon = math.max(b.horizon, math.floor(1.5 * (rtt + 2 * FRAME + 2000)), math.floor(3 * U * b.n / b.qmax))
local steal = math.min(rtt + 10000, math.floor(horizon / 2))

-- The run's first t0 is set when the required members are there (min 0: when it is started by command); all of them can
-- still lease its first frame.
if b.phase == 'waiting' and b.min > 0 and b.n >= b.min then
  b.phase = 'running'
  b.started = b.now + b.horizon
  if b.span > 0 then b.stop = b.started + b.span end
  local p = pieces(keys.budget)[1]
  if b.stop > 0 and (p.dur == 0 or p.dur > b.span) then p = part(p, 0, b.span) end
  b.piece = 1
  begin(b, keys, p, b.started, 0, 1)
  event(keys.events, b, 'start', worker, 'first slot in ' .. int(b.horizon / 1000) .. ' ms')
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

local status, first, n, next = 'OK', 0, 0, 0
local g, top
if b.phase == 'running' or b.phase == 'paused' then g, top = granting() end
if g then
  local x = upto(g, b.now + horizon)
  local hi = top
  if x < top then hi = x - x % g.f end
  -- The higher end of a ramp: shares that are too large only mean that who comes first takes a little more.
  local share = math.max(rate(g, b.now), rate(g, b.now + horizon)) * weight / b.w
  first = g.nx
  if share > 0 then
    credit(g, share)
    local q = math.max(0, math.floor((math.min(ask, b.now + horizon) - m.v) * share))
    local left = math.ceil(upto(g, b.now + steal) / g.f) * g.f - g.nx
    n = math.max(0, math.min(hi - g.nx, math.max(q, left)))
    if n > 0 then
      hold(g, n)
      m.v = m.v + math.floor(math.min(n, q) / share + 0.5)
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
  if g.nx >= top and g.ends < b.now + horizon then next = b.now end
elseif b.phase == 'running' and b.now >= b.gens[#b.gens].ends then
  b.phase, b.ended = 'ended', b.gens[#b.gens].ends
  event(keys.events, b, 'end', worker, 'every slot is past')
end
if b.phase == 'waiting' then status = 'WAIT'
elseif b.phase == 'paused' then status = 'PAUSED'
elseif b.phase == 'stopped' then status = 'STOPPED'
elseif b.phase == 'ended' then status = 'ENDED' end

local law = ''
if n > 0 then law = unnamed(LAW, g, 9) end
local reply = { status, law, int(first), int(n), '0', '0', int(b.now), int(b.time), int(b.now), int(next), int(b.n), int(b.w),
  int(b.version), b.recalls or '', '0' }
local kept = {}
for i = 1, #reply do kept[i] = reply[i] == '' and '-' or reply[i] end
m.reply = table.concat(kept, '|')
redis.call('ZADD', keys.seen, int(b.now), worker)
redis.call('HSET', keys.workers, worker, format(m))
store(keys.budget, b)
if joins then live(keys) end
return reply
