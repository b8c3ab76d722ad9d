package sim

import (
	"fmt"
	"testing"
	"time"
)

// TestFound runs again what the simulation has found.
func TestFound(t *testing.T) {
	for _, c := range []struct {
		kind   string
		seed   uint64
		change func(*Plan)
		what   string
	}{
		{"outage", 6, nil, "what is yielded changed inside of a frame"},
		{"mix", 217, nil, "a permit that gives way to leased slots went on beyond a change of the rate"},
		{"healthy", 1, backAndForth, "the clock went back, and slots were dropped because of permits that had been too late to use"},
		{"mix", 3, nil, "a change took back as skipped what had been yielded"},
		{"clock", 401, nil, "after a second step back what was granted before the first was cut once more"},
		{"mix", 1611, twoDead, "a dead member's call, served late, was given the permit of the whole rate"},
		{"cut-replies", 1601, nil, "the reply after a hand-over is lost: its permit begins much later than the one before"},
		{"mix", 48, nil, "who had no permit yet was given one that began before what was granted already"},
	} {
		t.Run(fmt.Sprint(c.kind, " ", c.seed), func(t *testing.T) {
			p := Draw(c.kind, c.seed, Size{Workers: 6, Length: 20 * time.Second})
			if c.change != nil {
				c.change(&p)
			}
			if err := run(t, p).Check(); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		})
	}
}

// twoDead: until their permits have run out once more, two of six are missing, and nothing else.
func twoDead(p *Plan) { p.Least = 0.85 }

// backAndForth steps the clock forward, so that permits end, and back to before they ended.
func backAndForth(p *Plan) {
	p.Options.PermitFor = 2_000_000
	p.Steps = []Step{{5449599104, 3335499472}, {5805877302, -3720485495}}
	p.Faults = []Span{{p.Steps[0].At, p.Steps[1].At + 700*time.Millisecond}}
}
