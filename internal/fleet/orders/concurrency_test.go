package orders

import "testing"

// TestParseConcurrency: c=16 is a change of the concurrency, at once.
func TestParseConcurrency(t *testing.T) {
	if o, err := ParseRate("c=16", ""); err != nil || o.Concurrency != 16 || o.Rate.Num != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, c := range [][3]string{
		{"c=16", "30s", "over: a number of requests in flight changes at once; leave the time out"},
		{"c=0", "", `set-rate: concurrency "c=0": give a number from 1 to 1000000, such as c=64`},
	} {
		if o, err := ParseRate(c[0], c[1]); err == nil || err.Error() != c[2] {
			t.Errorf("%q: %+v, %v", c, o, err)
		}
	}
}
