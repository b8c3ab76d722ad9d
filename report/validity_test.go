package report

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFewWorkersProveNothing: a run passes no threshold if no worker owned a good part of it, or if its dead-man's
// switch stopped it.
func TestFewWorkersProveNothing(t *testing.T) {
	skipping := func(skipped int64) Input {
		in := steady()
		in.Budget.Issued, in.Budget.Skipped = in.Budget.Issued+skipped, skipped
		return in
	}
	stopped := func(kind string) Input {
		in := steady()
		in.Planned = time.Minute
		in.Events = []Event{{At: in.StartedAt.Add(10 * time.Second), Kind: kind, Who: "me@here"}}
		return in
	}
	for name, c := range map[string]struct {
		in                  Input
		result, doubt, note string
	}{
		"few":     {skipping(10), Passed, "", ""},
		"many":    {skipping(200), Undecided, "no worker owned 16.66 % of what was asked for", "because no worker owned it"},
		"deadman": {stopped("deadman"), Undecided, "the dead-man's switch stopped the run", "the run ended after 10s of 1m0s: its dead-man's switch stopped it"},
		"stop":    {stopped("stop"), Passed, "", "the run ended after 10s of 1m0s: stop by me@here"},
		"pause":   {stopped("pause"), Passed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.in.Workers {
				c.in.Workers[i].Total.Self.Wall = 10e9
			}
			threshold, err := ParseThreshold("errors:rate<1%")
			if err != nil {
				t.Fatal(err)
			}
			c.in.Thresholds = []Threshold{threshold}
			r := Build(c.in)
			invalid, notes := strings.Join(r.Invalid(), "; "), strings.Join(r.Notes, "; ")
			if r.Thresholds[0].Result != c.result || !strings.Contains(invalid, c.doubt) || (c.doubt == "") != (invalid == "") {
				t.Errorf("%s, %q, want %s, %q", r.Thresholds[0].Result, invalid, c.result, c.doubt)
			}
			if outcome := r.Outcome(); (outcome == Invalid) != (c.result == Undecided) {
				t.Errorf("outcome %s", outcome)
			}
			if !strings.Contains(notes, c.note) || c.note == "" && slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "ended after") }) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

// TestStolenTime: time taken by the hypervisor makes latencies longer, so a threshold that is met in spite of that is
// met.
func TestStolenTime(t *testing.T) {
	in := steady()
	self := &in.Workers[0].Total.Self
	self.Wall, self.Steal = 10e9, NewLoad(100_000_000, 1_000_000_000)
	self.Steal.Over = 1e9
	for text, want := range map[string]string{"latency:p(99)<1s": Passed, "errors:rate<1%": Passed, "latency:p(99)<1ms": Failed} {
		threshold, err := ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = []Threshold{threshold}
		r := Build(in)
		stolen := slices.ContainsFunc(r.Workers[0].Verdicts, func(v Verdict) bool { return v.Limit == "machine" })
		if !stolen || r.Thresholds[0].Result != want || len(r.Invalid()) > 0 {
			t.Errorf("%s: %+v, verdicts %+v, invalid %q", text, r.Thresholds[0], r.Workers[0].Verdicts, r.Invalid())
		}
	}
}
