-- form: how records of whole numbers are stored: eight bytes each, the least significant first, negative ones as two's complement, by Redis'
-- library struct. Included behind struct.lua, and in changes.lua.
--
-- A lease call must be cheap, and it reads and writes some hundred numbers: as text each takes about a thousand instructions, like this
-- three hundred. An l is a number: eight bytes on the systems that create.lua admits. fields.go has the names of some.

local COUNTS = '<lllll'
local FIGURES = '<lllllllllllllllllllllll'
local GENERATION = '<llllllllllllll' -- its law, and five more
local LAW = '<lllllllll'
local MEMBER = '<llllllllllllll'
local RANGE = '<llll'
local ASK = '<llllllll'
local REPLY = '<llllllllllllllll' -- a law follows
local CLOCKS = '<ll'

-- bytes: how long a text of this form is.
local function bytes(form) return 8 * (#form - 1) end
