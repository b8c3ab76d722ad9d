-- member: the record of a member, by its name in KEYS.workers. Included after schedule.lua, and in changes.lua.
--
-- "incarnation state " and the numbers, and behind them
--   ranges   what it may still hold, each until, generation, first, n, until being when the last slot is past; `size` bytes. Only a
--            cut looks into them, and finds nothing in what is past; that goes when they have become many.
--   reply    its last one as it will be repeated

-- parse: the record of this text. Its reply stays in the text, from `tail` on, because few calls need it.
local function parse(text)
  if not text then return nil end
  local one = find(text, ' ', 1, true)
  local two = find(text, ' ', one + 1, true)
  local seq, weight, v, gen, share, leased, beyond, at, rtt, shift, phi, from, rank, size, tail = struct.unpack(MEMBER, text, two + 1)
  if size < 0 or size % bytes(RANGE) ~= 0 or tail + size > #text + 1 then error('the record is not whole') end
  return { inc = sub(text, 1, one - 1), state = sub(text, one + 1, two - 1), seq = seq, weight = weight, v = v, gen = gen, share = share,
    leased = leased, beyond = beyond, at = at, rtt = rtt, shift = shift, phi = phi, from = from, rank = rank,
    ranges = sub(text, tail, tail + size - 1), text = text, tail = tail + size }
end

local function record(m)
  return m.inc .. ' ' .. m.state .. ' ' .. struct.pack(MEMBER, m.seq, m.weight, m.v, m.gen, m.share, m.leased,
    m.beyond, m.at, m.rtt, m.shift, m.phi, m.from, m.rank, #m.ranges) .. m.ranges .. (m.reply or sub(m.text, m.tail))
end

-- present: whether a record is that of a member. Those are in `seen`, by their `from`, and nobody else but who
-- is never due (create.lua).
local function present(m) return m.state == 'active' or m.state == 'suspect' end
