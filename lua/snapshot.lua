-- snapshot: stores one worker's snapshot and its part of the run's series in one atomic write, and renews the run's
-- lifetime.
--
-- KEYS  1 budget  2 totals  3 snapshots  4 series  5 spec  6 workers  7 due  then every other key of the run
-- ARGV  1 run uid  2 worker/incarnation  3 cumulative snapshot  4 interval snapshot, '' if the call only brings points
--       5 how many interval snapshots to keep, about: at least this, and three for each member  6 the interval's seq
--       7 the part of the cumulative snapshot that watchers read
--       8 a second of the run  9 a later one: this worker's points between them are complete, and follow  10 its
--       points after those
--       11 pages of the merged series (report/record/columns.go) to which the complete points are added: name, increments, …
-- Returns { status, processes, second }. OK: processes is how many processes of workers have taken part, as far as
--       this server knows; the series has the worker's points up to second. FROM: second is not (8); nothing is
--       written, call again with the points from there on. NOSTATE: the run is not there any more. An error if an
--       argument is wrong.
-- Invariant: nothing is written for a run that was removed or replaced. A seq is stored once. Missing seqs between two
--       that came count as gaps. Each point is added once: how far a worker's points are in the series is stored with
--       them, so both are forgotten together.

local bad = wrong('snapshot', { 5, 'length', 1, MOST, 6, 'seq', 1, MOST, 8, 'from', 0, MOST, 9, 'next', 0, MOST })
if bad then return bad end
if not string.find(ARGV[2] or '', '^%w[%w._-]*/%w[%w._-]*$') then return refuse('snapshot', 'worker/incarnation') end
for i = 11, #ARGV, 2 do
  if not string.find(ARGV[i], '^:%d+:%d+') or not ARGV[i + 1] or #ARGV[i + 1] % 6 ~= 0 then return refuse('snapshot', 'page') end
end

local byte, char, sub, rep, floor = string.byte, string.char, string.sub, string.rep, math.floor

-- add: adds increments to a page. A counter has five bytes, the least significant first. An increment has its
-- counter's number before them.
local function add(page, increments)
  local parts, n, from = {}, 0, 1 -- the parts are the page up to `from`
  for i = 1, #increments, 6 do
    local at, a, b, c, d, e = byte(increments, i, i + 5)
    at = at * 5 + 1
    if at > #page then page = page .. rep('\0', at + 4 - #page) end
    local p, q, r, s, t = byte(page, at, at + 4)
    p = p + a
    if p < 256 and b + c + d + e == 0 then
      parts[n + 1], parts[n + 2], n, from = sub(page, from, at - 1), char(p), n + 2, at + 1
    else
      local x = p + (q + b) * 256 + (r + c) * 65536 + (s + d) * 16777216 + (t + e) * 4294967296
      parts[n + 1] = sub(page, from, at - 1)
      parts[n + 2] = char(x % 256, floor(x / 256) % 256, floor(x / 65536) % 256, floor(x / 16777216) % 256, floor(x / 4294967296) % 256)
      n, from = n + 2, at + 5
    end
  end
  parts[n + 1] = sub(page, from)
  return table.concat(parts)
end

local state = redis.call('HMGET', KEYS[1], 'uid', 'keep')
if state[1] ~= ARGV[1] then return { 'NOSTATE', '0', '0' } end
local who, seq, keep, processes = ARGV[2], tonumber(ARGV[6]), state[2], string.format('%d', redis.call('HLEN', KEYS[6]))
local record = redis.call('HGET', KEYS[4], who) or '0 '
local from = string.match(record, '^(%d+) ')
if not from then error('the series is not whole') end
if from ~= ARGV[8] then return { 'FROM', processes, from } end
if #ARGV > 10 then
  local names = {}
  for i = 11, #ARGV, 2 do names[#names + 1] = ARGV[i] end
  local pages, changed = redis.call('HMGET', KEYS[4], unpack(names)), {}
  for i, name in ipairs(names) do
    changed[2 * i - 1], changed[2 * i] = name, add(pages[i] or '', ARGV[2 * i + 10])
  end
  redis.call('HSET', KEYS[4], unpack(changed))
end
if ARGV[9] .. ' ' .. ARGV[10] ~= record then redis.call('HSET', KEYS[4], who, ARGV[9] .. ' ' .. ARGV[10]) end
local done = { 'OK', processes, ARGV[9] }
local known = tonumber(redis.call('HGET', KEYS[2], who .. ':seq') or 0)
if seq <= known or ARGV[4] == '' then return done end
-- If nothing is known of a worker, Redis has forgotten everything: the stream, and the gaps in it.
if known > 0 and seq > known + 1 then redis.call('HINCRBY', KEYS[2], who .. ':gaps', seq - known - 1) end
redis.call('HSET', KEYS[2], who, ARGV[3], who .. ':seq', ARGV[6], who .. ':counts', ARGV[7])
local length = math.max(tonumber(ARGV[5]), 3 * redis.call('ZCARD', KEYS[7]))
redis.call('XADD', KEYS[3], 'MAXLEN', '~', length, '*', 'w', who, 's', ARGV[4])
-- Once a second is enough for all workers together. The series is made last: until it is there, and for a new worker,
-- all lifetimes are renewed.
if known == 0 or redis.call('PTTL', KEYS[4]) < keep - 1000 then
  for i = 1, #KEYS do redis.call('PEXPIRE', KEYS[i], keep) end
end
return done
