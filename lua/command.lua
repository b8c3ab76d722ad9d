-- command: changes a run: start, set-rate, set-burst, pause, resume, stop; or only says that a controller is there: touch,
-- and guard, which also sets the run's dead-man's switch.
--
-- KEYS  1 budget  2 workers  3 seen  4 events  5 laws  6 state of the run's limiter, whether it has one or not
--       7 snapshots
-- ARGV  1 run uid  2 command id; again-…: what a worker repeats because it was forgotten
--       3 kind: start, set-rate, set-burst, pause, resume, stop, touch, guard  4 who  5 what, for the event stream
--       6 wake-up channel  7 pieces, for set-rate; the burst, for set-burst; µs of silence, for guard  8 the generation they were computed for, 0 = any
-- Returns { status, t0, version }: OK; SAME (it was so already). The same command id gets the same answer again;
--       WAITING (nothing to pause or resume yet); RETRY (another generation is in force now); ENDED; NOSTATE; NONE (no limiter whose
--       burst that would be). An error if an argument is wrong.
-- Invariant: a command id acts once; a change recalls every leased slot due at or after its t0, and t0 only grows; a full server refuses
--       neither pause nor stop.

local clock = redis.call('TIME')
local keys = { budget = KEYS[1], workers = KEYS[2], seen = KEYS[3], events = KEYS[4], laws = KEYS[5], limiter = KEYS[6] }
local uid, id, kind, who, what, channel, plan, expected =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8])

local bad = wrong('command', { 8, 'generation', 0, MOST })
if bad then return bad end
if not plain(id) then return refuse('command', 'id') end
local kinds = { start = true, pause = true, resume = true, stop = true, touch = true, guard = true, ['set-rate'] = true, ['set-burst'] = true }
if not kinds[kind] then return refuse('command', 'kind') end
if kind == 'set-rate' and not queue(plan) then return refuse('command', 'pieces') end
if kind == 'set-burst' and not whole(plan, 1, 1000000000) then return refuse('command', 'burst') end
if kind == 'guard' and not whole(plan, 1, MOST) then return refuse('command', 'silence') end

local b = load(keys.budget, clock)
if not b or b.uid ~= uid then return { 'NOSTATE', '0', '0' } end
local change = changes(b, keys)
for _, done in ipairs(change.split(redis.call('HGET', keys.budget, 'commands') or '', ';')) do
  local f = change.split(done, ',')
  if f[1] == id then return { f[4], f[2], f[3] } end
end
if kind == 'pause' or kind == 'stop' then
  -- On a full server what only watchers read makes room, also for the workers' last reports.
  if type(redis.pcall('HSET', keys.budget, 'uid', uid)) == 'table' then redis.call('XTRIM', KEYS[7], 'MAXLEN', '0') end
end
if b.phase == 'running' or b.phase == 'paused' then
  settle(b, keys, 0)
  b.heard, b.changed = b.now, true
  store(b, keys)
end
if kind == 'guard' and b.phase ~= 'ended' and b.phase ~= 'stopped' then
  b.deadman, b.changed = tonumber(plan), true
  store(b, keys)
end
if kind == 'touch' or kind == 'guard' then return { 'SAME', int(b.now), int(b.version) } end
if b.phase == 'ended' or (b.phase == 'stopped' and kind ~= 'stop') then return { 'ENDED', int(b.ended), int(b.version) } end
local limiter = kind == 'set-burst' and redis.call('HGET', keys.budget, 'limit') or nil
if kind == 'set-burst' and not (limiter and find(limiter, '^%d+:0:')) then return { 'NONE', '0', int(b.version) } end
local newest = b.gens[#b.gens]
if expected > 0 and newest and newest.id ~= expected then return { 'RETRY', '0', '0' } end
if string.sub(id, 1, 6) == 'again-' and change.latest() ~= b.renewed then return { 'RETRY', '0', '0' } end -- it was told something itself

local all = change.members()
local lead = LEAD
for _, m in pairs(all) do
  if m.state == 'active' then lead = max(lead, m.rtt + 5000) end
end
local t0 = max(b.now + lead, b.cutat + 1, b.started)

local act = {}

-- The next call of a member starts the run, with those that are there; without one, the first that comes.
act['start'] = function()
  if b.phase ~= 'waiting' or b.min == 1 then return false end
  b.min = 1
  return true
end

act['set-rate'] = function()
  redis.call('HSET', keys.budget, 'pieces', plan)
  b.loop, b.stood = 0, b.phase == 'paused' and -2 or -1
  if b.phase == 'waiting' then
    b.piece = 0
  elseif b.phase == 'paused' then
    b.rest, b.piece = change.split(plan, ';')[1], 1
  else
    local low, recalls, revoked = change.low(), b.recalls, b.revoked
    local _, c = change.cut(all, t0)
    change.go(change.pieces()[1], t0, c, 1)
    -- To more than they were given for, permits of before a loss go on. Nothing was granted yet that has to be recalled.
    if b.now + b.reach < b.grantfrom and change.low() >= low then b.recalls, b.revoked = recalls, revoked end
  end
  return true
end

-- What is leased already stays: the burst is that of the next grant.
act['set-burst'] = function()
  local settings = plan .. string.match(limiter, ':.*')
  if settings == limiter then return false end
  redis.call('HSET', keys.budget, 'limit', settings)
  return true
end

act['pause'] = function()
  if b.phase == 'waiting' then return nil end
  if b.phase ~= 'running' then return false end
  local g, c = change.cut(all, t0)
  b.rest, b.restc, b.piece, b.pausedat, b.phase = change.text(change.rest(g, t0)), c, g.piece, t0, 'paused'
  return true
end

act['resume'] = function()
  if b.phase == 'waiting' and b.grantfrom > 0 and b.min == 0 then return act['start']() end -- it was paused when its state was lost
  if b.phase == 'waiting' then return nil end
  if b.phase ~= 'paused' then return false end
  if b.stop > b.pausedat then b.stop = b.stop + t0 - b.pausedat end
  if b.stood < 0 then b.stood = -1 else b.stood = b.stood + t0 - b.pausedat end
  b.cutat, b.phase = t0, 'running'
  change.go(change.piece(b.rest), t0, b.restc, b.piece)
  b.rest = ''
  return true
end

act['stop'] = function()
  if b.phase == 'stopped' then return false end
  change.halt(all, t0)
  return true
end

if kind == 'start' then t0 = b.started end
if kind == 'set-burst' then t0 = b.now end
if string.sub(kind, 1, 4) == 'set-' and (b.phase == 'waiting' or b.phase == 'paused') then t0 = 0 end -- in force when the schedule goes on
local status, done = 'SAME', act[kind]()
if done == nil then return { 'WAITING', '0', int(b.version) } end
if done then
  status = 'OK'
  if kind ~= 'set-burst' then b.renewed = MOST end -- whatever was forgotten before this
  b.version = b.version + 1
  change.event(kind, who, what)
  for name, m in pairs(all) do redis.call('HSET', keys.workers, name, record(m)) end
end
b.changed = true
local commands = change.split(redis.call('HGET', keys.budget, 'commands') or '', ';')
commands[#commands + 1] = table.concat({ id, int(t0), int(b.version), status }, ',')
while #commands > 16 do table.remove(commands, 1) end
redis.call('HSET', keys.budget, 'commands', table.concat(commands, ';'))
store(b, keys)
redis.call('PUBLISH', channel, int(b.version))
return { status, int(t0), int(b.version) }
