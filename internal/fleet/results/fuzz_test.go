package results

import (
	"fmt"
	"testing"
)

func FuzzParseRecord(f *testing.F) {
	f.Add("0 ")
	f.Add("12 1,1,12,5,4,1, 2,1,13,5,4,1,timeout=1,")
	f.Add("-1 1,1,0,5,4,1,")
	f.Fuzz(func(t *testing.T, text string) {
		second, open, err := parseRecord(text)
		if err != nil {
			return
		}
		again, err := joinPoints(open)
		if err != nil {
			t.Fatal(err)
		}
		if s, o, err := parseRecord(fmt.Sprint(second, " ", string(again))); err != nil || s != second || len(o) != len(open) {
			t.Fatalf("%q: %d with %d points, then %d with %d, %v", text, second, len(open), s, len(o), err)
		}
	})
}
