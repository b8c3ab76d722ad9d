-- identity: how the scripts know that they run on another server than before. Included where they need it.

-- identity: of the server; it changes with a restart or a failover. If INFO does not show it, it stays as it was.
-- After a dot it has when the state was restored that this server had lost: for the workers that is another server
-- than before.
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
