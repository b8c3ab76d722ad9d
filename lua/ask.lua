-- ask: renews, raises, lowers or verifies the row of a run: what it may send at an endpoint.
--
-- KEYS  1 budgets  2 rows
-- ARGV  1 host, HOST or HOST:PORT  2 run, its uid  3 wanted rate; lower than before gives room back
--       4 rate, 5 version, 6 end of the row as the run knows it; zeros: it knows none
--       7 what people are shown of the row  8 … the budgets that the run knows: name, rate, its version, frozen (0 or 1),
--       its version
-- Returns { status, rate, version, end, bounded, cap, left, now, … the budgets that fit the host, as in 8 }. status: OK; FULL,
--       there is no room for what is wanted, all else is as it was; QUIET, as FULL, because this server may have
--       forgotten rows; FROZEN, as FULL. version 0: there is no row. bounded: 1 = a budget bounds the rate, or is
--       frozen. cap: the run has to come down to this, 0 = it has not. left: how much room there is for the run, if
--       not all that is wanted. An error if an argument is wrong.
-- Invariant: a row is raised only if all rows of its budget together stay within it. A row has another version after
--       each raise, and only falls within one. A call with another version never lowers a row, but for a newer claim.

local bad = wrong('ask', { 3, 'wanted rate', 0, MOST / 2, 4, 'rate', 0, MOST / 2, 5, 'version', 0, MOST, 6, 'end', 0, MOST })
if bad then return bad end
for i = 8, #ARGV, 5 do
  if not hostname(ARGV[i]) then return refuse('ask', 'budget') end
  bad = wrong('ask', { i + 1, 'rate of a budget', 0, MOST / 2, i + 2, 'version of a rate', 0, MOST, i + 3, 'frozen', 0, 1,
    i + 4, 'version of a freeze', 0, MOST })
  if bad then return bad end
end
if not hostname(ARGV[1]) then return refuse('ask', 'host') end
if not plain(ARGV[2]) then return refuse('ask', 'run') end

local host, want = ARGV[1], tonumber(ARGV[3])
local right = { rate = tonumber(ARGV[4]), version = tonumber(ARGV[5]), ending = tonumber(ARGV[6]) }
local at = host .. ' ' .. ARGV[2]

-- believe: takes what a run says of a row that this server may have forgotten. Such a call may be a late copy, from before
-- the run lowered its right. So of two the newer one counts.
local function believe(r)
  if l.quiet == 0 or right.version == 0 or right.ending < l.first + MARGIN then return end
  if r.claim == 0 and right.version > r.version then
    r.rate, r.claim, r.claimEnd = max(r.rate, right.rate), right.version, right.ending
  elseif r.claim > 0 and (right.version > r.claim or (right.version == r.claim and right.ending > r.claimEnd)) then
    r.rate, r.claim, r.claimEnd = right.rate, right.version, right.ending
  end
end

-- raise: the status, and how much room there is.
local function raise(group, rate, frozen, r)
  local left = max(0, rate - (sums()[group] or 0) + r.rate)
  if r.cap > 0 then left = math.min(left, r.cap) end
  if frozen then return 'FROZEN', left end
  if rate < ENDLESS and l.quiet > 0 then return 'QUIET', left end
  if rate < ENDLESS and want > left then return 'FULL', left end
  return 'OK', left
end

load()
local known = 0 -- the newest change that the run knows
for i = 8, #ARGV, 5 do
  local b = { rate = tonumber(ARGV[i + 1]), version = tonumber(ARGV[i + 2]), frozen = tonumber(ARGV[i + 3]), freeze = tonumber(ARGV[i + 4]) }
  known = max(known, b.version, b.freeze)
  adopt(ARGV[i], b)
end
local names, frozen = fitting(host)
local group, rate = budget(host)
local r, status, left = rows[at], 'OK', 0

local function answer(given, version, ending, cap)
  store()
  local out = { status, int(given), int(version), int(ending), (frozen or rate < ENDLESS) and '1' or '0', int(cap), int(left), int(l.now) }
  for _, name in ipairs(names) do
    local b = budgets[name]
    for _, x in ipairs({ name, int(b.rate), int(b.version), int(b.frozen), int(b.freeze) }) do out[#out + 1] = x end
  end
  return out
end

if not r and want == 0 then return answer(0, 0, 0, 0) end
stale[at] = true
if not r then
  r = { rate = 0, version = 0, ending = 0, cap = 0, reported = 0, claim = 0, claimEnd = 0, host = host }
  rows[at] = r
  believe(r)
  r.version = fresh(right.version)
elseif r.version ~= right.version then
  believe(r)
  r.version = fresh(max(r.version, right.version))
elseif want < r.rate then
  r.rate = want
end
if want > r.rate then
  status, left = raise(group, rate, frozen, r)
  if status == 'OK' then
    r.rate, r.version = want, fresh(r.version)
  end
end
if r.rate == 0 then
  rows[at] = nil
  return answer(0, 0, 0, 0)
end
if r.rate <= r.cap then r.cap = 0 end
r.reported, r.ending, r.people = known, l.now + TTL, ARGV[7] or ''
return answer(r.rate, r.version, r.ending, r.cap)
