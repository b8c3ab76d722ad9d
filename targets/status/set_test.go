package status

import (
	"testing"
)

func TestParseStatuses(t *testing.T) {
	for _, c := range []struct {
		in      string
		in1, no int // in the set, not in it
	}{
		{"200-399", 200, 400}, {"200-399", 399, 199}, {"404", 404, 200}, {"200, 300-399", 301, 201}, {"100-999", 999, 0},
	} {
		set, err := Parse(c.in)
		if err != nil || !set.Contains(c.in1) || set.Contains(c.no) {
			t.Errorf("%q: %v, %v", c.in, set, err)
		}
	}
	for _, in := range []string{"", "x", "200-", "-200", "300-200", "99", "1000", "+200", "200,,300", "200-300-400"} {
		if set, err := Parse(in); err == nil {
			t.Errorf("%q: got %v, want an error", in, set)
		}
	}
}

func FuzzParseStatuses(f *testing.F) {
	f.Add("200-399")
	f.Add("200,204")
	f.Fuzz(func(t *testing.T, s string) {
		set, err := Parse(s)
		if err != nil {
			return
		}
		for _, r := range set {
			if r.First < 100 || r.Last > 999 || r.First > r.Last || !set.Contains(r.First) || !set.Contains(r.Last) {
				t.Errorf("%q: %+v", s, r)
			}
		}
	})
}
