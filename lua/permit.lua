-- permit: what members may be firing while Redis does not hear of them. Included after changes.lua.
--
-- Each reply promises its member: your permit begins at `from`, H after now, but at most 0.2·H after what was promised before. `seen`
-- holds the members by that time.
--   barrier   nobody is granted numbers that are due after the oldest `from` of those who are not suspects.
--   suspect   a member whose `from` is nearer than 0.4·H, or whose ack is older than 0.6·H. What is granted from then on
--             gives way to its permit: of each range the part φ/R is yielded.
--   hand      a suspect whose replies arrive again fires on its permit until the position of the grants, leased slots follow.
-- A state that was lost and made anew knows nothing of the permits given before. Until `grantfrom` they may be in force, and nothing due before it is
-- granted. Members that are there again go on by theirs until then, unless a command has asked for less since: that revokes them.
--
-- The sum of all permits is at most the lowest rate of the time they last. docs/guarantees.md has the proof.

-- settle: notices that the server is another one, that its clock went back too far, that it has forgotten a generation which a member
-- knows (known: the latest one, or 0), and that no controller was heard of. Returns whether records of members have changed.
local function settle(b, keys, known)
  -- The server's identity is another one after a restart or a failover; '' where there is none.
  local info, id = redis.pcall('INFO', 'replication'), ''
  if type(info) == 'string' then
    local _, last = find(info, 'master_replid:', 1, true)
    id = last and string.match(info, '^%w*', last + 1) or ''
  end
  local version, behind = b.version, known > b.id and b.phase == 'running'
  local other = id ~= b.identity and id ~= '' and b.identity ~= ''
  if known > b.id then b.id, b.changed = known, true end
  if b.time < b.last - b.reach or other or behind then changes(b, keys).back(other) end
  if id ~= b.identity and id ~= '' then b.identity, b.changed = id, true end
  if b.now - b.last > U then b.heard, b.changed = b.heard + b.now - b.last, true end -- nobody could be heard
  if b.deadman > 0 and (b.phase == 'running' or b.phase == 'paused') and b.now > max(b.heard, b.started) + b.deadman then
    changes(b, keys).unheard()
  end
  return b.version > version
end
