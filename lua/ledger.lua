-- ledger: the budgets of endpoints, and a row for each run that may send at one. Included behind identity.lua, in the
-- scripts of budgets. docs/adr/0045-endpoint-budgets.md says why. Functions of the same names in
-- internal/proof/model/ledger.go do the same.
--
-- Keys, all in one slot of a cluster:
--   budgets  ledger: its numbers, and the identity of the server that the rows belong to; b/NAME: a budget; n/NAME and
--            w/NAME: what people say about its rate, and about its freeze, for people
--   rows     'HOST RUN': what a run may send at a host, and what people are shown of it
-- Rates are requests per 1,000,000 s. Times are µs of this server's clock.

local keys = { budgets = KEYS[1], rows = KEYS[2] }
local LEDGER, BUDGET, ROW = '<$letters(ledger)', '<$letters(budget)', '<$letters(row)'
local ENDLESS = 4503599627370496 -- 2^52: no budget
local SPREAD = 4096 -- a server takes one version of each SPREAD
local TTL = 30000000 -- from a renewal of a row to its end (reserve.TTL)
local MARGIN = 1000000 -- a right ends before its row by this (reserve.Margin)

local max, floor, sub = math.max, math.floor, string.sub
local function int(x) return string.format('%d', x) end

local l, budgets, rows, stale = {}, {}, {}, {} -- stale: rows that must be stored or removed

-- bare: a host without its port. The host may be an IPv6 address in brackets.
local function bare(host) return string.match(host, '^.*%]') or string.match(host, '^[^:]*') end

-- fit: the names of budgets that fit a host, the narrowest first: HOST:PORT, HOST, *.DOMAIN, longer ones first, and *.
local function fit(host)
  local name = bare(host)
  local names = { host }
  if name ~= host then names[2] = name end
  local rest = string.match(name, '%.(.*)$')
  while rest do
    names[#names + 1] = '*.' .. rest
    rest = string.match(rest, '%.(.*)$')
  end
  names[#names + 1] = '*'
  return names
end

-- budget: with whom a host shares a rate, and the rate: with all that the name of the narrowest budget fits, or with the
-- other ports of the host if that is * or there is none.
local function budget(host)
  for _, name in ipairs(fit(host)) do
    local b = budgets[name]
    if b and b.rate < ENDLESS then return name == '*' and bare(host) or name, b.rate end
  end
  return bare(host), ENDLESS
end

-- fitting: the names of budgets that fit a host and are known, also of those that were removed, and whether one is frozen.
local function fitting(host)
  local names, frozen = {}, false
  for _, name in ipairs(fit(host)) do
    if budgets[name] then names[#names + 1], frozen = name, frozen or budgets[name].frozen == 1 end
  end
  return names, frozen
end

-- sums: the sum of the rows of each group.
local function sums()
  local out = {}
  for _, r in pairs(rows) do
    local group = budget(r.host)
    out[group] = (out[group] or 0) + r.rate
  end
  return out
end

-- fresh: a version above all others. Modulo SPREAD each server has its own.
local function fresh(least)
  local h = 0
  for i = 1, #l.identity do h = (h * 31 + string.byte(l.identity, i)) % SPREAD end
  local v = max(l.now, l.version + 1, least + 1)
  l.version = v + (h - v % SPREAD + SPREAD) % SPREAD
  return l.version
end

-- capRows: caps the rows of each group that is above its budget, in proportion. A ledger that may have forgotten rows does
-- that later.
local function capRows()
  if l.quiet > 0 then return end
  local sum = sums()
  for at, r in pairs(rows) do
    local group, rate = budget(r.host)
    local cap = 0
    if sum[group] > rate then cap = max(1, floor(r.rate * (rate / sum[group]))) end
    if cap ~= r.cap then r.cap, stale[at] = cap, true end
  end
end

-- above: whether a group has more rows than its budget allows.
local function above()
  local sum = sums()
  for _, r in pairs(rows) do
    local group, rate = budget(r.host)
    if sum[group] > rate then return true end
  end
  return false
end

-- named: the budget of a name. One that was never set bounds nothing.
local function named(name) return budgets[name] or { rate = ENDLESS, version = 0, frozen = 0, freeze = 0 } end

-- setBudget: makes a budget what it is from now on.
local function setBudget(name, b)
  budgets[name] = b
  redis.call('HSET', keys.budgets, 'b/' .. name, struct.pack(BUDGET, $of(budget)))
end

-- adopt: takes a budget that a run brings, where it is newer than this ledger's.
local function adopt(name, b)
  local was = named(name)
  if b.version <= was.version and b.freeze <= was.freeze then return end
  l.version = max(l.version, b.version, b.freeze)
  if b.version <= was.version then b.rate, b.version = was.rate, was.version end
  if b.freeze <= was.freeze then b.frozen, b.freeze = was.frozen, was.freeze end
  setBudget(name, b)
  capRows()
end

-- load: reads all, and does what is due: another server, rows that are over.
local function load()
  local clock = redis.call('TIME')
  local time = clock[1] * 1000000 + clock[2]
  local flat, seen = redis.call('HGETALL', keys.budgets), nil
  for i = 1, #flat, 2 do
    if flat[i] == 'ledger' then
      local $names(ledger), behind = struct.unpack(LEDGER, flat[i + 1])
      l, seen = { $table(ledger) }, sub(flat[i + 1], behind)
    elseif sub(flat[i], 1, 2) == 'b/' then
      local $names(budget) = struct.unpack(BUDGET, flat[i + 1])
      budgets[sub(flat[i], 3)] = { $table(budget) }
    end
  end
  flat = redis.call('HGETALL', keys.rows)
  for i = 1, #flat, 2 do
    local $names(row), behind = struct.unpack(ROW, flat[i + 1])
    local r = { $table(row) }
    r.host, r.people = string.match(flat[i], '^%S*'), sub(flat[i + 1], behind)
    rows[flat[i]] = r
  end
  l.identity = identity(seen)
  if seen ~= l.identity then -- another server than before, which may have forgotten rows; or none before
    l.first, l.now, l.quiet, l.version = time, time, time + TTL + MARGIN, l.version or 0
  end
  l.now = max(l.now, time)
  for at, r in pairs(rows) do
    if r.ending < l.now then rows[at], stale[at] = nil, true end
  end
  if l.quiet > 0 and l.now >= l.quiet then -- rows may have come back that are too high together
    l.quiet = 0
    capRows()
  end
end

-- store: writes all that has changed. Without budgets the ledger is forgotten after a day.
local function store()
  redis.call('HSET', keys.budgets, 'ledger', struct.pack(LEDGER, $of(ledger)) .. l.identity)
  for at in pairs(stale) do
    local r = rows[at]
    if r then redis.call('HSET', keys.rows, at, struct.pack(ROW, $of(row)) .. r.people)
    else redis.call('HDEL', keys.rows, at) end
  end
  if next(budgets) then redis.call('PERSIST', keys.budgets) else redis.call('PEXPIRE', keys.budgets, '86400000') end
  redis.call('PEXPIRE', keys.rows, int(2 * TTL / 1000))
end
