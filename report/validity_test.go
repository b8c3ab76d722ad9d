package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// TestFewWorkersProveNothing: a run passes no threshold if a good part of it was skipped or lost, or if its dead-man's
// switch stopped it.
func TestFewWorkersProveNothing(t *testing.T) {
	skipping := func(skipped int64) report.Input {
		in := steady()
		in.Budget.Issued, in.Budget.Skipped = in.Budget.Issued+skipped, skipped
		return in
	}
	losing := func(lost int64) report.Input {
		in := steady()
		in.Budget.Issued += lost
		in.Workers[0].Leased += lost
		return in
	}
	stopped := func(kind string) report.Input {
		in := steady()
		in.Planned = time.Minute
		in.Events = []report.Event{{At: in.StartedAt.Add(10 * time.Second), Kind: kind, Who: "me@here"}}
		return in
	}
	for name, c := range map[string]struct {
		in                  report.Input
		result, doubt, note string
	}{
		"few":     {skipping(10), threshold.Passed, "", ""},
		"many":    {skipping(200), threshold.Undecided, "16.66 % of what was asked for was not sent, because no worker owned it", "because no worker owned it"},
		"little":  {losing(10), threshold.Passed, "", ""},
		"much":    {losing(200), threshold.Undecided, "16.66 % of what was asked for was not sent, because leases had ended", "because leases had ended"},
		"deadman": {stopped("deadman"), threshold.Undecided, "the dead-man's switch stopped the run", "the run ended after 10s of 1m0s: its dead-man's switch stopped it"},
		"stop":    {stopped("stop"), threshold.Passed, "", "the run ended after 10s of 1m0s: stop by me@here"},
		"pause":   {stopped("pause"), threshold.Passed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.in.Workers {
				c.in.Workers[i].Total.Self.Wall = 10e9
			}
			condition, err := threshold.Parse("errors:rate<1%")
			if err != nil {
				t.Fatal(err)
			}
			c.in.Thresholds = []threshold.Threshold{condition}
			r := report.Build(c.in)
			invalid, notes := strings.Join(r.Invalid(), "; "), strings.Join(r.Notes, "; ")
			if r.Thresholds[0].Result != c.result || !strings.Contains(invalid, c.doubt) || (c.doubt == "") != (invalid == "") {
				t.Errorf("%s, %q, want %s, %q", r.Thresholds[0].Result, invalid, c.result, c.doubt)
			}
			if outcome := r.Outcome(); (outcome == report.Invalid) != (c.result == threshold.Undecided) {
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
	self.Wall, self.Steal = 10e9, record.NewLoad(100_000_000, 1_000_000_000)
	self.Steal.Over = 1e9
	for text, want := range map[string]string{"latency:p(99)<1s": threshold.Passed, "errors:rate<1%": threshold.Passed, "latency:p(99)<1ms": threshold.Failed} {
		condition, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = []threshold.Threshold{condition}
		r := report.Build(in)
		stolen := slices.ContainsFunc(r.Workers[0].Verdicts, func(v record.Verdict) bool { return v.Limit == "machine" })
		if !stolen || r.Thresholds[0].Result != want || len(r.Invalid()) > 0 {
			t.Errorf("%s: %+v, verdicts %+v, invalid %q", text, r.Thresholds[0], r.Workers[0].Verdicts, r.Invalid())
		}
	}
}
