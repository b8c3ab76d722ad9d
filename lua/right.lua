-- right: reads what a run may send at endpoints that other runs share, or replaces it, if nothing has changed since it was
-- read. docs/adr/0045-endpoint-budgets.md says how that is asked for.
--
-- KEYS  1 budget  2 workers  3 due  4 byLoad  5 unowned  6 laws  7 log  8 events  (state.lua says what is in them)
-- ARGV  1 run uid  2 wake-up channel  3 kind: read; store; lower, as store, if no worker can go by more  4 who; to store:
--       5 the server's identity that was read  6 the rights that were read
--       7 rights, a text that is compared only  8 highest rate of the run by them, requests per 1,000,000 s
--       9 when they end, 2^52 = they do not  10 when they must be stored at the latest
--       11 1 = an endpoint of the run is frozen: it is paused; 0 = it is not: it is resumed if it was paused for that
--       12 1 = all workers are sent the rights, to restore them if Redis loses them
-- Returns { status, now, identity, rights, allow, end, peak, high, settled, frozen, over, top, plan,
--       burst }. Times are µs of
--       this server's clock. status: OK; RETRY (something has changed, or it is too late); NOSTATE, with now and identity
--       alone. end: 0 = this server may have forgotten the rights. peak: the highest rate by the laws and their plans.
--       high: the highest that a worker may still go by. settled: 1 = that is exact. over: 1 = the run is over. top:
--       the highest factor that a scale may make, millionths. plan: the highest rate by the newest plan at that
--       factor, so what guards may raise it to. burst: of the limiter, or 0.
-- Invariant: rights are replaced on the server that was read, by who has read them.

local uid, channel, kind, who = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if kind ~= 'read' and kind ~= 'store' and kind ~= 'lower' then return refuse('right', 'kind') end
if kind ~= 'read' then
  local bad = wrong('right', { 8, 'rate', 0, MOST / 2, 9, 'end', 0, MOST / 2, 10, 'latest', 0, MOST, 11, 'frozen', 0, 1, 12, 'sent', 0, 1 })
  if bad then return bad end
  if not ARGV[7] or ARGV[7] == '' then return refuse('right', 'rights') end
end

local b = load(channel)
local function int(x) return string.format('%d', x) end
if b.uid ~= uid then return { 'NOSTATE', int(b.time), b.identity } end
local all = fleet(b)
local rights = redis.call('HGET', keys.budget, 'rights') or ''

-- freeze: pauses a run that sends, and resumes it when that is over.
local function freeze(on)
  local running = b.begun == 1 and all.newest().phase == all.RUNNING
  local change
  if on and running then change, b.frozen = 'pause', 2
  elseif on then b.frozen = math.max(b.frozen, 1)
  elseif b.frozen == 2 then
    local _, factor, pieces = all.open(all.newestPlan())
    if all.peakOf(pieces, factor) <= b.allow then change, b.frozen = 'resume', 0 end
  else b.frozen = 0 end
  if not change then return end
  all.change(change)
  all.event(change, who, on and 'its endpoint is frozen' or 'its endpoint is not frozen any more')
  all.everyone()
end

all.advance()
all.settle()
local status = 'OK'
if kind ~= 'read' then
  local allow = tonumber(ARGV[8])
  if ARGV[5] ~= b.epoch or ARGV[6] ~= rights or b.now > tonumber(ARGV[10])
    or (kind == 'lower' and (b.grace > 0 or b.high ~= b.peak or allow < b.high)) then
    status = 'RETRY'
  else
    rights, b.allow, b.rightEnds = ARGV[7], allow, tonumber(ARGV[9])
    redis.call('HSET', keys.budget, 'rights', rights)
    if ARGV[12] == '1' then redis.pcall('PUBLISH', channel, 'rights ' .. rights) end
    freeze(ARGV[11] == '1')
  end
  all.settle()
end
local limit = string.match(redis.call('HGET', keys.budget, 'limit') or '', '^%d+') or '0'
local _, _, pieces, top = all.open(all.newestPlan())
all.store()
return { status, int(b.now), b.epoch, rights, int(b.allow), int(b.rightEnds), int(b.peak), int(b.high), (b.grace == 0 and b.high == b.peak) and '1' or '0',
  int(b.frozen), all.ended() and '1' or '0', int(top), int(all.peakOf(pieces, top)), limit }
