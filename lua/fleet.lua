-- fleet: what all scripts of a run do first, and what happens to a member. Included behind shares.lua.
--
-- This is the end of the body of a function fleet(b). Lua makes the functions at each call, so only the calls that
-- need them make them; a plain renewal does not. b has the time, the texts of the budget and the channel. Most
-- functions have a namesake in internal/proof/model that does the same.

$of(core) = struct.unpack(CORE, b.core)

local function event(kind, who, what)
  redis.call('XADD', keys.events, 'MAXLEN', '~', '10000', '*', 't', int(b.now), 'kind', kind, 'who', who, 'what', what)
end

local EVENTS = { [LEFT] = 'left', [HALTED] = 'stopped', [LOST] = 'lost', [REMOVED] = 'removed', [REPLACED] = 'replaced' }

-- setLifetimes: gives the run's lifetime to keys that may be new. Later, snapshots renew the lifetime of all keys.
local function setLifetimes()
  local ttl = redis.call('PTTL', keys.budget)
  if ttl <= 0 then return end
  for _, key in pairs(keys) do redis.call('PEXPIRE', key, ttl) end
end

-- store: writes all that has changed, and wakes workers.
local function store()
  reweigh()
  storeLaws()
  wake(b.channel)
  storeMembers()
  redis.call('HSET', keys.budget, 'last', int(b.last), 'epoch', b.epoch, 'core', struct.pack(CORE, $of(core)))
  if b.made then setLifetimes() end
end

-- makeFree: makes ranges free from a slot on; `whose` says who held them.
local function makeFree(whose, units, g, k)
  for _, s in ipairs(units) do
    s.fg, s.fk = later(s.fg, s.fk, g, k)
    s.sg, s.sk = close(whose, s, s.fg, s.fk)
  end
  put(FREE, units)
end

-- lastCall: when m, which is present, last called.
local function lastCall(m)
  local drops = tonumber(redis.call('ZSCORE', keys.due, m.name) or b.now)
  return max(drops - b.hold - EXPIRY_SLACK, #held(m) == 0 and drops - 3 * U - 2 * period() or 0)
end

-- endLease: the owner of m's ranges at a time: m, or nobody if its lease ended before.
local function endLease(m, t)
  local ends = tonumber(redis.call('ZSCORE', keys.due, m.name) or t + EXPIRY_SLACK) - EXPIRY_SLACK
  if ends >= t then return owner(m) end
  local g, k = slot(ends)
  for _, s in ipairs(held(m)) do s.sg, s.sk = close(owner(m), s, g, k) end
  return ''
end

-- drop: m is gone; what it held is free from a time on.
local function drop(m, t, state, what)
  local seen, whose, g, k = lastCall(m), endLease(m, t), slot(t)
  m.state = state
  b.n = b.n - 1
  if not m.leaving then leaves(m) end
  redis.call('ZREM', keys.due, m.name)
  local units = held(m)
  setHeld(m, {})
  m.joins = seen
  makeFree(whose, units, g, k)
  unassign(m)
  event(EVENTS[state], m.name, what)
end

-- takeBack: makes what m was believed to hold unknown again.
local function takeBack(m)
  local g, k = slot(b.now)
  local units = held(m)
  setHeld(m, {})
  if b.grace == 0 then return makeFree(owner(m), units, g, k) end
  for _, s in ipairs(units) do
    s.sg, s.sk = close(owner(m), s, later(s.sg, s.sk, g, k))
    s.fg, s.fk = 0, 0
  end
  put(UNKNOWN, units)
end

-- remove: somebody says that m is gone. Its clock may have been ahead of this one, by up to STEPPED. In the grace
-- period others may still claim what it is believed to hold, as a late copy of an old claim may have spoken for it.
-- Until then these ranges are unknown.
local function remove(m, state, what)
  if m.state ~= PRESENT then return false end
  if b.grace > 0 then takeBack(m) end
  drop(m, b.now + STEPPED, state, what)
  return true
end

-- replace: another process, inc, has taken m's name. If the first process lives, it calls now, and the reply says so.
local function replace(m, inc)
  remove(m, REPLACED, 'by ' .. inc)
  woken[m.name] = true
  redis.call('HSET', keys.workers, owner(m), record(m))
  redis.call('HDEL', keys.workers, m.name)
  cache[m.name], touched[m.name], unplaced[m.name] = false, nil, nil
end

-- free: makes all ranges of a kind free from a slot on.
local function free(kind, g, k)
  local units = every(kind)
  clear(kind)
  for _, s in ipairs(units) do s.fg, s.fk = g, k end
  put(FREE, units)
end

-- endGrace: frees what nobody has claimed. Every lease of a former server is over.
local function endGrace()
  b.grace = 0
  free(UNKNOWN, slot(b.now))
  assign()
end

-- everybody: every member that is not gone by its record.
local function everybody()
  local flat, out = redis.call('HGETALL', keys.workers), {}
  for i = 1, #flat, 2 do
    local name = flat[i]
    if not find(name, '/', 1, true) then
      if cache[name] == nil then cache[name] = parse(name, flat[i + 1]) end
      if cache[name] and cache[name].state < LEFT then out[#out + 1] = cache[name] end
    end
  end
  return out
end

-- doubt: this server may have forgotten what the run may send.
local function doubt()
  if b.allow < ENDLESS then b.rightEnds = 0 end
end

-- beginGrace: this is another server than before. It may have forgotten who owns what.
local function beginGrace()
  b.epoch = b.identity
  doubt()
  local g, k = slot(b.now)
  local list = everybody()
  local ends = {}
  local function gather(name, ranges)
    for _, s in ipairs(ranges) do
      g, k = later(g, k, s.sg, s.sk)
      ends[#ends + 1] = { name, s }
    end
  end
  for _, m in ipairs(list) do
    if gone(m) then
      m.state = LOST
      touch(m)
    else
      gather(endLease(m, b.now), held(m))
    end
  end
  gather('', every(FREE))
  gather('', every(UNKNOWN))
  for _, x in ipairs(ends) do close(x[1], x[2], g, k) end
  for _, m in ipairs(list) do
    if m.state < LEFT then
      local seen = m.state == OLD and m.joins or lastCall(m)
      setHeld(m, {})
      m.target, m.aimed, m.units, m.state, m.joins = {}, true, 0, OLD, seen
    end
  end
  redis.call('DEL', keys.due, keys.byLoad, keys.unowned)
  redis.call('ZADD', keys.due, int(ENDLESS), SENTINEL_MEMBER)
  unplaced, b.n, b.w, b.free, b.unassigned = {}, 0, 0, 0, 0
  put(UNKNOWN, { { lo = 0, hi = UNITS, fg = 0, fk = 0, sg = g, sk = k } })
  put(UNASSIGNED, { { lo = 0, hi = UNITS } })
  b.tf, b.grace = b.now, b.now + min(b.hold, LONGEST) + MARGIN
  event('failover', '-', 'workers say what they have')
end

-- expire: frees what was leased to silent members.
local function expire()
  if b.now < b.noExpiryBefore then return end
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.due, '-inf', '(' .. int(b.now), 'LIMIT', '0', int(AT_ONCE))) do
    local m = member(name)
    -- A name without a record is removed.
    if m then drop(m, b.now, LOST, 'its last lease is over') else redis.call('ZREM', keys.due, name) end
  end
end

-- newClockEpoch: the clock went back. All go on with what they hold, from the first slot of a new clock epoch.
local function newClockEpoch()
  local now, last = b.time, b.last
  local delta, t0 = now - last, now + ahead()
  b.now = now
  local l, old = lawAfter(last, t0)
  l.phase, l.clockEpoch = old.phase, l.id
  if old.phase ~= RUNNING then
    askNothing(l)
  else
    if l.ends < ENDLESS then l.ends = l.ends + t0 - last end
    if old.dur == 0 or last < old.t0 + old.dur then l.rest = rest(old, last) end
    continue(l)
  end
  b.clockEpoch = l.id
  addLaws({ l })
  b.last, b.noExpiryBefore, b.started, b.controllerAt = now, now + max(2 * U, 2 * period()), b.started + delta, b.controllerAt + delta
  b.rebalancedAt, b.follow = now, 0
  if b.rightEnds > 0 and b.rightEnds < ENDLESS then b.rightEnds = b.rightEnds + delta end
  local due = redis.call('ZRANGE', keys.due, '0', '-1', 'WITHSCORES')
  for i = 1, #due, 2 do
    local m = due[i] ~= SENTINEL_MEMBER and member(due[i])
    if m then
      redis.call('ZADD', keys.due, int(tonumber(due[i + 1]) + delta), m.name)
      local units = held(m)
      for _, s in ipairs(units) do s.fg, s.fk = l.id, 0 end
      setHeld(m, units)
    end
  end
  free(FREE, l.id, 0)
  if b.grace > 0 then endGrace() end
  everyone = true
  event('clock', '-', 'it went back by ' .. int(floor(-delta / 1000 + 0.5)) .. ' ms')
end

-- checkDeadman: stops a run that no controller has called for too long.
local function checkDeadman()
  if b.deadman == 0 or b.now <= max(b.controllerAt, b.started) + b.deadman or newest().phase >= STOPPED then return end
  change('stop')
  everyone = true
  event('deadman', '-', 'no controller was heard of for ' .. int(floor(b.deadman / U + 0.5)) .. ' s')
end

-- advance: what is due before each call: a change of the server, a clock that went back, leases that are over.
local function advance()
  local other = b.epoch ~= b.identity
  if b.time < b.last - STEPPED then
    if b.begun == 1 then newClockEpoch() else doubt() end -- how long the rights last is not known any more
  end
  b.now = max(b.time, b.last)
  if b.now - b.last > U then -- nobody could call
    b.noExpiryBefore = b.now + max(2 * U, 2 * period())
    b.controllerAt = b.controllerAt + b.now - b.last
  end
  b.last = b.now
  if other then beginGrace() end
  if b.grace > 0 and b.now >= b.grace then endGrace() end
  if b.begun == 0 then return end
  if b.follow <= b.now + b.hold + period() then follow() end
  checkDeadman()
  expire()
  assign()
  if b.now - b.rebalancedAt >= U then
    b.rebalancedAt = b.now
    rebalance()
  end
end

-- start: begins when enough members are there, and the run may send. Each gets one range.
local function start()
  local n = staying()
  if b.min == 0 or n < b.min then return end
  if b.frozen > 0 or b.peak > b.allow or b.rightEnds <= b.now then return end
  clear(UNASSIGNED)
  local at, sum, w = 0, 0, b.w
  for _, m in ipairs(leastLoaded(n)) do -- nobody has anything, so they are in the order of their names
    sum = sum + m.weight
    local hi = share(sum, w)
    setTarget(m, hi > at and { { lo = at, hi = hi } } or {})
    at = hi
  end
  local lead = max(BEGIN, 400 * n)
  local l = first(b.now + lead)
  if b.span > 0 then l.ends = l.t0 + b.span end
  continue(l)
  addLaws({ l })
  free(FREE, l.id, 0)
  follow()
  everyone = true
  event('start', '-', 'first slot in ' .. int(lead / 1000) .. ' ms')
end

-- enter: a new member. It gets a target, but no ranges yet.
local function enter(c)
  local old = member(c.worker)
  local m = { name = c.worker, inc = c.inc, seq = 0, weight = c.weight, version = old and old.version + 1 or 1, joins = ENDLESS, state = PRESENT, known = 0,
    leaving = false, giving = 0, missing = 0, units = 0, held = {}, owns = true, target = {}, aimed = true }
  cache[m.name] = m
  touch(m)
  b.n = b.n + 1
  enters(m)
  event('join', m.name, 'weight ' .. int(m.weight))
  if b.begun == 1 and c.leaving == 0 and (not c.claim or c.epoch == b.epoch) then welcome(m) end
  return m
end

-- setWeight: gives a member another weight. Shares follow later.
local function setWeight(m, weight)
  if weight == m.weight then return end
  if stays(m) then b.w = b.w + weight - m.weight end
  m.weight, unplaced[m.name] = weight, m
  touch(m)
end

-- claim: believes what a worker says it holds, if its lease was still running when this server was first called.
local function claim(m, c)
  if m.state == PRESENT and #held(m) > 0 then takeBack(m) end -- a late copy of an old claim had spoken for it
  if b.grace > 0 and b.begun == 1 and c.clockEpoch == b.clockEpoch and c.p >= b.tf + MARGIN then
    local got = {}
    for _, s in ipairs(c.claim) do
      for _, x in ipairs(pull(UNKNOWN, { s })) do
        x.fg, x.fk = s.fg, s.fk
        x.sg, x.sk = close('', x, later(x.sg, x.sk, s.fg, s.fk))
        got[#got + 1] = x
      end
    end
    if #got > 0 then setHeld(m, plus(held(m), got)) end
  end
  if m.state ~= PRESENT then
    m.state = PRESENT
    b.n = b.n + 1
    if not m.leaving then enters(m) end
  end
  put(UNASSIGNED, target(m))
  setTarget(m, bare(pull(UNASSIGNED, bare(held(m)))))
end

-- releases: takes the ranges that m gives up.
local function releases(m, c)
  local any = false
  for _, x in ipairs(c.releases) do
    local inside, outside = split(held(m), { x })
    if #inside > 0 then
      any = true
      setHeld(m, outside)
      makeFree(owner(m), inside, x.fg, x.fk)
    end
  end
  if any and m.leaving then unassign(m) end
  return any
end

-- receive: gives m the free ranges of its target. When the rate is changed, a range may be free for a moment: a law that
-- begins before the slot from which the range was given up has no other owner. These slots are given too.
local function receive(m)
  if m.leaving or b.free == 0 then return false end
  local got = pull(FREE, minus(target(m), held(m)))
  if #got == 0 then return false end
  local g, k = slot(b.now - MAKE_UP)
  for _, s in ipairs(got) do
    s.fg, s.fk = later(s.fg, s.fk, g, k)
    s.sg, s.sk = close('', s, s.fg, s.fk)
  end
  setHeld(m, plus(held(m), got))
  return true
end

-- joinNeighbours: joins neighbouring ranges once it no longer matters that they came at different times.
local function joinNeighbours(m)
  if b.now < m.joins then return end
  m.joins = ENDLESS
  touch(m)
  local g, k = slot(b.now - MARGIN)
  local function past(s) return s.fg < g or (s.fg == g and s.fk <= k) end
  local out = {}
  for _, s in ipairs(held(m)) do
    local x = out[#out]
    if not x or x.hi ~= s.lo or not past(s) or not past(x) then
      out[#out + 1] = s
    else
      local sg, sk = later(x.sg, x.sk, s.sg, s.sk)
      close(owner(m), x, sg, sk)
      close(owner(m), s, sg, sk)
      x.fg, x.fk = later(x.fg, x.fk, s.fg, s.fk)
      x.hi, x.sg, x.sk = s.hi, sg, sk
    end
  end
  if #out < #held(m) then
    m.held, m.owns, m.moved, m.version = out, true, true, m.version + 1
  end
end

-- head: the numbers of a reply.
local function head(c, p, wait, version)
  local seq, clockEpoch, now, members = c.seq, b.clockEpoch, b.now, b.n
  return struct.pack(HEAD, $names(head))
end

-- refuse: a reply with this status and nothing else.
local function refuse(c, status)
  return { head(c, 0, period(), 0) .. status .. '|' .. b.epoch }
end

-- news: laws that the caller does not know, as text, and the plans that they name.
local function news(c)
  if b.begun == 0 then return '', {} end
  local laws, plans = since(c.known)
  return missed(c) .. laws, plans
end

-- replyGone: the reply to a worker that has left. It contains the laws that show which of its slots were not asked for
-- any more.
local function replyGone(c)
  local laws, plans = news(c)
  local first = refuse(c, 'GONE')[1]
  if laws == '' then return { first } end
  return { first, '', '', laws, unpack(plans) }
end

-- leaseEnd: until when a reply leases.
local function leaseEnd()
  reweigh()
  return b.peak > b.allow and 0 or min(b.now + b.hold, b.rightEnds)
end

-- reply: all that m must know.
local function reply(m, c)
  tally(m)
  local wait, list, give = period(), '', ''
  if b.begun == 0 or m.missing > 0 then wait = soon(b.n, b.hold) end
  if m.version ~= c.version then
    local texts = {}
    for i, s in ipairs(held(m)) do texts[i] = struct.pack('<llll', s.lo, s.hi, s.fg, s.fk) end
    list = table.concat(texts)
  end
  if m.giving > 0 then give = packed(bare(gives(m))) end
  local laws, plans = news(c)
  local first = head(c, leaseEnd(), wait, m.version) .. 'OK|' .. b.epoch
  if m.version == c.version and give == '' and laws == '' then return { first } end
  return { first, list, give, laws, unpack(plans) }
end

-- renew: the one call of the protocol.
local function renew(c)
  advance()
  local m = member(c.worker)
  if m and m.inc ~= c.inc then
    if c.epoch ~= '' or redis.call('HEXISTS', keys.workers, c.worker .. '/' .. c.inc) == 1 then return refuse(c, 'REPLACED') end
    replace(m, c.inc) -- the first process is trusted to be gone
    m = nil
  end
  if m and c.seq < m.seq then return refuse(c, 'STALE') end
  if m and gone(m) and c.seq == m.seq then return refuse(c, 'CLAIM') end
  learn(c.laws, c.plans)
  if c.epoch ~= '' and c.epoch ~= b.epoch and not c.claim then return refuse(c, 'CLAIM') end
  local again = m and c.seq == m.seq and m.state == PRESENT
  if m and (gone(m) or (m.state ~= PRESENT and c.epoch == '')) then m = nil end
  m = m or enter(c)
  setWeight(m, c.weight)
  if b.begun == 0 and b.grace == 0 then start() end
  if c.claim and c.epoch ~= b.epoch and not again then
    claim(m, c)
    if #target(m) == 0 and b.begun == 1 and b.grace == 0 and c.leaving == 0 and not m.leaving then welcome(m) end
  end
  local handed = m.leaving and #held(m) == 0
  local changed = not again and c.epoch == b.epoch and releases(m, c)
  if c.leaving > 0 and not m.leaving then
    if m.state == PRESENT then leaves(m) end
    m.leaving, changed = true, true
    unassign(m)
  end
  -- A worker that has no reply of this server holds nothing.
  if c.epoch == b.epoch then changed = receive(m) or changed end
  if not again and (changed or c.claim or c.epoch == '') then
    m.seq = c.seq
    touch(m)
  end
  if m.known < b.command and c.known > m.known then
    m.known = c.known
    touch(m)
  end
  joinNeighbours(m)
  -- A worker that hands over still sends for a moment. It stays a member until it says that it does not, so it
  -- receives commands.
  if c.leaving == 2 and #held(m) == 0 and b.grace == 0 then
    m.state, m.seq, m.joins = handed and LEFT or HALTED, c.seq, b.now
    touch(m)
    b.n = b.n - 1
    redis.call('ZREM', keys.due, m.name)
    event(EVENTS[m.state], m.name, m.inc)
    return replyGone(c)
  end
  local drops = b.now + b.hold + EXPIRY_SLACK
  if #held(m) == 0 then drops = min(drops, b.now + 3 * U + 2 * period()) end
  if m.state == PRESENT then redis.call('ZADD', keys.due, int(drops), m.name) end
  return reply(m, c)
end

-- ended: whether nothing is asked for any more, even if no call has noted it yet.
local function ended()
  if b.begun == 0 then return false end
  local n = newest()
  if n.phase ~= RUNNING then return n.phase >= STOPPED and n.t0 <= b.time end
  return n.ends <= b.time or (n.stop > 0 and n.stop <= b.time)
end

-- settle: finds out whether a worker can still go by a law that is not in force any more. If none can, high is what the laws
-- ask for.
local function settle()
  weigh()
  if b.grace == 0 and b.n == 0 and ended() then b.peak, b.high = 0, 0 end -- nobody is left who could send
  if b.grace > 0 or b.high == b.peak then return end
  if b.begun == 1 then
    for _, m in ipairs(everybody()) do
      if m.state == PRESENT and m.known < b.command then return end
    end
  end
  b.high = b.peak
end

-- plan: the number of the plan that the run goes by, or will.
local function newestPlan() return b.begun == 1 and newest().plan or 0 end

return { RUNNING = RUNNING, REMOVED = REMOVED, PAUSED = PAUSED, STOPPED = STOPPED, ENDLESS = ENDLESS, ended = ended, newest = newest, advance = advance,
  renew = renew, change = change, early = early, remove = remove, member = member, event = event, learn = learn, store = store,
  everyone = function() everyone = true end, doubt = doubt, weigh = weigh, settle = settle, peakOf = peakOf, open = open, aim = aim, newestPlan = newestPlan }
