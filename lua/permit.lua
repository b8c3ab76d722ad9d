-- permit: what members may be firing while Redis does not hear of them. Included after changes.lua.
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
  if type(info) ~= 'string' then return '' end
  local _, last = find(info, 'master_replid:', 1, true)
  return last and string.match(info, '^%w*', last + 1) or ''
end

-- suspects: finds those that have become it. own is the caller's record, called worker; oldest, whose permit begins first.
local function suspects(b, keys, worker, own, oldest)
  local edge = max(b.edge, b.now + floor(0.4 * b.reach))
  if oldest < edge then
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.seen, int(b.edge), '(' .. int(edge))) do
      local m = own
      if name ~= worker then m = parse(redis.call('HGET', keys.workers, name)) end
      if m.state == 'active' then changes(b, keys).suspect(name, m) end
    end
  end
  b.edge = edge
end

-- back: all goes on as new generations, because the clock went back too far, or because this server is another one, or behind what a member
-- knows. b.renewed is the latest recall while nothing was told since.
local function back(b, keys, other)
  local change = changes(b, keys)
  local untold = change.latest() == b.renewed
  if b.time < b.last - b.reach then
    local by, last = b.last - b.time, b.last
    for _, name in ipairs({ 'started', 'stop', 'pausedat', 'heard', 'grown', 'cutat' }) do
      if b[name] > 0 then b[name] = b[name] - by end
    end
    b.now = b.time
    change.anew(last, b.now + b.reach, 'clock')
  else
    local t0 = max(b.now + b.reach, b.cutat + 1)
    change.anew(t0, t0, 'failover')
  end
  if other or untold then b.renewed = change.latest() end
end

-- settle: notices that the server is another one, that its clock went back too far, that it has forgotten a generation which a member
-- knows (known: the latest one, or 0), and that no controller was heard of. Returns whether records of members have changed.
local function settle(b, keys, known)
  local id, behind, version = identity(), known > b.id and b.phase == 'running', b.version
  local other = id ~= '' and b.identity ~= '' and id ~= b.identity
  if known > b.id then b.id, b.changed = known, true end
  if b.time < b.last - b.reach or other or behind then back(b, keys, other) end
  if id ~= '' and id ~= b.identity then b.identity, b.changed = id, true end
  if b.now - b.last > U then b.heard, b.changed = b.heard + b.now - b.last, true end -- nobody could be heard
  if b.deadman > 0 and (b.phase == 'running' or b.phase == 'paused') and b.now > max(b.heard, b.started) + b.deadman then
    local change = changes(b, keys)
    local all = change.members()
    change.halt(all, max(b.now + LEAD, b.cutat + 1))
    for name, m in pairs(all) do redis.call('HSET', keys.workers, name, record(m)) end
    b.version = b.version + 1
    change.event('deadman', '-', 'no controller was heard of for ' .. int(floor(b.deadman / U + 0.5)) .. ' s')
  end
  return b.version > version
end

-- permit: what member m of this weight may fire by itself from m.from on, as text; '' for nothing. Its rate is at most the
-- share, and what the others do not hold. A reply to a join has none: who makes only one call may be dead.
local function permit(b, g, m, weight)
  local low, ends = ENDLESS, min(b.now, m.from - b.horizon) + b.permitfor -- when the member is dropped that is silent from now on
  for _, x in ipairs(b.gens) do
    if x.ends > b.now then low = min(low, x.low) end
  end
  if b.stop > 0 then ends = min(ends, b.stop) end
  if b.deadman > 0 then ends = min(ends, max(b.heard, b.started) + b.deadman) end
  if b.left >= 0 then -- what is left of a number of requests lasts as long as this at least
    ends = min(ends, b.gens[#b.gens].ends + floor(b.left / max(1, low) * U * U))
  end
  if low == ENDLESS then return '' end
  local free = low - (b.phi - m.phi)
  local phi = max(0, min(floor(low * weight / b.w), free))
  local from = max(m.from, g.t0)
  if phi == 0 or from >= ends then return '' end
  if phi > m.phi then
    b.phi, b.changed = b.phi + phi - m.phi, true
    m.phi = phi
  end
  return format('%d:%d:%d:%d:%d', phi, g.t0, floor(m.rank * 0.6180339887 % 1 * U), from, ends)
end

-- yields: the part of what is granted from r slots per µs on that gives way to the suspects' permits, in millionths.
local function yields(b, r)
  if b.away == 0 then return 0 end
  return min(U, ceil(b.away / max(1, r * U * U) * U))
end
