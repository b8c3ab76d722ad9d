-- grant: asks the limiter of a run for permission to send slots that the caller owns. Put behind the limiter, whose
-- two functions it calls.
--
-- renew.lua decides which worker owns a slot. The limiter only says how many of the caller's next slots may be sent
-- now.
--
-- KEYS  1 budget; its field `limit` has the limiter's settings, "burst:window:option:even:together", all
--       integers (spec.Spec):
--       burst: 0 = what the rate makes in half a second · window: µs if the limiter counts in windows, else 0
--       option: the limiter's own (ARGV 6 of take.lua) · even, together: for the workers
--       2 state of the limiter
-- ARGV  1 run uid  2 n, slots that it asks for; 0 = it only asks whether the run is there
--       3 the rate of the law of the first slot: so many requests  4 in so many seconds
-- Returns { now, granted, retry, burst }, times in µs. granted: how many of n may be sent. retry: if that is less than
--       n, in how many µs one more may be. burst: how many a rested limiter lets through at once. NOSTATE if the run
--       is not there; an error if an argument is wrong.
-- Invariant: the limiter's own, for all grants to the fleet. A repeated call is a new call: if its reply is lost, so
--       is the grant.

local clock = redis.call('TIME')
local bad = wrong('grant', { 2, 'n', 0, COUNT, 3, 'rate', 1, MOST, 4, 'rate', 1, 1000000 })
if bad then return bad end
local n, num, den = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local budget = redis.call('HMGET', KEYS[1], 'uid', 'limit', 'granted')
if budget[1] ~= ARGV[1] then return 'NOSTATE' end
local burst, window, option = string.match(budget[2] or '', '^(%d+):(%d+):(%d+):%d:%d$')
if not burst then error('the budget is not whole') end
burst, window, option = tonumber(burst), tonumber(window), tonumber(option)

-- The limit for this rate. A window has a whole number of slots: spec.Spec checks that. A burst whose fractions are
-- not exact at this rate is halved until they are.
local limit = { count = num, window = den * 1000000, burst = burst, option = option, name = '0' }
if window > 0 then
  limit.count, limit.window = math.floor(num / den * (window / 1000000) + 0.5), window
  limit.burst = limit.count
elseif burst == 0 then
  limit.burst = math.max(1, math.floor(num / den / 2))
end
while not capacity(limit) do limit.burst = math.max(1, math.floor(limit.burst / 2)) end

local now, granted, retry, _ = tonumber(clock[1]) * 1000000 + tonumber(clock[2]), 0, 0, nil
if n > 0 then
  local last = tonumber(budget[3] or 0)
  -- If the clock went back, the limiter's times mean nothing any more.
  if now < last - 500000 then redis.call('DEL', KEYS[2]) end
  granted, _, retry = decide(KEYS[2], now, limit, n, false)
  -- With `even`: in 1/rate, not when the last of these may go.
  if granted > 0 and string.find(budget[2], ':1:%d$') then retry = math.ceil(limit.window / limit.count) end
  if granted == n then retry = 0 end
  if now > last or now < last - 500000 then redis.call('HSET', KEYS[1], 'granted', digits(now)) end
end
return { now, granted, retry, limit.burst }
