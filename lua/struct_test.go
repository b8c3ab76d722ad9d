package lua

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestStruct: a real server and the embedded one, which has struct.lua, store numbers alike.
func TestStruct(t *testing.T) {
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		run := func(script string, args ...any) (string, error) {
			return client.Eval(t.Context(), read("struct")+script, nil, args...).Text()
		}
		for text, want := range map[string]int64{
			"0": 0, "1": 1, "-1": -1, "127": 127, "128": 128, "-128": -128, "255": 255, "-256": -256, "65536": 1 << 16, "2147483648": 1 << 31, "-2147483649": -1<<31 - 1,
			"4294967296": 1 << 32, "-4294967297": -1<<32 - 1, "1700000000123456": 1_700_000_000_123_456, "9007199254740991": 1<<53 - 1, "-9007199254740992": -1 << 53,
			"1.5": 1, "-1.5": -1, "-0.5": 0, "-9223372036854775808": math.MinInt64, "-10000000000000000000000.0": math.MinInt64,
		} {
			stored := string(binary.LittleEndian.AppendUint64(nil, uint64(want)))
			if got, err := run("return struct.pack('<lll', 7, tonumber(ARGV[1]), -7)", text); err != nil || len(got) != 24 || got[8:16] != stored {
				t.Errorf("%s is stored as %q, %v; want %q", text, got, err, stored)
			}
			// The script returns the text before the number, the number, and where it continues.
			script := "local x, on = struct.unpack('<l', ARGV[1], 4) return string.format('%.0f %d', x, on)"
			if got, err := run(script, "abc"+stored+"rest"); err != nil || got != fmt.Sprint(want, " 12") {
				t.Errorf("%d is read as %q, %v", want, got, err)
			}
		}
		for name, script := range map[string]string{
			"too few numbers":  "return struct.pack('<ll', 1)",
			"no number":        "return struct.pack('<ll', 1, false)",
			"a word":           "return struct.pack('<l', 'x')",
			"too few bytes":    "return struct.unpack('<ll', string.rep('x', 15))",
			"none at that end": "return struct.unpack('<l', string.rep('x', 8), 9)",
		} {
			if got, err := run(script); err == nil {
				t.Errorf("%s: %q", name, got)
			}
		}
		if got, err := run("return struct.pack('<l', 1, 2)"); err != nil || len(got) != 8 {
			t.Errorf("more numbers than the form has: %q, %v", got, err)
		}
	})
}
