-- arrivals: Poisson arrivals. Included behind schedule.lua. Others use nextSeed and arrived.
--
-- A law with a seed has its slots at random places of the integral, in blocks that each have an exact count. The
-- functions are those of pacer/poisson, with the same numbers.

local nextSeed, arrived

do
  local WORD = 4294967296 -- 2^32
  local BLOCK = 65536 -- slots of a block
  local ONES = { [0] = 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 } -- the bits of 0 … 15 that are 1
  local BITS1, BITS2, JITTER, LEFT_HALF, RIGHT_HALF, PLACE = 1, 2, 3, 4, 5, 6 -- the uses of a node's value

  -- nextSeed: the seed of the law after one with this seed.
  function nextSeed(seed) return seed * 16807 % 2147483647 end

  -- mix: scatters the bits of a word.
  local function mix(h)
    h = (h + floor(h / 65536)) % WORD * 2047323 % WORD
    h = (h + floor(h / 32768)) % WORD * 1791685 % WORD
    h = (h + floor(h / 8192)) % WORD * 1485149 % WORD
    return (h + floor(h / 65536)) % WORD
  end

  local function word(h, use) return mix((h + use * 2654435769) % WORD) end

  -- ones: how many bits of a word are 1.
  local function ones(h)
    local n = 0
    while h > 0 do
      n, h = n + ONES[h % 16], floor(h / 16)
    end
    return n
  end

  -- halve: how many of a node's n slots are in its left half.
  local function halve(h, n)
    local one = word(h, BITS1)
    if n <= 32 then return ones(floor(one / 2 ^ (32 - n))) end
    local two = word(h, BITS2)
    if n <= 64 then return ones(one) + ones(floor(two / 2 ^ (64 - n))) end
    local z = ones(one) + ones(two) - 32.5 + word(h, JITTER) / WORD
    return min(max(floor(n / 2 + math.sqrt(n) * (z / 8.020806277010642) + 0.5), 0), n)
  end

  -- inside: the place of the only slot of a node, from its beginning.
  local function inside(h, length) return floor(word(h, PLACE) / WORD * length) end

  -- arrived: how many places are below an integral of x micro-slots, with `all` of the whole law.
  function arrived(l, x, all)
    local number = min(floor(x / (BLOCK * U)), floor(l.k / BLOCK))
    local first = number * BLOCK
    local n, length = min(BLOCK, l.k - first), BLOCK * U
    if first + n >= l.k then length = max(1, floor(min(length, n * U + l.c, all - 1 - first * U))) end
    x = x - first * U
    if x >= length then return first + n end
    local h = mix((mix((mix(l.seed) + number % WORD) % WORD) + floor(number / WORD)) % WORD)
    while n > 1 and length >= 2 do
      local left, half = halve(h, n), floor(length / 2)
      if x <= half then
        n, length, h = left, half, word(h, LEFT_HALF)
      else
        x, first, n, length, h = x - half, first + left, n - left, length - half, word(h, RIGHT_HALF)
      end
    end
    if n > 0 and inside(h, length) < x then first = first + n end
    return first
  end
end
