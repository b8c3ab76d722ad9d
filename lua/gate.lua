-- gate: a limiter that the grants of a run have to pass. Behind a limiter's two functions (limiter.lua), in front of lease.lua; lua.go puts
-- them together.
--
-- Slots stay what they are, numbers of a generation. The gate says how many of those that a member would be granted it gets now, and which of
-- those that are past it may still get. Its settings are the field `limit` of the budget, "burst:window:option:even:together", all integers:
--   burst     0: what the rate makes in half a second; not used with a window
--   window    µs, of a limiter that counts in windows; 0 of the others
--   option    of the limiter's own (ARGV 6 of take.lua)
--   even      1: what it grants leaves at the even pace of the slots, and nothing is made up for
--   together  1: nothing is granted ahead of time, and what is granted leaves together

-- gate: what the limiter lets through now. handing: this member's permit was in force until now, so that what is past was sent on permits.
gate = function(b, reach, handing)
  local now = b.now
  local burst, window, option, even, together =
    string.match(redis.call('HGET', KEYS[1], 'limit'), '^(%d+):(%d+):(%d+):(%d):(%d)$')
  burst, window, option = tonumber(burst), tonumber(window), tonumber(option)
  local opens = { together = together == '1' }

  -- of: the limit that generation g stands for. A window has a whole number of slots: run.Spec sees to that. A burst whose fractions
  -- would not be exact at this rate is halved until they are.
  local function of(g)
    local l = { count = g.r0, window = g.den * U, burst = burst, option = option, name = '0' }
    if window > 0 then
      l.count, l.window = floor(g.r0 / g.den * (window / U) + 0.5), window
      l.burst = l.count
    elseif burst == 0 then
      l.burst = max(1, floor(g.r0 / g.den / 2))
    end
    while not capacity(l) do l.burst = max(1, floor(l.burst / 2)) end
    return l
  end

  -- past: the numbers of g below it are not granted any more. What the limiter would have let pass at once may be made up for, while the
  -- generation lasts; after the last one until everybody has called once more. Only whole frames are passed over, and where nothing is granted
  -- ahead one more is left: it could not be granted before it was over.
  function opens.past(g)
    local due, ends = upto(g, now), g.ends
    if g.cut == g.k and b.phase == 'running' and not b.gens[b.at + 1] then ends = ends + floor(reach / 2) end
    if even == '1' or handing or now >= ends then return ceil(due / g.f) * g.f end
    return floor((due - of(g).burst) / g.f) * g.f - (opens.together and g.f or 0)
  end

  -- wait: where nothing is granted ahead, for how long slots wait for the member whose turn it is, µs; and when it comes back at the latest.
  function opens.wait(g)
    return floor(min(reach / 4, of(g).burst / max(g.r0 / g.den / U, 1e-9) / 2))
  end

  -- grant: how many of n numbers of g may be granted now, and if not all, in how many µs one more.
  function opens.grant(g, n)
    local l = of(g)
    local granted, _, retry = decide(KEYS[6], now, l, n, false)
    if even == '1' and granted > 0 then retry = ceil(l.window / l.count) end -- not when the last of these may go
    return granted, granted < n and max(1, retry) or 0
  end

  return opens
end
