-- snapshot: one worker's snapshot of one second, in one atomic write, and the run's lifetime renewed.
--
-- KEYS  1 budget  2 totals  3 snapshots  4 series  5 spec  6 workers  7 seen  then every other key of the run
-- ARGV  1 run uid  2 worker/incarnation  3 cumulative snapshot  4 interval snapshot  5 about how many of the latter to keep, at least: three for
--         each member
--       6 the interval's seq  7 1 if the points are all there are, so that older ones are forgotten, else 0
--       8 series points: index, value, …
-- Returns { status, processes }: OK, with how many processes of workers have taken part so far, as far as this server knows;
--       REWRITE if snapshots before this one are missing, and with them maybe points: nothing is written, come again
--       with all of them; NOSTATE if the run is not there any more; an error if an argument is wrong.
-- Invariant: nothing is written for a run that was removed or replaced; a seq is stored once, and those that are missing
--       between two that came are counted as gaps. After OK the points are whole, whatever Redis has forgotten.

local bad = wrong('snapshot', { 5, 'length', 1, MOST, 6, 'seq', 1, MOST, 7, 'forget', 0, 1 })
if bad then return bad end
if not string.find(ARGV[2] or '', '^%w[%w._-]*/%w[%w._-]*$') then return refuse('snapshot', 'worker/incarnation') end
for i = 8, #ARGV, 2 do
  if not whole(ARGV[i], 0, 1023) or not ARGV[i + 1] then return refuse('snapshot', 'series point') end
end

local state = redis.call('HMGET', KEYS[1], 'uid', 'keep')
if state[1] ~= ARGV[1] then return { 'NOSTATE', '0' } end
local who, seq, keep = ARGV[2], tonumber(ARGV[6]), state[2]
local known = tonumber(redis.call('HGET', KEYS[2], who .. ':seq') or 0)
local done = { 'OK', string.format('%d', redis.call('HLEN', KEYS[6])) }
if seq <= known then return done end
if seq > known + 1 then
  if ARGV[7] ~= '1' then return { 'REWRITE', '0' } end
  -- Of whom nothing is known, everything was forgotten: the stream and the gaps in it too.
  if known > 0 then redis.call('HINCRBY', KEYS[2], who .. ':gaps', seq - known - 1) end
end
redis.call('HSET', KEYS[2], who, ARGV[3], who .. ':seq', ARGV[6])
local length = math.max(tonumber(ARGV[5]), 3 * redis.call('ZCARD', KEYS[7]))
redis.call('XADD', KEYS[3], 'MAXLEN', '~', length, '*', 'w', who, 's', ARGV[4])
if ARGV[7] == '1' then
  local old = {}
  for i = 0, 1023 do old[i + 1] = who .. '/' .. i end
  redis.call('HDEL', KEYS[4], unpack(old))
end
for i = 8, #ARGV, 2 do redis.call('HSET', KEYS[4], who .. '/' .. ARGV[i], ARGV[i + 1]) end
-- Once a second is enough for all workers together. The series is looked at because it is made last; as long as it is not there, and for who is
-- new, all lifetimes are renewed.
if known == 0 or redis.call('PTTL', KEYS[4]) < keep - 1000 then
  for i = 1, #KEYS do redis.call('PEXPIRE', KEYS[i], keep) end
end
return done
