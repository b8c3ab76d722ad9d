-- order: changes a run: start, set-rate, scale, cap, set-burst, pause, resume, stop. touch only says that a controller is
-- there; deadman also sets the run's dead-man's switch.
--
-- KEYS  1 budget  2 workers  3 due  4 byLoad  5 unowned  6 laws  7 log  8 events  9 snapshots
-- ARGV  1 run uid  2 wake-up channel  3 order id  4 kind: start, set-rate, scale, cap, set-burst, pause, resume,
--       stop, touch, deadman  5 who  6 what, for the event stream
--       7 for set-rate: pieces; for scale: the millionths of the plan's rates to send; for cap: the most that it may
--       be until the next set-rate; for set-burst: the burst; for deadman: µs of silence
--       8 the last law of a command when the pieces were worked out, 0 = any
-- Returns { status, t0, law }. t0: since when it is in force, or when the run ended; 0 = when it begins. With RESERVE it
--       is the highest rate that the run would have, requests per 1,000,000 s. law: the last
--       law of a command. status: OK; SAME (it was so already); WAITING (nothing to pause or resume yet); RETRY
--       (another command came in between); RESERVE (the run has no right to send so much: ask the ledger of budgets);
--       FROZEN (nobody may send at its endpoint); ENDED; NONE (no limiter with a burst); NOSTATE. The same order id gets the
--       same answer again. An error if an argument is wrong.
-- Invariant: an order id acts once; a command's law begins after all before; all workers are sent all laws; a full
--       server refuses neither pause nor stop.

local uid, channel, id, kind, who, what, plan, expected = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8])

local bad = wrong('order', { 8, 'law', 0, MOST })
if bad then return bad end
if not plain(id) then return refuse('order', 'id') end
local kinds = { scale = true, cap = true, start = true, pause = true, resume = true, stop = true, touch = true, deadman = true, ['set-rate'] = true, ['set-burst'] = true }
if not kinds[kind] then return refuse('order', 'kind') end
if kind == 'set-rate' and not queue(plan) then return refuse('order', 'pieces') end
if (kind == 'scale' or kind == 'cap') and not whole(plan, 1, 1000000) then return refuse('order', 'part') end
if kind == 'set-burst' and not whole(plan, 1, 1000000000) then return refuse('order', 'burst') end
if kind == 'deadman' and not whole(plan, 1, MOST) then return refuse('order', 'silence') end

local b = load(channel)
if b.uid ~= uid then return { 'NOSTATE', '0', '0' } end
local orders = redis.call('HGET', keys.budget, 'commands') or ''
for done, t0, law, status in string.gmatch(orders, '([^,;]+),(%d+),(%d+),(%u+)') do
  if done == id then return { status, t0, law } end
end
if kind == 'pause' or kind == 'stop' then
  -- If the server is full, the stream that only watchers read makes room, also for the workers' last reports.
  if type(redis.pcall('HSET', keys.budget, 'uid', uid)) == 'table' then redis.call('XTRIM', KEYS[9], 'MAXLEN', '0') end
end
local all = fleet(b)
if b.begun == 0 and (kind == 'pause' or kind == 'resume') then return { 'WAITING', '0', '0' } end
all.advance()
b.controllerAt = b.now

-- setBurst: sets the burst of the next grant; what was granted stays. In a pause and before the start it is in force
-- when the schedule goes on.
local function setBurst()
  local limit, last = redis.call('HGET', keys.budget, 'limit'), b.begun == 1 and all.newest() -- in force in a moment
  if all.ended() or (last and last.phase == all.STOPPED) then return 0, 'ENDED' end
  if not (limit and string.find(limit, '^%d+:0:')) then return 0, 'NONE' end
  local changed = plan .. string.match(limit, ':.*')
  if changed == limit then return 0, 'SAME' end
  redis.call('HSET', keys.budget, 'limit', changed)
  return last and last.phase ~= all.PAUSED and b.now or 0, 'OK'
end

local int, status, t0 = function(x) return string.format('%d', x) end, 'SAME', 0
if kind == 'deadman' and not all.ended() then b.deadman = tonumber(plan) end
if kind == 'touch' or kind == 'deadman' then
  all.store()
  return { status, int(t0), int(b.command) }
end
local scales = kind == 'scale' or kind == 'cap'

-- refused: the status of a change that the run's rights do not allow, or nil.
local function refused()
  -- A cap never raises a rate, and a run that was paused by a freeze must be able to come down before it goes on.
  if kind == 'pause' or kind == 'stop' or kind == 'cap' or kind == 'set-burst' or all.ended() then return end
  if b.frozen > 0 then return 'FROZEN' end
  local _, factor, pieces = all.open(all.newestPlan())
  if kind == 'set-rate' then factor, pieces = 1000000, plan end
  if scales then factor = select(2, all.aim(kind, tonumber(plan), all.newestPlan())) end
  local want = all.peakOf(pieces, factor)
  if (want > b.peak or kind == 'start') and (want > b.allow or b.rightEnds <= b.now) then return 'RESERVE', want end
end

local to = scales and tonumber(plan) or plan
local refusal, want = refused()
if expected > 0 and expected ~= b.command then status = 'RETRY'
elseif refusal then status, t0 = refusal, want or 0
elseif kind == 'set-burst' then t0, status = setBurst()
elseif b.begun == 1 then t0, status = all.change(kind, to)
else t0, status = all.early(kind, to) end
if kind == 'pause' and b.frozen == 2 then b.frozen = 1 end -- the end of the freeze does not resume it
all.weigh()
if status == 'OK' then
  all.event(kind, who, what)
  if b.begun == 1 and kind ~= 'set-burst' then all.everyone() end
end
if status == 'OK' or status == 'SAME' then
  orders = orders .. id .. ',' .. int(t0) .. ',' .. int(b.command) .. ',' .. status .. ';'
  if select(2, string.gsub(orders, ';', '')) > 16 then orders = string.sub(orders, string.find(orders, ';', 1, true) + 1) end
  redis.call('HSET', keys.budget, 'commands', orders)
end
all.store()
return { status, int(t0), int(b.command) }
