-- budget: sets or removes the budget of an endpoint, freezes or thaws it, or says how far a change has come.
--
-- KEYS  1 budgets  2 rows
-- ARGV  1 name: HOST:PORT, HOST, *.DOMAIN for all its hosts together, or * for each other host
--       2 kind: set; cut, as set, and runs have to come down; freeze; thaw; known
--       3 for set and cut: the rate, 2^52 = no budget; for known: the version of the change; else 0
--       4 what people say about it, for people; empty: as before
-- Returns { status, version }. status: OK; FULL, more is reserved than the rate allows, and nothing has changed; for known
--       FORGOTTEN, this server does not have the change; WAITING, a run does not obey it yet, or this server may have
--       forgotten rows; DONE. An error if an argument is wrong.
-- Invariant: versions only grow. A budget below what is reserved caps the rows, so that they come down together.

if not hostname(ARGV[1]) then return refuse('budget', 'name') end
local kinds = { set = MOST / 2, cut = MOST / 2, freeze = 0, thaw = 0, known = MOST } -- with the highest number of each
if not kinds[ARGV[2]] then return refuse('budget', 'kind') end
local bad = wrong('budget', { 3, 'number', 0, kinds[ARGV[2]] })
if bad then return bad end
local name, kind, number = ARGV[1], ARGV[2], tonumber(ARGV[3])

load()
local was = budgets[name]
local old = was or { rate = ENDLESS, frozen = 0, version = 0 }

local function answer(status, version)
  store()
  return { status, int(version) }
end

if kind == 'known' then
  if old.version < number then return answer('FORGOTTEN', old.version) end
  for _, r in pairs(rows) do
    for _, fits in ipairs(fit(r.host)) do
      if fits == name and (r.reported < old.version or r.cap > 0) then return answer('WAITING', old.version) end
    end
  end
  return answer(l.quiet > 0 and 'WAITING' or 'DONE', old.version)
end

local b = { rate = old.rate, frozen = old.frozen, version = fresh(old.version) }
if kind == 'freeze' or kind == 'thaw' then b.frozen = kind == 'freeze' and 1 or 0
else b.rate = number end
budgets[name] = b
if kind == 'set' and above() then
  budgets[name] = was
  return answer('FULL', 0)
end
setBudget(name, b)
if ARGV[4] and ARGV[4] ~= '' then redis.call('HSET', keys.budgets, 'n/' .. name, ARGV[4]) end
capRows()
return answer('OK', b.version)
