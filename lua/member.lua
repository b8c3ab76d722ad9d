-- member: the record of a member, by its name in KEYS.workers. Included after schedule.lua, and in changes.lua.
--
-- "[incarnation, state, numbers] ranges reply": JSON as in budget.lua, but for the long texts, which
-- cjson.decode reads character by character.
--   ranges   what it may still hold, "until:generation:first:n,…", until being when the last slot is past; '-' for nothing. Only a
--            cut looks into them, and finds nothing in what is past; that goes when the text has become long.
--   reply    its last one as it will be repeated

-- parse: the record of this text. Its reply stays in the text, from `tail` on, because few calls need it.
local function parse(text)
  if not text then return nil end
  local one = find(text, ' ', 1, true)
  local two = find(text, ' ', one + 1, true)
  local f = cjson.decode(sub(text, 1, one - 1))
  return { inc = f[1], state = f[2], seq = f[3], weight = f[4], v = f[5], gen = f[6], share = f[7], leased = f[8], beyond = f[9],
    at = f[10], rtt = f[11], shift = f[12], phi = f[13], from = f[14], rank = f[15],
    ranges = sub(text, one + 1, two - 1), text = text, tail = two + 1 }
end

local function record(m)
  return format('["%s","%s",%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d] %s %s', m.inc, m.state, m.seq, m.weight, m.v, m.gen, m.share, m.leased,
    m.beyond, m.at, m.rtt, m.shift, m.phi, m.from, m.rank, m.ranges, m.reply or sub(m.text, m.tail))
end

-- present: whether a record is that of a member. Those are in `seen`, by their `from`, and nobody else but who
-- is never due (create.lua).
local function present(m) return m.state == 'active' or m.state == 'suspect' end
