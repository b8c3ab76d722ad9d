package samples

import (
	"bytes"
	"compress/gzip"
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

// TestDecodeFew: JSON with more samples than any report has is refused before it takes memory.
func TestDecodeFew(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(`{"v":1,"samples":[` + strings.Repeat("{},", Most) + `{}]}`))
	_ = z.Close()
	s := new(Set)
	if err := s.UnmarshalBinary(packed.Bytes()); err == nil || err.Error() != "decode samples: 20001 samples, more than 20000" {
		t.Error(err)
	}
}
