-- struct: the part of Redis' struct library that the scripts need, for the embedded server, which has none. Included
-- first.
--
-- With a form "<ll…" struct.pack writes each number as eight bytes, the least significant first. Negative numbers are
-- two's complement. Fractions are cut off. This code reads and writes the same bytes.

if not rawget(_G, 'struct') then
  local floor, ceil, max, byte, char = math.floor, math.ceil, math.max, string.byte, string.char
  rawset(_G, 'struct', {
    pack = function(form, ...)
      local texts = { ... }
      for i = 1, #form - 1 do
        local x = texts[i]
        x = x < 0 and max(-2 ^ 63, ceil(x)) or floor(x)
        local a, b = x % 2 ^ 32, floor(x / 2 ^ 32) % 2 ^ 32
        texts[i] = char(a % 256, floor(a / 256) % 256, floor(a / 65536) % 256, floor(a / 16777216),
          b % 256, floor(b / 256) % 256, floor(b / 65536) % 256, floor(b / 16777216))
      end
      return table.concat(texts, '', 1, #form - 1)
    end,
    -- unpack: the numbers of a text from its byte `at` on, and the position after them.
    unpack = function(form, text, at)
      local out = {}
      at = at or 1
      for i = 1, #form - 1 do
        local a, b, c, d, e, f, g, h = byte(text, at, at + 7)
        if h >= 128 then h = h - 256 end
        out[i], at = a + b * 2 ^ 8 + c * 2 ^ 16 + d * 2 ^ 24 + (e + f * 2 ^ 8 + g * 2 ^ 16 + h * 2 ^ 24) * 2 ^ 32, at + 8
      end
      out[#form] = at
      return unpack(out)
    end,
  })
end
