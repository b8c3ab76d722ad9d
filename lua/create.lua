-- create: makes a run's state, once.
--
-- KEYS  1 spec  2 budget  3 workers  4 seen  5 totals  6 snapshots  7 events  8 laws  9 series
-- ARGV  1 spec (JSON)  2 uid  3 1 to replace a run that has ended, else 0  4 lifetime, ms  5 who
--       6 the first fields of the budget: name, value, …
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
  if not (name == 'pieces' and queue(value) or whole(value, least[name] or 0, MOST)) then
    return refuse('create', 'budget')
  end
end
if next(need) then return refuse('create', 'budget') end

local clock = redis.call('TIME')
local spec, budget = redis.call('GET', KEYS[1]), redis.call('HMGET', KEYS[2], 'uid', 'phase', 'ended', 'stop')
local phase, ended, stop = budget[2], budget[3] or '0', tonumber(budget[4] or 0)
-- Where no worker was left to see the planned end, it has come all the same.
local now = clock[1] * 1000000 + clock[2]
if phase == 'running' and stop > 0 and now > stop + 1000000
  and redis.call('ZCOUNT', KEYS[4], string.format('%.0f', now - 1000000), '+inf') == 0 then
  phase, ended = 'ended', budget[4]
end
if spec and not (ARGV[3] == '1' and (phase == 'ended' or phase == 'stopped')) then
  if not budget[1] then return { 'BROKEN', '', '', '', '0' } end
  return { 'EXISTS', spec, budget[1], phase or '', ended }
end
if not spec and budget[1] then return { 'BROKEN', '', '', '', '0' } end
redis.call('DEL', unpack(KEYS))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[4])
local fields = { 'uid', ARGV[2], 'phase', 'waiting', 'last', string.format('%.0f', clock[1] * 1000000 + clock[2]), 'keep', ARGV[4] }
for i = 6, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', KEYS[2], unpack(fields))
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('XADD', KEYS[7], '*', 't', string.format('%.0f', clock[1] * 1000000 + clock[2]), 'kind', 'create', 'who', ARGV[5], 'what', ARGV[2])
redis.call('PEXPIRE', KEYS[7], ARGV[4])
return { 'CREATED', ARGV[1], ARGV[2], 'waiting', '0' }
