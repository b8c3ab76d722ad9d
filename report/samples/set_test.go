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

// TestTimesAlone: a run that keeps no more than times has the failed requests too, and those that went well.
func TestTimesAlone(t *testing.T) {
	c := NewCollector("w", nil, false, Limits{Whole: MostWhole, Bytes: MostBytes})
	k := c.Chooser(nil)
	for i := range 1000 {
		s := Sample{Ordinal: uint64(i), Worker: "w", Due: time.Unix(int64(i), 0), Latency: 5}
		if i%50 == 49 {
			s.Class, s.Latency = "status", 1
		}
		k.Add(0, s)
	}
	all, _ := c.Set()
	text, err := all.Encode(MostBytes)
	if err != nil {
		t.Fatal(err)
	}
	read := new(Set)
	if err := read.UnmarshalBinary(text); err != nil {
		t.Fatal(err)
	}
	kept := map[string]int{}
	for _, s := range Merge(*read, Set{}).Samples {
		for _, why := range s.Why {
			kept[why+" "+s.Class]++
		}
	}
	for why, n := range map[string]int{"first status": firsts, "random status": randoms, "good ": randoms, "slow ": slowest} {
		if kept[why] != n {
			t.Errorf("%s: %d, want %d (%v)", why, kept[why], n, kept)
		}
	}
}
