-- budget: loading and storing a run's budget. Included after changes.lua.
--
-- A lease call must be cheap, so the budget has three parts:
--   counts   what each call changes: numbers, and standby
--   figures  what each call reads and few change: numbers and those of each generation; phase, identity and recalls; stored when b.changed
--   RARE     fields of their own, which only changes.lua reads

local FRAME = 25000  -- µs a frame covers at most (pacer/frame.go)
local RTT = 500000   -- µs of round trip that are believed at most: one frozen member must not change the whole fleet's times

-- load: the budget b of KEYS.budget, or nil. now = max(TIME, last seen): the clock never goes back.
local function load(key, clock)
  local texts = redis.call('HMGET', key, 'uid', 'figures', 'counts', 'phase', 'standby', 'identity', 'recalls')
  local figures, counts = texts[2], texts[3]
  if not figures then return nil end
  if not (counts and #counts == bytes(COUNTS) and texts[4] and texts[5] and texts[6] and texts[7]) then error('the budget is not whole') end
  local last, edge, issued, skipped, next = struct.unpack(COUNTS, counts)
  local id, w, n, at, stop, left, shift, horizon, ttl, qmax, reach, grown, phi, away, thin, beyond, permitfor, deadman, started, heard,
    stood, version, grantfrom, from = struct.unpack(FIGURES, figures)
  local time, gens = clock[1] * U + clock[2], {}
  while from <= #figures do
    local law = sub(figures, from, from + bytes(LAW) - 1)
    local id, t0, c, r0, r1, den, dur, k, f, nx, cut, ends, piece, low, behind = struct.unpack(GENERATION, figures, from)
    gens[#gens + 1] = { law = law, id = id, t0 = t0, c = c, r0 = r0, r1 = r1, den = den, dur = dur, k = k, f = f, nx = nx, cut = cut, ends = ends,
      piece = piece, low = low }
    from = behind
  end
  if gens[at] then gens[at].nx = next end -- of the others it is in the figures
  return {
    uid = texts[1], time = time, now = max(time, last), changed = false, identity = texts[6], recalls = texts[7], gens = gens,
    last = last, edge = edge, issued = issued, skipped = skipped, standby = texts[5],
    phase = texts[4], id = id, w = w, n = n, version = version, at = at, stop = stop, left = left, shift = shift,
    horizon = horizon, ttl = ttl, qmax = qmax, reach = reach, grown = grown, phi = phi, away = away, thin = thin,
    beyond = beyond, permitfor = permitfor, deadman = deadman, started = started, heard = heard, stood = stood, grantfrom = grantfrom,
  }
end

-- room: lets a call write that must pass also where the server is full. Redis looks at its memory at a script's first write only, and never
-- refuses one that needs none, as this one.
local function room(keys) redis.call('XTRIM', keys.events, 'MAXLEN', '~', '10000') end

-- store: writes what this call has changed.
local function store(b, keys)
  if b.at > 1 and b.gens[1].ends < b.now then changes(b, keys).forget() end
  b.last = b.now
  local g = b.gens[b.at]
  redis.call('HSET', keys.budget, 'counts', struct.pack(COUNTS, b.last, b.edge, b.issued, b.skipped, g and g.nx or 0), 'standby', b.standby)
  if b.changed then changes(b, keys).store() end
end
