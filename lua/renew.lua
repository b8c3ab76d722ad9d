-- renew: renews a worker's ranges of the circle until a time. It takes what the worker gives up, gives it new
-- ranges, and replies with all that it must know. The one call of a worker of a run.
--
-- KEYS  1 budget  2 workers  3 due  4 byLoad  5 unowned  6 laws  7 log  8 events  (state.lua says what is in them)
-- ARGV  1 run uid  2 wake-up channel  3 worker  4 incarnation  5 epoch of the last reply, empty: none was received
--       6 the numbers seq, weight, known, version, leaving, p, clockEpoch (state.lua):
--       seq: 1, 2, …; the same again until it is answered · known: the newest law of all replies
--       version: of the list in the last reply, 0 = send the list
--       leaving: 0 it stays, 1 it hands over what it holds, 2 it sends nothing any more, and leaves with this call
--       p, clockEpoch: of a claim: all in it is leased until p, µs, in this clock epoch; p −1: no claim
--       7 releases: ranges lo, hi, law, slot that the worker has given up, each from that slot on
--       8 claim: such ranges, all that it holds  9 laws learnt elsewhere; with a claim all  10 … the plans they name
--       A call that only renews ends with 6.
-- Returns an array, or an error if an argument is wrong:
--       1 the numbers seq, clockEpoch, now, p, members, wait, version, then "status|epoch". All in the list is leased until
--         p. The next call is due in `wait` µs. p may be lower than in the reply before, where the rights of the run end.
--       2 the list, if its version is not the call's: ranges lo, hi, law, slot  3 what of it to give up: lo, hi
--       4 laws newer than known  5 … the plans that they name
--       status: OK; CLAIM (this is another server: call again with a claim); STALE (seq); REPLACED (another process
--       has this name); GONE (it has left); NOSTATE. Only OK and GONE come with more than the first text, and only if
--       one of them is not empty. With GONE, 4 and 5 alone are not empty.
--       A full server refuses no call.
-- Invariant: every place of the circle is held by one member, or free, or unknown. Members only get free places. A
--       place becomes free when its owner releases it, from that slot on, or when its owner's lease is over. Numbers
--       of laws and versions only grow.

local clock = redis.call('TIME')
local worker, inc, epoch, numbers = ARGV[3] or '', ARGV[4] or '', ARGV[5] or '', ARGV[6] or ''
local budget = redis.call('HMGET', keys.budget, 'uid', 'core', 'last', 'epoch')
local uid, core, last, was = budget[1], budget[2], tonumber(budget[3]), budget[4]
local here, now, id = uid and uid == ARGV[1], clock[1] * 1000000 + clock[2], identity(was)
if here then checkWhole(core, last, was) end

-- renewOnly: the reply, if the call only has to lease again what the member holds; else nil.
local function renewOnly()
  if not here or id ~= was or epoch ~= was or #ARGV ~= 6 or #numbers ~= bytes(CALL) or now < last - STEPPED or now - last > 1000000 then return nil end
  if now < last then now = last end
  local $names(core) = struct.unpack(CORE, core)
  local wait = rhythm(n, hold)
  if begun == 0 or follow <= now + hold + wait or now - rebalancedAt >= 1000000 then return nil end
  if grace > 0 then
    if now >= grace then return nil end
  elseif unassigned > 0 then return nil end
  if deadman > 0 and phase < 2 then
    if started > controllerAt then controllerAt = started end
    if now > controllerAt + deadman then return nil end
  end
  local record = redis.call('HGET', keys.workers, worker)
  if not record then return nil end
  local $names(record m_), at = struct.unpack(RECORD, record)
  local $names(call c_) = struct.unpack(CALL, numbers)
  if m_state ~= PRESENT or c_seq < m_seq or c_weight ~= m_weight or c_version ~= m_version or m_known < command or peak > allow then return nil end
  if c_known < newest or c_known > 2 ^ 53 or c_seq > 2 ^ 53 or c_p ~= -1 then return nil end
  if m_leaving + c_leaving + m_giving + m_missing ~= 0 or now >= m_joins then return nil end
  if string.sub(record, at + 48 * m_holds + 16 * m_aims) ~= inc then return nil end
  if now >= noExpiryBefore and tonumber(redis.call('ZRANGE', keys.due, '0', '0', 'WITHSCORES')[2] or now) < now then return nil end
  local drops = now + hold + EXPIRY_SLACK
  if m_holds == 0 and drops > now + 3000000 + 2 * wait then drops = now + 3000000 + 2 * wait end
  -- A full server must not cost a worker its lease. If it refuses the first write, a call that needs no memory goes
  -- first.
  local seen = string.format('%d', now)
  if type(redis.pcall('HSET', keys.budget, 'last', seen)) == 'table' then
    makeRoom()
    redis.call('HSET', keys.budget, 'last', seen)
  end
  redis.call('ZADD', keys.due, string.format('%d', drops), worker)
  local seq, p, members, version = c_seq, math.min(now + hold, rightEnds), n, m_version
  return { struct.pack(HEAD, $names(head)) .. 'OK|' .. was }
end

local reply = renewOnly()
if reply then return reply end
local call, bad = calls({ worker = worker, inc = inc, epoch = epoch, numbers = numbers })
if bad then return bad end
if not here then
  local seq, clockEpoch, now, p, members, wait, version = call.seq, 0, 0, 0, 0, 500000, 0
  return { struct.pack(HEAD, $names(head)) .. 'NOSTATE|' }
end
makeRoom()
local all = fleet({ time = now, last = last, epoch = was, identity = id, core = core, channel = ARGV[2] })
reply = all.renew(call)
all.store()
return reply
