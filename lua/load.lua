-- load: reads the budget of a run. Included before the scripts that are called rarely; renew.lua reads it itself.

-- load: what fleet.lua needs, with the time. uid is false if there is no such run.
local function load(channel)
  local clock = redis.call('TIME')
  local texts = redis.call('HMGET', keys.budget, 'uid', 'core', 'last', 'epoch')
  if texts[1] then checkWhole(texts[2], tonumber(texts[3]), texts[4]) end
  return { uid = texts[1], core = texts[2], last = tonumber(texts[3] or 0), epoch = texts[4], identity = identity(texts[4]),
    time = clock[1] * 1000000 + clock[2], channel = channel }
end
