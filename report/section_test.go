package report_test

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// TestSectionIsJudgedAsARun: for a section that is the whole run, each threshold has the same result as in the report,
// whatever windows the metric has.
func TestSectionIsJudgedAsARun(t *testing.T) {
	in := judgedRun(10, func(second int64) int64 { return 20 + second }, func(_, i int64) bool { return i == 7 })
	in.Workers[0].Leased += 20
	in.Workers[0].Total.Counts.LateDropped = 20
	in.Budget.Issued += 20
	s := report.Section{Asked: 1020, Length: 10 * time.Second, Workers: []*record.Snapshot{in.Workers[0].Total}}
	for _, text := range []string{
		"latency:p(99)<50ms", "latency:p(99)<25ms", "latency:p(90)<29ms", "latency:avg<1ms", "service:max<30ms", "lag:p(50)<1ms", "errors:rate<0.1%",
		"errors:count<11", "checks:rate>99%", "status{code=503}:count<1", "status{code=5xx}:rate<2%", "rate:rate>99", "dropped:count<20", "dropped:rate<2%",
	} {
		want := verdict(t, in, text)
		threshold, _ := threshold.Parse(text)
		if got := s.Judge(threshold); got.Result != want.Result || got.Text != want.Text || got.Unit != want.Unit {
			t.Errorf("%s: %s, %s; of the run %s, %s", text, got.Result, got.Text, want.Result, want.Text)
		}
	}
	condition, _ := threshold.Parse("latency:p(99)<50ms")
	if got := (report.Section{}).Judge(condition); got.Result != threshold.Undecided || got.Value != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestSectionOfSeveralWorkers: a slow worker counts by the requests that it sent.
func TestSectionOfSeveralWorkers(t *testing.T) {
	fast, slow := steady().Workers[0].Total, judgedRun(1, func(int64) int64 { return 900 }, nil).Workers[0].Total
	s := report.Section{Asked: 1100, Length: 10 * time.Second, Workers: []*record.Snapshot{fast, slow}}
	condition, _ := threshold.Parse("latency:p(95)<50ms")
	if got := s.Judge(condition); got.Result != threshold.Failed {
		t.Errorf("%+v", got)
	}
	if c := s.Total().Counts; c.Sent != 1100 || fast.Counts.Sent != 1000 {
		t.Errorf("%+v", c)
	}
}

// TestSectionGenerator: whose limit it was, and whether only the number of requests in flight was the limit.
func TestSectionGenerator(t *testing.T) {
	free, busy, full := reporttest.Beat(), reporttest.Beat(), reporttest.Beat()
	busy.Worker, full.Worker = "busy", "full"
	busy.Self.CPU = record.NewLoad(1_900_000_000, 2_000_000_000)
	full.Counts.NoRoom = full.Counts.Fired() / 2
	for _, s := range []*record.Snapshot{free, busy, full} {
		s.JudgeBeat()
	}
	for _, c := range []struct {
		name  string
		all   []*record.Snapshot
		limit string
		full  bool
	}{
		{"nobody", []*record.Snapshot{free}, "", false},
		{"nothing", nil, "", false},
		{"one of two", []*record.Snapshot{free, busy}, "the generator was the limit: worker busy (cpu)", false},
		{"full", []*record.Snapshot{full, free}, "the generator was the limit: worker full (max_in_flight)", true},
		{"both", []*record.Snapshot{full, busy}, "the generator was the limit: worker full (max_in_flight) and 1 more", false},
	} {
		limit, full := report.Section{Workers: c.all}.Generator()
		if limit != c.limit || full != c.full {
			t.Errorf("%s: %q, %v", c.name, limit, full)
		}
	}
}
