package samples

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMergePrefersWhole: of a request that comes twice, what was sent stays, whichever set comes first.
func TestMergePrefersWhole(t *testing.T) {
	bare := Sample{Ordinal: 5, Worker: "w", Due: time.Unix(1, 0), Latency: 9}
	whole := bare
	whole.Request = &Message{Start: "GET / HTTP/1.1"}
	for _, sets := range [][]Set{{{Samples: []Sample{bare}}, {Samples: []Sample{whole}}}, {{Samples: []Sample{whole}}, {Samples: []Sample{bare}}}} {
		if m := Merge(sets...); len(m.Samples) != 1 || !m.Samples[0].Whole() {
			t.Errorf("%+v", m)
		}
	}
}

// TestDecodeFew: JSON with more than any report has is refused before it takes memory.
func TestDecodeFew(t *testing.T) {
	for text, want := range map[string]string{
		`{"v":1,"samples":[` + strings.Repeat("{},", Most) + `{}]}`:                                   "decode samples: 20001 samples, more than 20000",
		`{"v":1,"samples":[{"request":{"headers":[` + strings.Repeat("{},", mostParts) + `{}]}}]}`:    "decode samples: 1000005 members, more than 500000",
		`{"v":1,"samples":[{"why":["\"{` + strings.Repeat(",", mostParts) + `"]}]}`:                   "",
		`{"v":1,"samples":[{"error":"\\","why":["` + strings.Repeat(`","`, mostParts) + `{{{{{{"]}]}`: "decode samples: 500004 members, more than 500000",
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		err := new(Set).UnmarshalBinary(packed.Bytes())
		if got := fmt.Sprint(err); got != cmp.Or(want, "<nil>") {
			t.Errorf("%.60s: %s, want %s", text, got, want)
		}
	}
}
