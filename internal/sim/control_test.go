package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

// lowered lets five members join, so that the permit of the first, which is the whole rate, becomes less; and it is not reached by the
// reply that says so.
func lowered(p *Plan) {
	p.Options.Min = 1
	from := 5*time.Second + 20*time.Millisecond
	p.Members[0].CutBack = []Span{{from, p.Length}}
	for i := range p.Members[1:] {
		p.Members[1+i].Join = 5*time.Second + time.Duration(p.Seed)*10*time.Millisecond - 20*time.Millisecond + time.Duration(i)*1013*time.Microsecond
	}
}

// lowers asks for a tenth of the rate as soon as the run is there again; two members cannot reach it then.
func lowers(p *Plan) {
	p.Options.PermitFor = 5_000_000
	for i := range p.Members {
		p.Members[i].CutCalls, p.Members[i].CutBack = nil, nil
	}
	for i := range p.Members[:2] {
		p.Members[i].CutCalls = []Span{{p.Lost - 100*time.Millisecond, p.Lost + time.Second}}
	}
	ps, err := pacer.Constant(pacer.PerSecond(p.Rate/10), 0).Pieces()
	if err != nil {
		panic(err)
	}
	p.Commands = []Command{{At: p.Lost + 300*time.Millisecond, Kind: "set-rate", Pieces: ps}}
}

// Each rule of the protocol is needed: without it the simulation sees what the rule prevents, and with it, in the same seeds, it does not.
func TestRulesAreNeeded(t *testing.T) {
	overshoot := func(r Result) float64 { return max(0, slices.Max(r.Over)) }
	twice := func(r Result) float64 { return float64(r.Duplicates) }
	lost := func(r Result) float64 { return float64(r.Audit.Lost) } // granted once more to the same call
	as := func(*Plan) {}
	for _, c := range []struct {
		name    string
		without model.Without
		kind    string
		change  func(*Plan)
		wrong   func(Result) float64
		least   float64 // what the worst of the seeds shows
	}{
		{"identity", model.Without{Identity: true}, "failover", as, twice, 50},
		{"seq", model.Without{Seq: true}, "loss", as, lost, 50},
		{"ack", model.Without{Ack: true}, "healthy", lowered, overshoot, 50},
		{"barrier", model.Without{Barrier: true}, "cut-calls", as, overshoot, 50},
		{"grant-from", model.Without{GrantFrom: true}, "lost", as, overshoot, 50},
		{"revoke", model.Without{Revoke: true}, "lost", lowers, func(r Result) float64 { return max(0, r.Raised) }, 50},
		{"prompt", model.Without{Prompt: true}, "lost", lowers, func(r Result) float64 { return r.Sluggish.Seconds() }, 1},
		{"thinning", model.Without{Thinning: true}, "cut-calls", as, overshoot, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			var with, without float64
			for seed := uint64(1); seed <= 5; seed++ {
				p := Draw(c.kind, seed, Size{Workers: 6, Length: 12 * time.Second})
				c.change(&p)
				with = max(with, c.wrong(run(t, p)))
				p.Options.Without = c.without
				without = max(without, c.wrong(run(t, p)))
			}
			t.Logf("with the rule %.2f, without %.2f", with, without)
			if with > tolerance {
				t.Errorf("with the rule: %.2f", with)
			}
			if without < c.least {
				t.Errorf("without the rule: %.2f, at least %.0f should be seen", without, c.least)
			}
		})
	}
}
