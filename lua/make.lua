-- make: creates the state of a run, once.
--
-- KEYS  1 budget  2 workers  3 due  4 byLoad  5 unowned  6 laws  7 log  8 events  9 spec  10 totals  11 snapshots
--       12 series  13 data files  14 note by `stop` for the worker that restores a lost run  15 state of the run's limiter
--       16 answers to queries  17 samples
-- ARGV  1 spec (JSON)  2 uid  3 1 to replace a run that has ended, else 0  4 lifetime, ms  5 who
--       6 the plan, "0:1;pieces" if it loops, else "0:0;pieces"  7 hold: for how long a reply leases, µs
--       8 members to wait for, 0 = for the order start  9 length of the run, µs, 0 = endless
--       10 number of requests, 0 = no limit  11 silence of controllers, µs, after which the run is stopped, 0 = never
--       12 seed of Poisson arrivals, 0 = slots are evenly spaced  13 settings of the run's limiter (grant.lua), empty:
--       it has none  14 wake-up channel  15 rights of the run to send at endpoints that others share, as right.lua
--       stores them, empty: it needs none  16 highest rate by them  17 when they end  18 the server's identity when they
--       were asked for  19 when they must be stored at the latest  20 laws that a worker knows of a run that Redis has
--       lost, empty: a new run  21 … the plans that they name
--       If such a run was stopped in between, it is made as a stopped run, and its workers are sent the laws.
-- Returns { CREATED or EXISTS, spec in force, uid in force }; BROKEN if a part of the state is missing; RESERVE if the
--       rights must be asked for again; an error if an argument is wrong.
-- Invariant: of many callers one creates; a run that has not ended, or is of another version, is never replaced.

local bad = wrong('make', { 3, 'replace', 0, 1, 4, 'lifetime', 1, MOST, 7, 'hold', 1, MOST, 8, 'min', 0, 1000000, 9, 'span', 0, MOST, 10, 'requests', 0, MOST,
  11, 'deadman', 0, MOST, 12, 'seed', 0, 2147483646, 16, 'allow', 0, MOST / 2, 17, 'end of the rights', 0, MOST / 2, 19, 'latest', 0, MOST })
if bad then return bad end
if not plain(ARGV[2]) then return refuse('make', 'uid') end
local loop, pieces = string.match(ARGV[6] or '', '^0:([01]);(.*)$')
if not loop or not queue(pieces) then return refuse('make', 'plan') end
local limit, rights, laws = ARGV[13] or '', ARGV[15], ARGV[20] or ''
if limit ~= '' and not scriptConfig(limit) then return refuse('make', 'limit') end
local plans = readPlans(21)
if not plans then return refuse('make', 'plan') end
if not lawful(laws, plans) then return refuse('make', 'laws') end
if string.format('%d', MOST) ~= '9007199254740992' or struct.unpack('<l', struct.pack('<l', MOST)) ~= MOST then
  return redis.error_reply('ERR make: this server cannot write 53-bit numbers; use Redis on a 64-bit system')
end

-- version: of the form of a run; only a script of the same version can read whether the run has ended.
local function version(text) return string.match(text, '^{"version":(%d+)') end

local spec, b = redis.call('GET', KEYS[9]), load(ARGV[14] or '')
local ended = spec and b.uid and ARGV[3] == '1' and version(spec) == version(ARGV[1]) and fleet(b).ended()
if not spec ~= not b.uid and laws == '' then return { 'BROKEN', '', '' } end -- a worker restores it
if spec and b.uid and not ended then return { 'EXISTS', spec, b.uid } end
if rights ~= '' and laws == '' and (b.identity ~= ARGV[18] or b.time > tonumber(ARGV[19])) then return { 'RESERVE', '', '' } end
local stopped = redis.call('GET', KEYS[14])
redis.call('DEL', unpack(KEYS))
redis.call('SET', KEYS[9], ARGV[1], 'PX', ARGV[4])
local units, restored = 16777216, laws ~= ''
redis.call('HSET', keys.budget, 'uid', ARGV[2], 'keep', ARGV[4], 'plan/0', ARGV[6])
if limit ~= '' then redis.call('HSET', keys.budget, 'limit', limit) end
redis.call('PEXPIRE', keys.budget, ARGV[4])
if restored then redis.call('HSET', keys.budget, 'restored', string.format('%d', b.time)) end
redis.call('ZADD', keys.due, '4503599627370496', SENTINEL_MEMBER)
-- The whole circle is free, and in no target.
redis.call('ZADD', keys.unowned, '0', struct.pack('<llllll', 0, units, 0, 0, 0, 0), '67108864', struct.pack('<ll', 0, units))
local called = restored and b.time or 0
b.epoch, b.last, b.now, b.made = b.identity, called, b.time, true
if restored then -- its workers see another server than before
  b.epoch = '.' .. string.format('%d', b.time)
  b.identity = identity(b.epoch)
end
b.core = string.rep('\0', bytes(CORE))
local all = fleet(b)
for i, name in ipairs({ 'hold', 'min', 'span', 'requests', 'deadman', 'seed' }) do b[name] = tonumber(ARGV[6 + i]) end
b.controllerAt, b.free, b.unassigned, b.allow, b.rightEnds = called, 1, 1, all.ENDLESS, all.ENDLESS
if rights ~= '' then
  redis.call('HSET', keys.budget, 'rights', rights)
  b.allow, b.rightEnds = tonumber(ARGV[16]), tonumber(ARGV[17])
  if restored then all.doubt() end
end
all.learn(laws, plans)
all.weigh()
all.event('create', ARGV[5], ARGV[2])
if restored and stopped then
  all.advance()
  b.controllerAt = b.now
  all.change('stop')
  all.everyone()
  all.event('stop', stopped, 'while the state was lost')
end
all.store()
return { 'CREATED', ARGV[1], ARGV[2] }
