-- ask: renews, raises, lowers or verifies the row of a run: what it may send at an endpoint.
--
-- KEYS  1 budgets  2 rows
-- ARGV  1 host, HOST or HOST:PORT  2 run, its uid  3 wanted rate; lower than before gives room back
--       4 rate, 5 version, 6 end of the row as the run knows it; zeros: it knows none
--       7 name of its budget as the run knows it, empty: none  8 rate, 9 frozen, 10 version of that
--       11 what people are shown of the row
-- Returns { status, rate, version, end, budget, its rate, frozen, its version, cap, left, now }. status: OK; FULL, there is no
--       room for what is wanted, all else is as it was; QUIET, as FULL, because this server may have forgotten rows;
--       FROZEN, as FULL. version 0: there is no row. cap: the run has to come down to this, 0 = it has not. left: how
--       much room there is for the run, if not all that is wanted. An error if an argument is wrong.
-- Invariant: a row is raised only if all rows of its budget together stay within it. A row has another version after
--       each raise, and only falls within one. A call with another version never lowers a row, but for a newer claim.

local bad = wrong('ask', { 3, 'wanted rate', 0, MOST / 2, 4, 'rate', 0, MOST / 2, 5, 'version', 0, MOST, 6, 'end', 0, MOST, 8, 'rate of the budget', 0, MOST / 2,
  9, 'frozen', 0, 1, 10, 'version of the budget', 0, MOST })
if bad then return bad end
if not hostname(ARGV[1]) then return refuse('ask', 'host') end
if not plain(ARGV[2]) then return refuse('ask', 'run') end
if ARGV[7] ~= '' and not hostname(ARGV[7]) then return refuse('ask', 'budget') end

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
local function raise(name, b, r)
  local left = max(0, b.rate - reserved(group(host), at))
  if r.cap > 0 then left = min(left, r.cap) end
  if name ~= '' then
    if l.quiet > 0 then return 'QUIET', left end
    if b.frozen == 1 then return 'FROZEN', left end
    if want > left then return 'FULL', left end
  end
  return 'OK', left
end

load()
adopt(ARGV[7], { rate = tonumber(ARGV[8]), frozen = tonumber(ARGV[9]), version = tonumber(ARGV[10]) })
local name, b = budget(host)
local r, status, left = rows[at], 'OK', 0

local function answer(rate, version, ending, cap)
  store()
  return { status, int(rate), int(version), int(ending), name, int(b.rate), int(b.frozen), int(b.version), int(cap), int(left), int(l.now) }
end

if not r and want == 0 then return answer(0, 0, 0, 0) end
stale[at] = true
if not r then
  r = { rate = 0, version = 0, ending = 0, cap = 0, reported = 0, claim = 0, claimEnd = 0, newcomer = 0, host = host }
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
  status, left = raise(name, b, r)
  if status == 'OK' then
    r.rate, r.version = want, fresh(r.version)
    if l.quiet > 0 then r.newcomer = 1 end
  end
end
if r.rate == 0 then
  rows[at] = nil
  return answer(0, 0, 0, 0)
end
if r.rate <= r.cap then r.cap = 0 end
r.reported, r.ending, r.people = tonumber(ARGV[10]), l.now + TTL, ARGV[11] or ''
return answer(r.rate, r.version, r.ending, r.cap)
