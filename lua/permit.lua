-- permit: what members may be firing while Redis does not hear of them. Included after budget.lua.
--
-- Each reply promises its member: your permit begins at `from`, H after now, but at most 0.2·H after what was promised before. `seen`
-- holds the members by that time.
--   barrier   nobody is granted numbers that are due after the oldest `from` of those who are not suspects.
--   suspect   a member whose `from` is nearer than 0.4·H, or whose ack is older than 0.6·H. What is granted from then on
--             gives way to its permit: of each range the part φ/R is yielded.
--   hand      a suspect whose replies arrive again fires on its permit until the position of the grants, leased slots follow.
-- The sum of all permits is at most the lowest rate of the time they last. docs/guarantees.md has the proof.

-- identity: of the server that runs this, another one after a restart or a failover; '' where there is none.
local function identity()
  local info = redis.pcall('INFO', 'replication')
  return type(info) == 'string' and string.match(info, 'master_replid:(%w+)') or ''
end

local function suspect(b, keys, name, m, all)
  m.state = 'suspect'
  b.away = b.away + m.phi
  if not all then redis.call('HSET', keys.workers, name, format(m)) end
end

-- suspects: finds those that have become it. own is the caller's record, called worker.
local function suspects(b, keys, worker, own)
  if b.permitfor == 0 then return end
  local edge = math.max(b.edge, b.now + math.floor(0.4 * b.reach))
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.seen, int(b.edge), '(' .. int(edge))) do
    local m = own
    if name ~= worker then m = parse(redis.call('HGET', keys.workers, name)) end
    if m.state == 'active' then suspect(b, keys, name, m) end
  end
  b.edge = edge
end

-- anew: what was granted last may have been forgotten, or lies in another time: all generations end at t, the same
-- law goes on at t0, and every member may have been heard of a moment ago and be firing on its permit.
local function anew(b, keys, t, t0, what)
  local all = members(keys.workers)
  if b.phase == 'running' and b.gens[1] then
    local g, c = cut(b, keys, all, t)
    for _, x in ipairs(b.gens) do skip(b, x, limit(x)) end
    b.cutat = t0
    local over = b.gens
    if t ~= t0 then b.gens, b.at = {}, 1 end -- their times mean nothing any more
    go(b, keys, rest(g, t), t0, c, g.piece)
    if #b.gens == 0 then b.gens, b.at = over, #over end
  end
  b.edge = b.now + b.reach
  for name, m in pairs(all) do
    m.at = math.min(m.at, b.now)
    if t ~= t0 then m.ranges = '-' end
    if m.state == 'active' then suspect(b, keys, name, m, all) end
    if m.state == 'suspect' then
      m.from = b.edge - 1
      redis.call('ZADD', keys.seen, int(m.from), name)
    end
    redis.call('HSET', keys.workers, name, format(m))
  end
  b.version = b.version + 1
  event(keys.events, b, what, '-', 'a new generation begins at ' .. int(t0))
end

-- settle: notices that the server is another one, that its clock went back too far, that it has forgotten a generation which a member
-- knows (known: the latest one, or 0), and that no controller was heard of. b.renewed is the latest recall while nothing was told since.
local function settle(b, keys, known)
  local id, behind, untold = identity(), known > b.id and b.phase == 'running', latest(b) == b.renewed
  local other = id ~= '' and (b.identity or '') ~= '' and id ~= b.identity
  b.id = math.max(b.id, known)
  if b.time < b.last - b.reach then
    local by = b.last - b.time
    for _, name in ipairs({ 'started', 'stop', 'pausedat', 'heard', 'grown', 'cutat' }) do
      if b[name] > 0 then b[name] = b[name] - by end
    end
    local last = b.last
    b.now = b.time
    anew(b, keys, last, b.now + b.reach, 'clock')
  elseif other or behind then
    local t0 = math.max(b.now + b.reach, b.cutat + 1)
    anew(b, keys, t0, t0, 'failover')
  end
  if other or untold then b.renewed = latest(b) end
  if id ~= '' then b.identity = id end
  if b.now - b.last > U then b.heard = b.heard + b.now - b.last end -- nobody could be heard
  if b.deadman > 0 and (b.phase == 'running' or b.phase == 'paused') and b.now > math.max(b.heard, b.started) + b.deadman then
    local all = members(keys.workers)
    halt(b, keys, all, math.max(b.now + LEAD, b.cutat + 1))
    for name, m in pairs(all) do redis.call('HSET', keys.workers, name, format(m)) end
    b.version = b.version + 1
    event(keys.events, b, 'deadman', '-', 'no controller was heard of for ' .. int(b.deadman / U) .. ' s')
  end
end

-- permit: what member m of this weight may fire by itself from m.from on, as text; '' for nothing. Its rate is at most the
-- share, and what the others do not hold. A reply to a join has none: who makes only one call may be dead.
local function permit(b, g, m, weight)
  local low, ends = ENDLESS, math.min(b.now, m.from - b.horizon) + b.permitfor -- when the member is dropped that is silent from now on
  for _, x in ipairs(b.gens) do
    if x.ends > b.now then low = math.min(low, x.low) end
  end
  if b.stop > 0 then ends = math.min(ends, b.stop) end
  if b.deadman > 0 then ends = math.min(ends, math.max(b.heard, b.started) + b.deadman) end
  if b.left >= 0 then -- what is left of a number of requests lasts as long as this at least
    ends = math.min(ends, b.gens[#b.gens].ends + math.floor(b.left / math.max(1, low) * U * U))
  end
  if low == ENDLESS then return '' end
  local free = low - (b.phi - m.phi)
  local phi = math.max(0, math.min(math.floor(low * weight / b.w), free))
  local from = math.max(m.from, g.t0)
  if phi == 0 or from >= ends then return '' end
  if phi > m.phi then
    b.phi = b.phi + phi - m.phi
    m.phi = phi
  end
  return join({ phi, g.t0, math.floor(m.rank * 0.6180339887 % 1 * U), from, ends }, ':')
end

-- yields: the part of what is granted from r slots per µs on that gives way to the suspects' permits, in millionths.
local function yields(b, r)
  if b.away == 0 then return 0 end
  return math.min(U, math.ceil(b.away / math.max(1, r * U * U) * U))
end
