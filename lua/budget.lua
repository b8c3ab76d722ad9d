-- budget: sets or removes the budget of an endpoint, freezes or thaws it, or says how far a change has come.
--
-- KEYS  1 budgets  2 rows
-- ARGV  1 name: HOST:PORT, HOST, *.DOMAIN for all its hosts together, or * for each other host
--       2 kind: set; cut, as set, and runs have to come down; freeze; thaw; set-known, freeze-known: how far a change
--         of the rate, or of the freeze, has come
--       3 for set and cut: the rate, 2^52 = no budget; how far: the version of the change; else 0
--       4 what people say about the rate, or about the freeze, for people; empty: as before
-- Returns { status, version }. status: OK; FULL, more is reserved than the rate allows, and nothing has changed; how far:
--       FORGOTTEN, this server does not have the change; CHANGED, somebody has made a later one; WAITING, a run does
--       not obey it yet, or this server may have forgotten rows; DONE. An error if an argument is wrong.
-- Invariant: versions only grow. A budget below what is reserved caps the rows, so that they come down together.

if not hostname(ARGV[1]) then return refuse('budget', 'name') end
local kinds = { set = MOST / 2, cut = MOST / 2, freeze = 0, thaw = 0, ['set-known'] = MOST, ['freeze-known'] = MOST } -- with the highest number of each
if not kinds[ARGV[2]] then return refuse('budget', 'kind') end
local bad = wrong('budget', { 3, 'number', 0, kinds[ARGV[2]] })
if bad then return bad end
local name, kind, number = ARGV[1], ARGV[2], tonumber(ARGV[3])

load()
local old = named(name)

local function answer(status, version)
  store()
  return { status, int(version) }
end

if kind == 'set-known' or kind == 'freeze-known' then
  local has = kind == 'set-known' and old.version or old.freeze
  if has ~= number then return answer(has < number and 'FORGOTTEN' or 'CHANGED', has) end
  for _, r in pairs(rows) do
    for _, fits in ipairs(fit(r.host)) do
      if fits == name and (r.reported < number or r.cap > 0) then return answer('WAITING', has) end
    end
  end
  return answer(l.quiet > 0 and 'WAITING' or 'DONE', has)
end

local was, version = budgets[name], fresh(0)
local b, said = { rate = old.rate, version = old.version, frozen = old.frozen, freeze = old.freeze }, 'n/'
if kind == 'freeze' or kind == 'thaw' then b.frozen, b.freeze, said = kind == 'freeze' and 1 or 0, version, 'w/'
else b.rate, b.version = number, version end
budgets[name] = b
if kind == 'set' and above() then
  budgets[name] = was
  return answer('FULL', 0)
end
setBudget(name, b)
if ARGV[4] and ARGV[4] ~= '' then redis.call('HSET', keys.budgets, said .. name, ARGV[4]) end
capRows()
return answer('OK', version)
