package run

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// record is what the scripts keep of a worker that was heard of at some time, with a permit of phi slots per 10⁶ s.
func record(state string, at time.Time, phi int64) string {
	text := []byte("inc " + state + " ")
	for _, x := range []int64{7, 3, 0, 0, 0, 50, 4, at.UnixMicro(), 2000, 0, phi, at.UnixMicro() + 500_000, 1, 0} {
		text = binary.LittleEndian.AppendUint64(text, uint64(x))
	}
	return string(text)
}

func TestParseWorkers(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	const none, some = 0, 2_500_000
	for _, c := range []struct {
		state  string
		silent time.Duration
		phi    int64
		permit time.Duration // of the run
		want   string
	}{
		{"active", 0, some, 10 * time.Second, "active"},
		{"active", 1300 * time.Millisecond, some, 10 * time.Second, "active"},
		{"suspect", 400 * time.Millisecond, some, 10 * time.Second, "suspect"},
		{"active", 1301 * time.Millisecond, some, 10 * time.Second, "suspect"}, // nobody has noticed
		{"suspect", 10 * time.Second, some, 10 * time.Second, "suspect"},
		{"suspect", 10*time.Second + time.Microsecond, some, 10 * time.Second, "lost"},
		{"active", 2 * time.Second, none, 10 * time.Second, "lost"}, // nothing is left for it
		{"active", 2 * time.Second, none, 0, "lost"},
		{"suspect", 24 * time.Hour, some, withoutEnd, "suspect"},
		{"left", time.Hour, none, 10 * time.Second, "left"},
		{"removed", 0, none, 10 * time.Second, "removed"},
		{"lost", time.Hour, none, 10 * time.Second, "lost"},
	} {
		s := &State{now: now, permit: c.permit}
		if err := s.parseWorkers(map[string]string{"w": record(c.state, now.Add(-c.silent), c.phi)}); err != nil {
			t.Fatal(err)
		}
		want := Worker{ID: "w", Incarnation: "inc", State: c.want, Weight: 3, Leased: 50, LastSeen: now.Add(-c.silent), RTTMicros: 2000, Permit: float64(c.phi) / 1e6, beyond: 4, holds: 500 * time.Millisecond, dropped: c.state == "lost"}
		if s.Workers[0] != want {
			t.Errorf("%s, silent for %v: %+v, want %+v", c.state, c.silent, s.Workers[0], want)
		}
	}
}

// TestLargeFleets: members call N/Qmax apart, so it takes the longer until one is missed.
func TestLargeFleets(t *testing.T) {
	for _, c := range []struct {
		members, qmax string
		missed        time.Duration
	}{
		{"0", "", time.Second}, // as where Redis has lost the run
		{"1", "10000", time.Second},
		{"3333", "10000", time.Second},
		{"5000", "10000", 1500 * time.Millisecond},
		{"13000", "10000", 3900 * time.Millisecond},
		{"100000", "10000", 30 * time.Second},
		{"100000", "20000", 15 * time.Second},
	} {
		now := time.Unix(1_700_000_000, 0).UTC()
		for _, silent := range []time.Duration{c.missed + 300*time.Millisecond, c.missed + 301*time.Millisecond} {
			s := &State{now: now}
			if err := s.parseLoss(map[string]string{"n": c.members, "qmax": c.qmax, "permitfor": "60000000"}); err != nil {
				t.Fatal(err)
			}
			if err := s.parseWorkers(map[string]string{"w": record("active", now.Add(-silent), 1)}); err != nil {
				t.Fatal(err)
			}
			want := "active"
			if silent > c.missed+300*time.Millisecond {
				want = "suspect"
			}
			if s.missed() != c.missed || s.Workers[0].State != want {
				t.Errorf("%s members: missed after %v, want %v; silent for %v one is %s", c.members, s.missed(), c.missed, silent, s.Workers[0].State)
			}
		}
	}
}

// TestMayStillSend: who is waited for after a stop, and for how long.
func TestMayStillSend(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	spec := Spec{MaxLag: time.Second, CatchUp: 100 * time.Millisecond}
	const none, some = 0, 1_000_000
	const held = 500*time.Millisecond + 2*time.Millisecond + time.Second // H, the round trip, the lateness
	for _, c := range []struct {
		state  string
		phi    int64
		permit time.Duration // of the run
		until  time.Duration // of its silence
		unsure bool          // after it
	}{
		{"active", some, 10 * time.Second, 11 * time.Second, false},
		{"suspect", some, 5 * time.Second, 6 * time.Second, false},
		{"replaced", none, 5 * time.Second, held, false},
		{"active", none, 5 * time.Second, held, false},          // as in a run that waits
		{"lost", none, 5 * time.Second, 6 * time.Second, false}, // had one
		{"suspect", none, 5 * time.Second, held, false},
		{"active", none, 0, held, false},
		{"lost", none, 0, held, false},
		{"left", none, 10 * time.Second, held, false},
		{"suspect", some, withoutEnd, held, true},
		{"stopped", some, 10 * time.Second, -1, false},
		{"removed", none, 10 * time.Second, -1, false},
	} {
		for _, silent := range []time.Duration{0, c.until, c.until + time.Microsecond} {
			if silent < 0 {
				continue
			}
			s := &State{now: now, permit: c.permit}
			if err := s.parseWorkers(map[string]string{"w": record(c.state, now.Add(-silent), c.phi)}); err != nil {
				t.Fatal(err)
			}
			those, unsure := s.mayStillSend(spec)
			if pending, want := len(those) > 0, silent <= c.until; pending != want {
				t.Errorf("%s, a permit of %d for %v, silent for %v: waited for is %v", c.state, c.phi, c.permit, silent, pending)
			}
			if got, want := len(unsure) > 0, c.unsure && silent > c.until; got != want {
				t.Errorf("%s, a permit of %d for %v, silent for %v: unsure is %v", c.state, c.phi, c.permit, silent, got)
			}
		}
	}
}

// TestPeak: what counts is what is still to come.
func TestPeak(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	at := now.UnixMicro()
	const second = 1_000_000
	law := func(t0, r0, r1, dur int64) pacer.Law {
		l := pacer.Law{ID: t0, T0: t0, R0: r0, R1: r1, Den: 1, Dur: dur, K: pacer.Endless, F: 1}
		if dur > 0 {
			l.K = (r0 + r1) * dur / 2 / second
		}
		return l
	}
	for name, c := range map[string]struct {
		laws   []pacer.Law
		cuts   []int64 // 0 = none
		budget map[string]string
		want   float64
	}{
		"waiting":             {budget: map[string]string{"pieces": "100:200:1:1000000:1;200:200:1:1000000:1;50:50:1:0:1"}, want: 200},
		"begun":               {laws: []pacer.Law{law(at-second, 100, 100, 0)}, budget: map[string]string{"pieces": "100:100:1:0:1", "piece": "1"}, want: 100},
		"a ramp in its midst": {laws: []pacer.Law{law(at-second, 1000, 2000, 2*second)}, cuts: []int64{3000}, budget: map[string]string{"pieces": "1000:2000:1:2000000:1", "piece": "1"}, want: 2000},
		"a ramp down":         {laws: []pacer.Law{law(at-second, 2000, 1000, 2*second)}, cuts: []int64{3000}, budget: map[string]string{"pieces": "2000:1000:1:2000000:1", "piece": "1"}, want: 1500},
		"past":                {laws: []pacer.Law{law(at-3*second, 900, 900, second), law(at-2*second, 100, 100, 0)}, cuts: []int64{900, 0}, budget: map[string]string{"pieces": "900:900:1:1000000:1;100:100:1:0:1", "piece": "2"}, want: 100},
		"cut":                 {laws: []pacer.Law{law(at-2*second, 900, 900, 0), law(at-second, 100, 100, 0)}, cuts: []int64{900, 0}, budget: map[string]string{"pieces": "100:100:1:0:1", "piece": "1"}, want: 100},
		"it begins anew":      {laws: []pacer.Law{law(at-second, 100, 100, 2*second)}, cuts: []int64{200}, budget: map[string]string{"pieces": "500:500:1:1000000:1;100:100:1:2000000:1", "piece": "2", "loop": "1"}, want: 500},
		"paused":              {laws: []pacer.Law{law(at-2*second, 900, 900, 0)}, cuts: []int64{900}, budget: map[string]string{"pieces": "900:900:1:0:1", "piece": "1", "rest": "900:900:1:0:1"}, want: 900},
	} {
		s := &State{Phase: "running", now: now, laws: c.laws}
		if name == "paused" {
			s.Phase = name
		}
		for i, l := range c.laws {
			cut := l.K
			if i < len(c.cuts) && c.cuts[i] > 0 {
				cut = c.cuts[i]
			}
			s.cuts = append(s.cuts, cut)
		}
		if err := s.parseBudget(c.budget); err != nil {
			t.Fatal(err)
		}
		if got := s.Peak(); got < c.want-2 || got > c.want+0.001 { // the last slot of a ramp is due just before its end
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
