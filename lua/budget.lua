-- budget: loading and storing a run's budget. Included after changes.lua.
--
-- A lease call must be cheap, and most of its price is numbers turned into text and back. So the budget has three parts:
--   counts   what each call changes, one text
--   state    what each call reads and few change, one text and two that may be long, identity and recalls; stored when b.changed
--   RARE     fields of their own, which only changes.lua reads
-- The texts are JSON, because cjson.decode reads all numbers of one at once, and exactly; cjson.encode would keep 14 digits, so they are
-- written by one string.format. No string in them needs escaping: check.lua sees to that.

local FRAME = 25000  -- µs a frame covers at most (pacer/frame.go)
local RTT = 500000   -- µs of round trip that are believed at most: one frozen member must not change the whole fleet's times

-- load: the budget b of KEYS.budget, or nil. now = max(TIME, last seen): the clock never goes back.
local function load(key, clock)
  local texts = redis.call('HMGET', key, 'uid', 'counts', 'state', 'identity', 'recalls')
  if not texts[3] then return nil end
  local c, s = cjson.decode(texts[2]), cjson.decode(texts[3])
  local time, gens = clock[1] * U + clock[2], {}
  for i = 24, #s, 15 do
    gens[#gens + 1] = { law = s[i], id = s[i + 1], t0 = s[i + 2], c = s[i + 3], r0 = s[i + 4], r1 = s[i + 5], den = s[i + 6], dur = s[i + 7],
      k = s[i + 8], f = s[i + 9], nx = s[i + 10], cut = s[i + 11], ends = s[i + 12], piece = s[i + 13], low = s[i + 14] }
  end
  local at = s[5]
  if gens[at] then gens[at].nx = c[5] end -- of the others it is in the state
  return {
    uid = texts[1], time = time, now = max(time, c[1]), changed = false, identity = texts[4], recalls = texts[5], gens = gens,
    last = c[1], edge = c[2], issued = c[3], skipped = c[4], standby = c[6],
    phase = s[1], id = s[2], w = s[3], n = s[4], version = s[23], at = at, stop = s[6], left = s[7], shift = s[8],
    horizon = s[9], ttl = s[10], qmax = s[11], reach = s[12], grown = s[13], phi = s[14], away = s[15], thin = s[16],
    beyond = s[17], permitfor = s[18], deadman = s[19], started = s[20], heard = s[21], stood = s[22],
  }
end

-- store: writes what this call has changed.
local function store(b, keys)
  if b.at > 1 and b.gens[1].ends < b.now then changes(b, keys).forget() end
  b.last = b.now
  local g = b.gens[b.at]
  redis.call('HSET', keys.budget, 'counts',
    format('[%d,%d,%d,%d,%d,"%s"]', b.last, b.edge, b.issued, b.skipped, g and g.nx or 0, b.standby))
  if b.changed then changes(b, keys).store() end
end
