package spec

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// TestMaxSpec: a closed loop is one piece of rate 0, and what needs a rate is refused.
func TestMaxSpec(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:0:1:0", 3 * time.Second: "0:0:1:3000000"} {
		s := closed(d)
		p, err := s.Plan()
		if got := pacer.JoinPieces(p.Pieces); err != nil || s.Validate() != nil || got != want || p.Span != d || p.Left != -1 {
			t.Errorf("%v: %s, %+v, %v %v", d, got, p, err, s.Validate())
		}
		if s.Length() != d || !math.IsInf(s.Peak(), 1) || s.Asks() != "max" {
			t.Errorf("%v: length %v, peak %v, asks %s", d, s.Length(), s.Peak(), s.Asks())
		}
	}
	for says, change := range map[string]func(*Spec){
		"--qps max and a rate: ":     func(s *Spec) { s.QPS = pacer.PerSecond(5) },
		"--qps max and --stage: ":    func(s *Spec) { s.Stages = []string{"10s:5"} },
		"--qps max and --profile: ":  func(s *Spec) { s.Profile = "steps:from=1,to=5,by=1,every=1s" },
		"--qps max and --requests: ": func(s *Spec) { s.Requests = 5 },
		"--duration: ":               func(s *Spec) { s.Duration = -1 },
	} {
		s := closed(0)
		change(&s)
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if lines := closed(0).Diff(constant(100)); len(lines) != 1 || lines[0] != "qps: max there, 100 here" {
		t.Errorf("%q", lines)
	}
	text, err := closed(0).Encode()
	if err != nil || !strings.Contains(text, `"max":true`) {
		t.Errorf("%s, %v", text, err)
	}
	if s, err := Parse("x", text); err != nil || len(s.Diff(closed(0))) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestHoldOfAClosedLoop: how long a worker of one goes on by itself.
func TestHoldOfAClosedLoop(t *testing.T) {
	for _, c := range []struct {
		loss            string
		permit, deadman time.Duration
		want            time.Duration
	}{
		{"", 0, 0, DefaultPermitFor},
		{LossPermit, 3 * time.Second, 0, 3 * time.Second},
		{LossPermit, 20 * time.Second, 5 * time.Second, 5 * time.Second},
		{LossStop, 0, 5 * time.Second, StopLease},
		{LossHold, 0, 0, HoldLease},
		{LossHold, 0, 5 * time.Second, 5 * time.Second},
	} {
		s := losing(c.loss, c.permit, c.deadman)
		if s.Max = true; s.Hold() != c.want {
			t.Errorf("%q %v %v: %v", c.loss, c.permit, c.deadman, s.Hold())
		}
	}
}
