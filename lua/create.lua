-- create: makes a run's state, once.
--
-- KEYS  1 spec  2 budget  3 workers  4 seen  5 totals  6 snapshots  7 events  8 laws  9 series  10 state of a limiter
--       11 word left by stop for who brings the run back that Redis has lost
-- ARGV  1 spec (JSON)  2 uid  3 1 to replace a run that has ended, else 0  4 lifetime, ms  5 who
--       6 the first fields of the budget: name, value, …
--       With `grantfrom` it is a run that Redis has lost: it goes on at once, but nothing due before that time is granted. If it was stopped
--       meanwhile, it is made as one that is stopped.
-- Returns { CREATED or EXISTS, spec in force, uid in force, phase, ended (µs) }; BROKEN if only a part of the state is there;
--       an error if an argument is wrong.
-- Invariant: of many callers one creates; a run that has not ended is never replaced.

local bad = wrong('create', { 3, 'replace', 0, 1, 4, 'lifetime', 1, MOST })
if bad then return bad end
if not plain(ARGV[2]) then return refuse('create', 'uid') end
local least = { left = -1, stood = -1, horizon = 1, ttl = 1, qmax = 1 }
local need = { pieces = true, min = true, horizon = true, ttl = true, qmax = true }
for i = 6, #ARGV, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  need[name] = nil
  if not (name == 'pieces' and queue(value) or name == 'limit' and gauge(value) or name ~= 'limit' and whole(value, least[name] or 0, MOST)) then
    return refuse('create', 'budget')
  end
end
if next(need) then return refuse('create', 'budget') end

if format('%d', MOST) ~= '9007199254740992' or struct.unpack('<l', struct.pack('<l', MOST)) ~= MOST then
  return redis.error_reply('ERR create: this server cannot write numbers of 53 bits; use Redis on a 64-bit system')
end

local keys = { spec = KEYS[1], budget = KEYS[2], workers = KEYS[3], seen = KEYS[4], totals = KEYS[5], snapshots = KEYS[6], events = KEYS[7],
  laws = KEYS[8], series = KEYS[9], limiter = KEYS[10] }
local clock = redis.call('TIME')
local spec, uid, old = redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], 'uid'), load(keys.budget, clock)
local phase, ended = old and old.phase or '', redis.call('HGET', KEYS[2], 'ended') or '0'
-- Where no worker was left to see the planned end, it has come all the same.
local now = clock[1] * U + clock[2]
if phase == 'running' and old.stop > 0 and now > old.stop + U and redis.call('ZCOUNT', KEYS[4], int(now - U), '(' .. int(ENDLESS)) == 0 then
  phase, ended = 'ended', int(old.stop)
end
if spec and not (ARGV[3] == '1' and (phase == 'ended' or phase == 'stopped')) then
  if not uid then return { 'BROKEN', '', '', '', '0' } end
  return { 'EXISTS', spec, uid, phase, ended }
end
if not spec and uid then return { 'BROKEN', '', '', '', '0' } end
local stopped = redis.call('GET', KEYS[11])
redis.call('DEL', unpack(KEYS))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[4])
-- Nobody, who is never due. A name longer than any worker's makes Redis keep `seen` as a skip list: in the list that it is else, up to 128
-- members, finding a member's new place takes some times as long.
redis.call('ZADD', KEYS[4], int(ENDLESS), string.rep('-', 65))
redis.call('PEXPIRE', KEYS[4], ARGV[4])
local b = { now = now, changed = true, edge = 0, issued = 0, skipped = 0, standby = '', phase = 'waiting', identity = '', recalls = '',
  id = 0, w = 0, n = 0, version = 0, at = 1, stop = 0, left = 0, shift = 0, horizon = 0, ttl = 0, qmax = 0, grown = 0, phi = 0, away = 0,
  thin = 0, beyond = 0, permitfor = 0, deadman = 0, started = 0, heard = 0, stood = 0, grantfrom = 0, gens = {} }
local fields = { 'uid', ARGV[2], 'keep', ARGV[4] }
for i = 6, #ARGV, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  if b[name] then b[name] = tonumber(value) else fields[#fields + 1], fields[#fields + 2] = name, value end
end
b.reach = b.horizon
redis.call('HSET', KEYS[2], unpack(fields))
store(b, keys)
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('XADD', KEYS[7], '*', 't', int(now), 'kind', 'create', 'who', ARGV[5], 'what', ARGV[2])
redis.call('PEXPIRE', KEYS[7], ARGV[4])
if b.grantfrom > 0 then
  local change = changes(b, keys)
  if b.min > 0 then change.start(ARGV[5]) end
  if stopped then
    change.halt({}, max(b.now, b.cutat + 1))
    change.event('stop', stopped, 'while the state was lost')
  end
  store(b, keys)
  change.live()
end
return { 'CREATED', ARGV[1], ARGV[2], 'waiting', '0' }
