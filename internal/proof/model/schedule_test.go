package model

import (
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestCountOfALongRamp: the scripts' floating point counts the slots of a long steep ramp as the workers' exact
// arithmetic does. Within the ramp a count may be off by one at a border in time.
func TestCountOfALongRamp(t *testing.T) {
	const rate, hour, parts = 1_000_000, 3_600_000_000, 3571
	for _, l := range []pacer.Law{{R0: 1, R1: rate}, {R0: rate, R1: 1}, {R0: 0, R1: rate}, {R0: rate, R1: 0}} {
		l.T0, l.Den, l.Dur, l.K = 1_700_000_000_000_000, 1, hour, pacer.Endless
		g := law{lease.Law{Law: l}}
		if got, want := g.before(l.T0+hour), l.Before(l.T0+hour); got != want {
			t.Errorf("%v: %d slots, exactly %d", l, got, want)
		}
		for at := l.T0; at < l.T0+hour; at += hour / parts {
			if got, want := g.before(at), l.Before(at); got < want-1 || got > want+1 {
				t.Errorf("%v: %d slots before T0 + %d µs, exactly %d", l, got, at-l.T0, want)
			}
		}
		l.K = g.before(l.T0 + hour)
		g = law{lease.Law{Law: l}}
		for k := int64(1); k < l.K; k += l.K / parts {
			if got, want := g.when(k), l.Due(k)/1000; got < want-1 || got > want+1 {
				t.Errorf("%v: slot %d at T0 + %d µs, exactly %d", l, k, got-l.T0, want-l.T0)
			}
		}
	}
}
