package run

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// numbers returns numbers as the scripts store them.
func numbers(all ...int64) string {
	var text []byte
	for _, x := range all {
		text = binary.LittleEndian.AppendUint64(text, uint64(x))
	}
	return string(text)
}

// stored returns what the scripts store for a worker of weight 3 that holds ranges.
func stored(state int64, inc, pieces string) string {
	return numbers(7, 3, 1, 0, state, 0, 0, 0, 0, int64(len(pieces)/48), 0) + pieces + inc
}

// silence is a worker that has been silent for some time.
type silence struct {
	state    int64
	leaving  bool
	bare     bool // it holds nothing
	loop     bool // the run is a closed loop
	over     bool // the run has ended
	stranger bool // the worker is known to a former server only
	silent   time.Duration
	hold     time.Duration // the run's length of leases
}

const silentNow = 1_700_000_000_000_000 // µs

// read returns the state of the run, and of the worker in it.
func (c silence) read() (*State, Worker) {
	a := reading{State: &State{now: TimeOf(silentNow), every: 500 * time.Millisecond}, core: map[string]int64{"hold": c.hold.Microseconds()}, silent: map[string]int64{}, loop: c.loop}
	if c.over {
		a.EndedAt = a.now
	}
	seen := silentNow - c.silent.Microseconds()
	m := standing{state: c.state, holds: !c.bare, seen: seen}
	if c.leaving {
		m.leaving = 1
	}
	if c.stranger {
		a.core["grace"] = seen + (c.hold + leaseMargin).Microseconds()
	}
	if c.state == presentMember { // as renew.lua notes it
		m.seen = 0
		due := seen + (c.hold + leaseGrace).Microseconds()
		if c.bare {
			due = min(due, seen+(3*time.Second+2*a.every).Microseconds())
		}
		a.silent["w"] = due
	}
	w := Worker{ID: "w", Incarnation: "inc"}
	a.member(&w, m)
	a.Workers = append(a.Workers, w)
	return a.State, w
}

func TestStateOfAWorker(t *testing.T) {
	const hold, us = 10 * time.Second, time.Microsecond
	for _, c := range []struct {
		silence
		want   string
		leased bool // the worker may still send without Redis
	}{
		{silence{state: presentMember, hold: hold}, "active", true},
		{silence{state: presentMember, silent: 1800 * time.Millisecond, hold: hold}, "active", true},
		{silence{state: presentMember, silent: 1800*time.Millisecond + us, hold: hold}, "silent", true},
		{silence{state: presentMember, silent: hold, hold: hold}, "silent", true},
		// No call has noticed it yet: its lease has ended, and the state must show it all the same.
		{silence{state: presentMember, silent: hold + us, hold: hold}, "lost", true},
		{silence{state: presentMember, silent: hold, hold: hold, over: true}, "active", true},
		{silence{state: presentMember, silent: spec.StopLease + us, hold: spec.StopLease}, "lost", true},
		{silence{state: presentMember, silent: 24 * time.Hour, hold: spec.HoldLease}, "silent", true},
		{silence{state: presentMember, bare: true, hold: hold}, "active", false},
		{silence{state: presentMember, bare: true, silent: 2 * time.Second, hold: hold}, "silent", false},
		{silence{state: presentMember, bare: true, loop: true, hold: hold}, "active", true},
		{silence{state: presentMember, leaving: true, hold: hold}, "active", true},
		{silence{state: presentMember, leaving: true, bare: true, hold: hold}, "left", false},
		{silence{state: oldMember, silent: time.Second, hold: hold}, "lost", false},
		{silence{state: oldMember, stranger: true, silent: hold, hold: hold}, "silent", true},
		{silence{state: leftMember, silent: time.Hour, hold: hold}, "left", false},
		{silence{state: haltedMember, hold: hold}, "left", false},
		{silence{state: lostMember, silent: time.Hour, hold: hold}, "lost", false},
		{silence{state: removedMember, hold: hold}, "removed", false},
		{silence{state: replacedMember, hold: hold}, "replaced", false},
	} {
		s, w := c.read()
		if w.State != c.want || !w.LastSeen.Equal(s.now.Add(-c.silent)) || w.LeaseUntil.IsZero() == c.leased ||
			c.leased && !w.LeaseUntil.Equal(w.LastSeen.Add(c.hold)) {
			t.Errorf("%+v: %+v, want %s", c.silence, w, c.want)
		}
	}
}

// TestUndue: a worker that is recorded as present but is not in `due` is damaged. It counts as having no lease;
// otherwise a stop would wait for it without end.
func TestUndue(t *testing.T) {
	a := reading{State: &State{now: TimeOf(silentNow), every: 500 * time.Millisecond}, core: map[string]int64{"hold": spec.HoldLease.Microseconds()}}
	w := Worker{ID: "w", Incarnation: "inc"}
	a.member(&w, standing{state: presentMember, holds: true, seen: 9_000_000_000_000_000})
	if !w.LastSeen.IsZero() || w.LeaseUntil.After(a.now) || w.State == "active" {
		t.Errorf("%+v", w)
	}
}

// TestLargeFleets: members call N/4,000 s apart, but at least four times in a lease. So in large fleets it takes
// longer until a member counts as silent.
func TestLargeFleets(t *testing.T) {
	for _, c := range []struct {
		members int64
		hold    time.Duration
		missed  time.Duration
	}{
		{0, 0, 1500 * time.Millisecond}, // the case of a run that Redis has lost
		{1, time.Minute, 1500 * time.Millisecond},
		{70, time.Minute, 2100 * time.Millisecond},
		{2000, time.Minute, 3 * time.Second},
		{5000, time.Minute, 3750 * time.Millisecond},
		{13_000, time.Minute, 9750 * time.Millisecond},
		{13_000, 10 * time.Second, 7500 * time.Millisecond},
		{100_000, 10 * time.Minute, 75 * time.Second},
		{100_000, time.Second, 1500 * time.Millisecond},
	} {
		for _, silent := range []time.Duration{c.missed + unnoticed, c.missed + unnoticed + time.Microsecond} {
			a := reading{State: &State{now: TimeOf(silentNow)}, core: map[string]int64{"n": c.members, "hold": c.hold.Microseconds()}, silent: map[string]int64{}}
			a.parsePhase()
			a.silent["w"] = silentNow + (c.hold + leaseGrace - silent).Microseconds()
			w := Worker{ID: "w"}
			a.member(&w, standing{state: presentMember, holds: true})
			want := "active"
			switch {
			case silent <= c.missed+unnoticed:
			case silent <= c.hold:
				want = "silent"
			default:
				want = "lost"
			}
			if a.Missed() != c.missed || w.State != want {
				t.Errorf("%d members: missed after %v, want %v; silent for %v one is %s", c.members, a.Missed(), c.missed, silent, w.State)
			}
		}
	}
}

// TestWaitsFor checks for which workers a stop waits, and for how long.
func TestWaitsFor(t *testing.T) {
	asked := spec.Spec{MaxLag: time.Second, CatchUp: 100 * time.Millisecond}
	const hold = 5 * time.Second
	for _, c := range []struct {
		silence
		until  time.Duration // how long its silence is waited for; -1 = not at all
		unsure bool          // whether it is unsure after that
	}{
		{silence{state: presentMember, hold: 10 * time.Second}, 11 * time.Second, false},
		{silence{state: presentMember, hold: hold}, 6 * time.Second, false},
		// It may have got ranges since.
		{silence{state: presentMember, bare: true, hold: hold}, 6 * time.Second, false},
		{silence{state: presentMember, hold: spec.StopLease}, 3 * time.Second, false},
		{silence{state: presentMember, hold: spec.HoldLease}, leaseSilence + time.Second, true},
		{silence{state: presentMember, leaving: true, hold: hold}, 6 * time.Second, false},
		{silence{state: presentMember, leaving: true, bare: true, hold: hold}, handOver + time.Second, false},
		{silence{state: oldMember, hold: hold}, 6 * time.Second, false},
		{silence{state: oldMember, stranger: true, hold: hold}, 6 * time.Second, false},
		{silence{state: lostMember, hold: hold}, 6 * time.Second, false},
		{silence{state: leftMember, hold: hold}, -1, false},
		{silence{state: haltedMember, hold: hold}, -1, false},
		{silence{state: removedMember, hold: hold}, -1, false},
		{silence{state: replacedMember, hold: hold}, -1, false},
	} {
		for _, silent := range []time.Duration{0, c.until, c.until + time.Microsecond} {
			if silent < 0 {
				continue
			}
			asked.OnRedisLoss, asked.PermitFor = spec.LossPermit, c.hold
			switch c.hold {
			case spec.StopLease:
				asked.OnRedisLoss, asked.PermitFor = spec.LossStop, 0
			case spec.HoldLease:
				asked.OnRedisLoss, asked.PermitFor = spec.LossHold, 0
			}
			c.silent = silent
			s, _ := c.read()
			those, unsure := s.waitsFor(asked)
			if pending, want := len(those) > 0, silent <= c.until; pending != want {
				t.Errorf("%+v: waited for is %v", c.silence, pending)
			}
			if got, want := len(unsure) > 0, c.unsure && silent > c.until; got != want {
				t.Errorf("%+v: unsure is %v", c.silence, got)
			}
		}
	}
}

// planned returns the laws of pieces that follow one another without a gap, from a time on, µs.
func planned(plan *lease.Plan, t0 int64, pieces ...pacer.Piece) (laws []lease.Law) {
	l := lease.Law{Plan: plan, End: pacer.Endless, ClockEpoch: 1}
	for i, p := range pieces {
		l.Law = pacer.Law{ID: int64(i + 1), T0: t0, R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: pacer.Endless}
		if p.Dur > 0 {
			l.K = (p.R0 + p.R1) * p.Dur / 2_000_000
		}
		l.Piece, t0 = i+1, t0+p.Dur
		laws = append(laws, l)
		l.Prev, l.Cut, l.Base = l.ID, l.K, l.Base+l.K
	}
	return laws
}

// TestRateOfACommand: a rate that a command has set and that is not in force yet is where the rate goes. That of a stage
// is not.
func TestRateOfACommand(t *testing.T) {
	const now = silentNow
	law := func(id, plan, t0, r0, r1, dur int64) lease.Law {
		l := lease.Law{Law: pacer.Law{ID: id, T0: t0, R0: r0, R1: r1, Den: 1, Dur: dur, K: pacer.Endless}, Plan: &lease.Plan{ID: plan}, End: pacer.Endless, ClockEpoch: 1}
		if id > 1 {
			l.Prev, l.Cut, l.Base = id-1, 100, 100
		}
		return l
	}
	for name, c := range map[string]struct {
		next       lease.Law
		rate, then float64
	}{
		"a command in a moment": {law(2, 2, now+20_000, 500, 500, 0), 100, 500},
		"a ramp in a moment":    {law(2, 2, now+20_000, 100, 900, 5_000_000), 100, 900},
		"a command in force":    {law(2, 2, now-1, 500, 500, 0), 500, 500},
		"a stage in a moment":   {law(2, 0, now+20_000, 500, 500, 0), 100, 100},
	} {
		text, _ := lease.PackLaws([]lease.Law{law(1, 0, now-1_000_000, 100, 100, 0), c.next})
		a := reading{State: &State{now: TimeOf(now)}, core: map[string]int64{"clockEpoch": 1}}
		if err := a.parseLaws(stateText{laws: []string{text}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.times = pacer.NewTimeline(a.State.laws, a.cuts)
		if a.count(); a.Rate != c.rate || a.RateThen != c.then {
			t.Errorf("%s: %s, %v, then %v; want %v, then %v", name, a.Phase, a.Rate, a.RateThen, c.rate, c.then)
		}
	}
}

// TestPeak: only rates that are still to come count.
func TestPeak(t *testing.T) {
	const at, second = silentNow, 1_000_000
	piece := func(r0, r1, dur int64) pacer.Piece { return pacer.Piece{R0: r0, R1: r1, Den: 1, Dur: dur} }
	cut := func(l []lease.Law, t0 int64, last lease.Law) []lease.Law { // by a law from t0 on
		before := l[len(l)-1]
		last.ID, last.T0, last.Prev, last.Cut, last.ClockEpoch = before.ID+1, t0, before.ID, before.Before(t0), before.ClockEpoch
		last.Base = before.Base + last.Cut
		return append(l, last)
	}
	up, down, long := piece(1000, 2000, 2*second), piece(2000, 1000, 2*second), piece(900, 900, 0)
	plan := func(pieces ...pacer.Piece) *lease.Plan { return &lease.Plan{Pieces: pieces} }
	constant := planned(plan(), 0, piece(100, 100, 0))[0]
	pause := lease.Law{Law: pacer.Law{Den: 1}, Phase: lease.Paused, Plan: plan(long), Piece: 1, Left: long, End: pacer.Endless}
	loop := plan(piece(500, 500, second), piece(100, 100, 2*second))
	loop.Loop = true
	for name, c := range map[string]struct {
		laws []lease.Law
		Plan *lease.Plan
		want float64
	}{
		"waiting":             {Plan: plan(piece(100, 200, second), piece(200, 200, second), piece(50, 50, 0)), want: 200},
		"begun":               {laws: []lease.Law{constant}, Plan: plan(piece(100, 100, 0)), want: 100},
		"a ramp in its midst": {laws: planned(plan(up), at-second, up), Plan: plan(up), want: 2000},
		"a ramp down":         {laws: planned(plan(down), at-second, down), Plan: plan(down), want: 1500},
		"past": {laws: planned(plan(piece(900, 900, second), piece(100, 100, 0)), at-3*second, piece(900, 900, second), piece(100, 100, 0)),
			Plan: plan(piece(900, 900, second), piece(100, 100, 0)), want: 100},
		"cut":            {laws: cut(planned(plan(long), at-2*second, long), at-second, constant), Plan: plan(long), want: 100},
		"it begins anew": {laws: planned(loop, at-1500_000, loop.Pieces...), Plan: loop, want: 500},
		"paused":         {laws: cut(planned(plan(long), at-2*second, long), at-second, pause), Plan: plan(long), want: 900},
	} {
		text, _ := lease.PackLaws(c.laws)
		a := reading{State: &State{now: TimeOf(at)}, core: map[string]int64{"clockEpoch": 1}}
		err := a.parseLaws(stateText{laws: []string{text}})
		if err == nil {
			err = a.parsePlan(map[string]string{"plan/0": c.Plan.String()})
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := a.Peak(); got < c.want-2 || got > c.want+0.001 { // the last slot of a ramp is due just before its end
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
