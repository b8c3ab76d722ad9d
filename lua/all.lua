-- all: asks several limiters for permits: each of them grants, or none does. Put behind the limiters: rules[i] has the
-- functions of the i-th.
--
-- KEYS  1 state of the first limiter  2 its limit, as in take.lua  3 … those of the others
-- ARGV  1 n, 0 to 10⁹; 0 only looks  2 all: 1 for all n or none, 0 for as many of n as each can grant
--       3 name of this call, as in take.lua  4 … count, window, burst and option of each limiter
-- Returns granted, remaining, retry_after, reset_after, at of each limiter, one after the other, as take.lua. All grant
--       the same. A limiter that refuses has a retry_after, one that would grant has 0. Errors as take.lua.
-- Invariant: that of each limiter. A call that one of them refuses takes nothing from the others.

local clock = redis.call('TIME')
local bad = wrong('all', { 1, 'n', 0, COUNT, 2, 'all', 0, 1, 3, 'name', 0, MOST - 1 })
if bad then return bad end
local n, all = tonumber(ARGV[1]), tonumber(ARGV[2]) == 1
for i, rule in ipairs(rules) do
  local at = 4 * i
  bad = wrong('all', { at, 'count', 1, COUNT, at + 1, 'window', 1, WINDOW, at + 2, 'burst', 1, COUNT, at + 3, 'option', 0, 1000 })
  if bad then return bad end
  rule.limit = { count = ARGV[at], window = ARGV[at + 1], burst = ARGV[at + 2], option = tonumber(ARGV[at + 3]), name = ARGV[3] }
end
for i = 1, #KEYS, 2 do
  local rule = rules[(i + 1) / 2]
  rule.set = inForce(KEYS[i + 1], rule.limit)
  if rule.set == nil then return refuse('all', 'a limit that was set') end
  rule.most = rule.capacity(rule.limit)
  if not rule.most then return refuse('all', 'burst times window') end
  if all and n > rule.most then return never(n, rule.most) end
end

local now, room = tonumber(clock[1]) * 1000000 + tonumber(clock[2]), n
for i = 1, #KEYS, 2 do
  local rule = rules[(i + 1) / 2]
  rule.answer = { rule.decide(KEYS[i], now, rule.limit, 0, true) }
  rule.free = rule.answer[2]
  if rule.free > 0 and rule.most > rule.limit.burst then rule.free = rule.most end -- it goes into debt
  room = math.min(room, rule.free)
end
if all and room < n then room = 0 end
local reply = {}
for i = 1, #KEYS, 2 do
  local rule = rules[(i + 1) / 2]
  local wanted = all and math.max(1, n) or 1
  if room > 0 then rule.answer = { rule.decide(KEYS[i], now, rule.limit, room, true) } end
  local after = 0
  if room < math.max(1, n) and rule.free - room < wanted then -- it is refused
    local _, _, retry = rule.decide(KEYS[i], now, rule.limit, wanted, true)
    after = retry
  end
  -- What a queue grants has to wait.
  rule.answer[3] = (room > 0 or n == 0) and math.max(rule.answer[3], after) or after
  if rule.set then prolong(KEYS[i + 1], room, rule.answer[4]) end
  for _, x in ipairs(rule.answer) do reply[#reply + 1] = x end
end
return reply
