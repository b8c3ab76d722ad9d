-- state: how the state of a run is stored. Included in front of its scripts, and in front of segs.lua.
--
-- A renewal must be cheap, so it reads three fields of the budget and the record of its member, and where nothing is to be done it writes
-- one field and one score. Numbers are eight bytes each, as struct.lua has them.
--   budget   uid, keep, core (the numbers below), last (highest time seen in this era, µs), epoch (the server's identity), laws (those that may
--            still be needed), plan/NUMBER, commands; of a run that was lost: restored (when, µs), began (its first t0, µs); of a run with a limiter: limit (its
--            settings, grant.lua) and granted (when it was asked, µs)
--   workers  name: the record of a member; name/incarnation: that of one whose name another process has taken
--   due      members that are present, by when they are taken for gone if they stay silent
--   rich     those of them that stay, by the units that a weight of 1 has
--   loose    pieces of the circle that are nobody's: free, unknown, and as a target: orphans; by kind and place
--   laws     every law there ever was, by number
--   log      who held what from which slot to which: lo, hi, from, to, name/incarnation; no name: nobody

local keys = { budget = KEYS[1], workers = KEYS[2], due = KEYS[3], rich = KEYS[4], loose = KEYS[5], laws = KEYS[6], log = KEYS[7], events = KEYS[8] }

-- tf, quiet: when this server was first called; until when nobody is given what nobody claims, 0 = over. patience: nobody expires before.
-- leveled: when shares were last levelled. era, command: the number of its first law, that of the last one asked for. started: first t0.
-- n: members present. w: weight of those that stay. hold: how long a promise is. min, span, requests, deadman: the run's settings. heard: when
-- a controller was. newest: the highest number of a law. follow: when the next law of the plan begins, or later if it is not to be made yet;
-- ENDLESS = never, or it is made by a command. phase: of the newest law. begun, given: 1 if there is a law; if a command has given the plan before. free, orphans: so many pieces.
local CORE = '<llllllllllllllllllllll'
-- seq, weight, version, joins, state, leaving, giving, missing, units, held, target: the last two are how many pieces follow, then its incarnation
local RECORD = '<lllllllllll'
local CALL = '<lllllll' -- seq, weight, known, version, leaving, p, era
local HEAD = '<lllllll' -- seq, era, now, p, members, wait, version

-- States of a member. OLD: of a former server, and not heard of by this one. From LEFT on it is gone: it handed over what it held, said that it sends
-- nothing any more, was silent until its promise was over, is dead as somebody says, or another process has its name.
local OLD, PRESENT, LEFT, HALTED, LOST, REMOVED, REPLACED = 0, 1, 2, 3, 4, 5, 6
local GRACE = 50000                -- µs a piece is left alone after its promise
local STEPPED = 500000             -- a clock that goes back by more begins a new era
local LONGEST = 600000000          -- µs at most that a promise of a former server is waited for: one without end is not

-- Nobody, who is never due. A name longer than any worker's makes Redis keep `due` as a skip list: in the list that it is else, up to 128 members,
-- finding a member's new place takes some times as long.
local NOBODY = '-----------------------------------------------------------------'

-- rhythm: how often a worker of n calls, µs, where promises last for hold (Period in pacer/lease).
local function rhythm(n, hold) return math.max(500000, math.min(10000 * n, math.max(1000000, 250 * n), math.floor(hold / 4))) end

-- soon: the same of a worker that waits for more pieces (Soon in pacer/lease).
local function soon(n, hold)
  local p = rhythm(n, hold)
  return math.min(p, math.max(100000, math.floor(p / 5), 500 * n))
end

-- bytes: how long a text of this form is.
local function bytes(form) return 8 * (#form - 1) end

-- sound: ends the script where a part of the budget is missing, or is not what was written.
local function sound(core, last, epoch)
  if not (core and #core == bytes(CORE) and last and epoch) then error('the budget is not whole') end
end

-- room: lets a call write that must pass also where the server is full. Redis looks at its memory at a script's first write only, and never
-- refuses one that needs none, as this one.
local function room() redis.call('ZREM', keys.due, '') end

-- identity: of the server, another one after a restart or a failover; where it cannot be asked, it is what it was. Behind a dot it has when the state was
-- made anew that this server had lost: for the workers that is another server than before, though it is the same.
local function identity(was)
  local info, id = redis.pcall('INFO', 'replication'), ''
  if type(info) == 'string' then
    local _, last = string.find(info, 'master_replid:', 1, true)
    id = last and string.match(info, '^%w*', last + 1) or ''
  end
  local name, salt = string.match(was or '', '^(%w*)(.*)$')
  if id == '' then id = name ~= '' and name or 'unnamed' end
  return id .. salt
end
