-- samples: stores the requests that one process of a worker kept as evidence.
--
-- KEYS  1 budget  2 samples
-- ARGV  1 run uid  2 worker/incarnation  3 its samples, in place of those before  4 the most bytes of all processes
-- Returns OK; FULL: the samples alone are more than that, and nothing is written; NOSTATE: the run is not there any more,
--       and nothing is written; an error if an argument is wrong.
-- Invariant: nothing is written for a run that was removed or replaced. All samples together have at most that many
--       bytes: the largest of other processes make room. The samples live as long as the run.

local bad = wrong('samples', { 4, 'most', 1, MOST })
if bad then return bad end
if not string.find(ARGV[2] or '', '^%w[%w._-]*/%w[%w._-]*$') then return refuse('samples', 'worker/incarnation') end
local most, text = tonumber(ARGV[4]), ARGV[3]
local state = redis.call('HMGET', KEYS[1], 'uid', 'keep')
if state[1] ~= ARGV[1] then return 'NOSTATE' end
if #text > most then return 'FULL' end
-- The field ':bytes' has the sum, so that a call does not depend on how many workers there are.
local total = tonumber(redis.call('HGET', KEYS[2], ':bytes') or 0) + #text - #(redis.call('HGET', KEYS[2], ARGV[2]) or '')
if total > most then
  local sizes, all = {}, redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    if all[i] ~= ARGV[2] and all[i] ~= ':bytes' then sizes[#sizes + 1] = { all[i], #all[i + 1] } end
  end
  table.sort(sizes, function(a, b) return a[2] > b[2] or a[2] == b[2] and a[1] < b[1] end)
  for _, one in ipairs(sizes) do
    if total <= most then break end
    redis.call('HDEL', KEYS[2], one[1])
    total = total - one[2]
  end
end
redis.call('HSET', KEYS[2], ARGV[2], text, ':bytes', string.format('%d', total))
redis.call('PEXPIRE', KEYS[2], state[2])
return 'OK'
