package sim

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

func (d draw) suspend() { d.Stops = true }

func (d draw) requests() {
	d.Requests = d.Rate * int64(d.Length/time.Second) * (20 + d.rng.Int64N(100)) / 100
}

func (d draw) rm() {
	for _, m := range d.Members {
		if m.Crash > 0 {
			d.Removes = append(d.Removes, Remove{m.Crash + d.between(time.Millisecond, 3*time.Second), m.Name})
		}
	}
}

func (d draw) motion() { d.failovers(2) }

func (d draw) copies() {
	d.Net.Double, d.Net.Late = 0.5, d.between(time.Second, 6*time.Second)
	d.relapse()
	if d.chance(0.7) {
		d.Options.PermitFor = 10_000_000
	}
}

func (d draw) short() {
	d.relapse()
	d.Options.PermitFor, d.Stops = 550_000, true
	for i := range d.Members {
		if m := &d.Members[i]; d.chance(0.5) {
			m.Pauses = append(m.Pauses, d.stretch(2*time.Second))
		}
	}
}

// stretch returns a random period of time.
func (d draw) stretch(longest time.Duration) Span {
	at := d.between(2*time.Second, d.Length)
	return Span{From: at, To: at + d.between(10*time.Millisecond, longest)}
}

func (d draw) failovers(n int) {
	at := 2 * time.Second
	for range 1 + d.rng.IntN(n) {
		at = d.between(at, at+d.Length/time.Duration(n+1))
		s := Span{From: at, To: at + d.between(1, 3*time.Second)}
		d.Down = append(d.Down, s)
		d.Failover = append(d.Failover, Failover{At: s.To, Forgets: s.To - s.From + d.between(0, 2*time.Second), Skew: d.between(-5*time.Millisecond, 5*time.Millisecond)})
		at = s.To + 10*time.Millisecond
	}
}

// relapse makes failovers that forget how a lease ended, or what was passed on, while those who know it cannot be
// reached.
func (d draw) relapse() {
	d.Options.PermitFor = 2_000_000
	hold := 2 * time.Second
	at := 4 * time.Second
	for range 1 + d.rng.IntN(3) {
		at = d.between(at, at+5*time.Second)
		forgets := d.between(0, 4*time.Second)
		down := Span{From: at - d.between(0, min(forgets+1, 300*time.Millisecond)), To: at}
		d.Down = append(d.Down, down)
		d.Failover = append(d.Failover, Failover{At: at, Forgets: forgets, Skew: d.between(-5*time.Millisecond, 5*time.Millisecond)})
		for i := range d.Members {
			m := &d.Members[i]
			var s Span
			switch d.rng.IntN(5) {
			case 0: // out of reach until its lease is over, and back just before or after
				s = Span{From: at - hold - d.between(0, forgets+1), To: at + d.between(-500*time.Millisecond, 100*time.Millisecond)}
			case 1: // out of reach from then on
				s = Span{From: at - d.between(0, 50*time.Millisecond), To: at + d.between(500*time.Millisecond, 3*time.Second)}
			case 2:
				if m.Leave == 0 && m.Crash == 0 && d.chance(0.5) {
					m.Leave = at - d.between(0, forgets+time.Second)
				}
				continue
			case 3:
				if m.Incarnation == "1" && m.Leave == 0 && m.Crash == 0 && d.chance(0.3) {
					m.Join = at - d.between(0, forgets+time.Second)
				}
				continue
			default:
				continue
			}
			m.CutCalls, m.CutBack = append(m.CutCalls, s), append(m.CutBack, s)
		}
		at += 100 * time.Millisecond
	}
}

func (d draw) steps() {
	for range 1 + d.rng.IntN(4) {
		d.Steps = append(d.Steps, Step{At: d.between(2*time.Second, d.Length), By: d.between(-15*time.Second, 15*time.Second)})
	}
}

// storm is all faults at once.
func (d draw) storm() {
	if d.chance(0.5) {
		d.Net.LoseCall, d.Net.LoseBack = 0.3*d.rng.Float64(), 0.3*d.rng.Float64()
	}
	d.Net.Double, d.Net.Late = 0.2*d.rng.Float64(), d.between(time.Second, 15*time.Second)
	d.Stops = true
	if d.chance(0.7) {
		d.failovers(3)
	}
	if d.chance(0.2) {
		d.Lost = d.between(2*time.Second, d.Length)
	}
	if d.chance(0.2) {
		d.steps()
	}
	for range d.rng.IntN(3) {
		d.Frozen = append(d.Frozen, d.stretch(4*time.Second))
	}
	for range d.rng.IntN(3) {
		d.Down = append(d.Down, d.stretch(8*time.Second))
	}
	for i := range d.Members {
		m := &d.Members[i]
		if d.chance(0.4) {
			m.Pauses = append(m.Pauses, d.stretch(2*time.Duration(d.Options.PermitFor)*time.Microsecond))
		}
		if d.chance(0.3) {
			m.CutBack = append(m.CutBack, d.stretch(14*time.Second))
		}
		if d.chance(0.3) {
			m.CutCalls = append(m.CutCalls, d.stretch(14*time.Second))
		}
	}
	for n := range d.rng.IntN(5) {
		ps, err := pacer.Constant(pacer.PerSecond(1+d.rng.Int64N(2*d.Rate)), 0).Pieces()
		if err != nil {
			panic(fmt.Sprint("pieces: ", err))
		}
		kind := []string{"set-rate", "set-rate", "pause", "resume"}[d.rng.IntN(4)]
		d.Commands = append(d.Commands, Command{At: d.between(2*time.Second, d.Length) + time.Duration(n), Kind: kind, Pieces: ps})
	}
}
