//go:build linux && !portable

package sockets

import "testing"

// TestYieldsInTime: a loop with little work is rescheduled every 8 ms, even if it works in between. A busy loop is not;
// and a loop idle for long waits as long as it likes.
func TestYieldsInTime(t *testing.T) {
	const ms = int64(1e6)
	for _, c := range []struct {
		what                        string
		now, until, latest, yielded int64
		want                        int64
		yields                      bool
	}{
		{"it was rescheduled a moment ago", 100 * ms, 200 * ms, 99 * ms, 99 * ms, 107 * ms, false},
		{"there is something to do before", 100 * ms, 103 * ms, 99 * ms, 99 * ms, 103 * ms, false},
		{"a slot came 6 ms after it", 100 * ms, 106 * ms, 99 * ms, 94 * ms, 102 * ms, false},
		{"it is time", 102 * ms, 106 * ms, 99 * ms, 94 * ms, 102*ms + yieldRoom, true},
		{"it is long past, because it was busy", 150 * ms, 160 * ms, 149 * ms, 94 * ms, 150*ms + yieldRoom, true},
		{"it is time, but the next slot is near", 102 * ms, 102*ms + yieldRoom - 1, 101 * ms, 94 * ms, 102*ms + yieldRoom - 1, false},
		{"it never was", 100 * ms, 200 * ms, 99 * ms, 0, 100*ms + yieldRoom, true},
		{"nothing has happened for 100 ms", 199 * ms, 900 * ms, 99 * ms, 198 * ms, 206 * ms, false},
		{"nor for a little longer", 199*ms + 1, 900 * ms, 99 * ms, 199 * ms, 900 * ms, false},
	} {
		th := Thread{yielded: c.yielded}
		got := th.Until(c.now, c.until, c.latest)
		if yields := th.Yield(c.now, got-c.now); got != c.want || yields != c.yields {
			t.Errorf("%s: it waits until %d and yields %v, want %d, %v", c.what, got, yields, c.want, c.yields)
		}
		if c.yields && th.Until(c.now, c.until, c.latest) != min(c.until, c.now+yieldEvery) {
			t.Errorf("%s: after it, it waits until %d", c.what, th.Until(c.now, c.until, c.latest))
		}
	}
}
