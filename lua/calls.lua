-- calls: reads the arguments of a renewal that says more than that its worker is there. Included in renew.lua, behind
-- check.lua, as the body of a function. It returns what the call says, or nil and an error that names the first wrong
-- argument.

local RANGE_CALL = '<llll'

-- readRanges: the ranges of a text. If `ordered`, they must be in order and must not overlap.
local function readRanges(text, ordered)
  local out, at, last = {}, 1, 0
  if #text % 32 ~= 0 then return nil end
  while at <= #text do
    local lo, hi, g, k, behind = struct.unpack(RANGE_CALL, text, at)
    if lo < last or hi <= lo or hi > 16777216 or math.min(g, k) < 0 or math.max(g, k) > MOST then return nil end
    if ordered then last = hi end
    out[#out + 1], at = { lo = lo, hi = hi, fg = g, fk = k }, behind
  end
  return out
end

local c = { worker = b.worker, inc = b.inc, epoch = b.epoch, claim = nil, releases = {}, laws = '', plans = {} }
if not plain(c.worker) or not plain(c.inc) then return nil, refuse('renew', 'worker or incarnation') end
if c.epoch ~= '' and not plain(c.epoch) then return nil, refuse('renew', 'epoch') end
if #b.numbers ~= bytes(CALL) then return nil, refuse('renew', 'numbers') end
$of(call) = struct.unpack(CALL, b.numbers)
for _, rule in ipairs({ { 'seq', 1 }, { 'weight', 1, 1000000 }, { 'known', 0 }, { 'version', 0 }, { 'leaving', 0, 2 }, { 'p', -1 }, { 'clockEpoch', 0 } }) do
  local x = c[rule[1]]
  if x < rule[2] or x > (rule[3] or MOST) then return nil, refuse('renew', rule[1]) end
end
if c.p >= 0 then c.claim = {} end
if not ARGV[7] then return c end
local claim
c.releases, claim, c.laws = readRanges(ARGV[7], false), readRanges(ARGV[8] or '', true), ARGV[9] or ''
if not c.releases then return nil, refuse('renew', 'releases') end
if not claim or (#claim > 0 and not c.claim) then return nil, refuse('renew', 'claim') end
if c.claim then c.claim = claim end
c.plans = readPlans(10)
if not c.plans then return nil, refuse('renew', 'plan') end
if not lawful(c.laws, c.plans) then return nil, refuse('renew', 'laws') end
return c
