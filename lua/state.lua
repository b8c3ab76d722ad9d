-- state: how the state of a run is stored. Included before its scripts, and before ranges.lua.
--
-- A renewal must be cheap. So it reads four fields of the budget and the record of its member. If nothing has to be
-- done it writes one field and one score. Numbers are eight bytes each, as in struct.lua.
--   budget   uid, keep, core (its numbers), last (highest time seen in this clock epoch, µs), epoch (the server's
--            identity), laws (those that may still be needed), plan/NUMBER, commands; of a run that was lost: restored
--            (when, µs), began (its first t0, µs); of a run with a limiter: limit (its settings, grant.lua), granted
--            (when it was asked, µs)
--   workers  name: the record of a member; name/incarnation: the record of one whose name another process has taken
--   due      members that are present, by the time at which they are gone if they stay silent
--   byLoad     those of them that stay, by the places per weight
--   unowned    ranges of the circle that nobody holds (free, unknown) or that are in no target (unassigned), by kind and
--            place
--   laws     every law there ever was, by number
--   log      who held what from which slot to which: lo, hi, from, to, name/incarnation; no name: nobody

local keys = { budget = KEYS[1], workers = KEYS[2], due = KEYS[3], byLoad = KEYS[4], unowned = KEYS[5], laws = KEYS[6], log = KEYS[7], events = KEYS[8] }

-- table.go has the numbers of each form, in their order, and says what they are.
local CORE = '<$letters(core)' -- of a run
local RECORD = '<$letters(record)' -- of a member
local CALL = '<$letters(call)'
local HEAD = '<$letters(head)' -- of a reply

-- States of a member. OLD: of a former server, has not called this one. PRESENT. All others are gone: LEFT handed
-- over what it held, and then said that it sends nothing any more, HALTED only said so, LOST was silent until its
-- lease was over, REMOVED is dead as a user says, REPLACED lost its name to another process.
local OLD, PRESENT, LEFT, HALTED, LOST, REMOVED, REPLACED = 0, 1, 2, 3, 4, 5, 6
local EXPIRY_SLACK = 50000 -- µs a range is left alone after its lease
local STEPPED = 500000             -- a clock that goes back by more begins a new clock epoch
local LONGEST = 600000000 -- µs at most to wait for a lease of a former server, which may have no end

-- A member that is never due. Its name is longer than any worker's, so Redis keeps `due` as a skip list. In the list
-- of small sets, up to 128 members, finding a member's new place takes several times as long.
local SENTINEL_MEMBER = '-----------------------------------------------------------------'

-- rhythm: time between two calls of a worker, µs, with n members and leases of `hold` (Period in pacer/lease).
local function rhythm(n, hold) return math.max(500000, math.min(10000 * n, math.max(1000000, 250 * n), math.floor(hold / 4))) end

-- soon: the same for a worker that waits for more ranges (soon in internal/proof/model).
local function soon(n, hold)
  local p = rhythm(n, hold)
  return math.min(p, math.max(100000, math.floor(p / 5), 500 * n))
end

-- bytes: how long a text of this form is.
local function bytes(form) return 8 * (#form - 1) end

-- checkWhole: ends the script if a part of the budget is missing or damaged.
local function checkWhole(core, last, epoch)
  if not (core and #core == bytes(CORE) and last and epoch) then error('the budget is not whole') end
end

-- makeRoom: lets a call write even if the server is full. Redis checks its memory at a script's first write only. It
-- never refuses a write that needs none, such as this one.
local function makeRoom() redis.call('ZREM', keys.due, '') end
