package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// TestAborts: as many failed windows in a row as the threshold says, at the end of the stretch, and all of them proved.
func TestAborts(t *testing.T) {
	in := judgedRun(20, func(int64) int64 { return 20 }, func(second, _ int64) bool { return second >= 10 && second != 15 }) // nothing but errors, but for second 15
	stretch := threshold.Stretch{Width: 1, End: 20, Points: in.Workers[0].Series, Asked: in.AskedBy}
	fails := func(text string, s threshold.Stretch) bool {
		t.Helper()
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return threshold.Aborts(s)
	}
	for _, row := range []struct {
		threshold string
		end       int64
		aborts    bool
	}{
		{"errors:rate<10% over 1s abort after 1", 10, false},
		{"errors:rate<10% over 1s abort after 1", 11, true},
		{"errors:rate<10% over 1s abort after 5", 14, false},
		{"errors:rate<10% over 1s abort after 5", 15, true},
		{"errors:rate<10% over 1s abort after 1", 16, false},
		{"errors:rate<10% over 1s abort after 5", 20, false},
		{"errors:rate<10% over 1s abort after 4", 20, true},
		{"errors:rate<60% over 2s abort after 3", 20, true},
		{"errors:rate<60% over 2s abort after 4", 20, false},
		{"errors:rate<60% over 20s abort after 1", 20, false},
		{"errors:rate<40% over 20s abort after 1", 20, true},
		{"errors:rate<40% over 20s abort after 2", 20, false}, // the run has not gone on for so long
		{"rate:rate>101 over 3s abort after 3", 20, true},
		{"rate:rate>99 over 3s abort after 3", 20, false},
		{"latency:max<10ms over 3s abort after 18", 20, true},
		{"errors:rate<10% over 3s", 20, false},
	} {
		s := stretch
		s.End = row.end
		if got := fails(row.threshold, s); got != row.aborts {
			t.Errorf("%s at %d: %v", row.threshold, row.end, got)
		}
	}
	late := stretch
	late.Begin = 19
	if fails("errors:rate<10% over 1s abort after 2", late) {
		t.Error("a window in the warm-up counts")
	}
	half := stretch // two workers, of which one does not report: what it may have sent mends the rate, not all errors
	half.Asked = func(from, to int64) int64 { return 2 * in.AskedBy(from, to) }
	for text, aborts := range map[string]bool{
		"rate:rate>150 over 1s abort after 1": false, "rate:rate>201 over 1s abort after 1": true,
		"errors:rate<40% over 1s abort after 1": true, "errors:rate<60% over 1s abort after 1": false, "latency:p(50)<10ms over 1s abort after 1": false,
		"latency:p(99)<10ms over 1s abort after 1": true,
	} {
		half.Missing = true
		if got := fails(text, half); got != aborts {
			t.Errorf("%s with a worker missing: %v", text, got)
		}
	}
	half.Asked = func(int64, int64) int64 { return 0 } // a closed loop: nobody knows how much more was sent
	if fails("errors:rate<40% over 1s abort after 1", half) {
		t.Error("a closed loop is aborted without proof")
	}
	half.Missing = false
	if !fails("errors:rate<40% over 1s abort after 1", half) {
		t.Error("a closed loop is not aborted")
	}
	gap := stretch // nothing was published of seconds 18 and 19
	gap.Points = in.Workers[0].Series[:18]
	if fails("errors:rate<40% over 1s abort after 1", gap) || fails("latency:max<10ms over 2s abort after 1", gap) {
		t.Error("no data is taken for a failure")
	}
}

// TestNoAbortWhereTheGeneratorWasTheLimit: in the windows that failed. Errors are trusted anyway.
func TestNoAbortWhereTheGeneratorWasTheLimit(t *testing.T) {
	in := judgedRun(20, func(int64) int64 { return 20 }, func(int64, int64) bool { return true })
	for text, believed := range map[string]bool{
		"latency:p(50)<10ms over 2s abort after 2": false, "rate:rate>110 over 2s abort after 2": false, "errors:rate<1% over 2s abort after 2": true,
	} {
		condition, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for limited, aborts := range map[int64]bool{0: true, 17: true, 18: believed, 25: believed} { // the windows begin with second 17
			s := threshold.Stretch{Width: 1, End: 20, Points: in.Workers[0].Series, Asked: in.AskedBy, Limited: limited}
			if condition.Aborts(s) != aborts {
				t.Errorf("%s, limited up to second %d: %v", text, limited, !aborts)
			}
		}
	}
}

// TestWhatStoppedARunHasFailed: also if the report cannot show it any more because data was lost, or if a generator was
// the limit in another second.
func TestWhatStoppedARunHasFailed(t *testing.T) {
	in := missing(judgedRun(10, func(int64) int64 { return 20 }, func(_, i int64) bool { return i%5 == 0 }), 100)
	rows := []judgedAs{
		{"errors:rate<15% over 1s abort after 1", threshold.Undecided, "20.00 %"},
		{"latency:p(40)<19ms over 1s abort after 1", threshold.Undecided, "20.1ms"},
	}
	stop := func(text string) []report.Command {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return []report.Command{{Command: "stop", What: threshold.StopReason(9) + ", judged without w2"}}
	}
	for i, row := range rows {
		in.Described.Commands = nil
		checkVerdicts(t, in, rows[i:i+1])
		in.Described.Commands = stop("errors:rate<15% over 2s abort after 1") // another one
		checkVerdicts(t, in, rows[i:i+1])
		in.Described.Commands = stop(row.threshold)
		checkVerdicts(t, in, []judgedAs{{row.threshold, threshold.Failed, row.text}})
		if got := verdict(t, in, row.threshold); !strings.HasSuffix(got.Text, "; it stopped the run") {
			t.Errorf("%+v", got)
		}
	}
	measured := reporttest.Beat()
	measured.Self.Shard.Worst += reporttest.Second * 8 / 10
	measured.JudgeBeat()
	in.Workers[0].Total.Self = measured.Self
	checkVerdicts(t, in, []judgedAs{{rows[1].threshold, threshold.Failed, rows[1].text}})
}

// TestVerdicts asserts that each of the last windows has a result and a value, or none if nothing was asked for.
func TestVerdicts(t *testing.T) {
	in := judgedRun(20, func(int64) int64 { return 20 }, func(second, _ int64) bool { return second >= 18 })
	condition, err := threshold.Parse("errors:rate<50% over 2s reduce by 20% after 3")
	if err != nil {
		t.Fatal(err)
	}
	if got := condition.Span(1); got != 4 {
		t.Errorf("the last %d s decide, not 4", got)
	}
	s := threshold.Stretch{Width: 1, Begin: 15, End: 20, Points: in.Workers[0].Series, Asked: in.AskedBy}
	want := []threshold.Verdict{
		{Begin: 15, End: 17, Result: threshold.Passed, Text: "0.00 %"},
		{Begin: 16, End: 18, Result: threshold.Passed, Text: "0.00 %"},
		{Begin: 17, End: 19, Result: threshold.Failed, Value: 0.5, Text: "50.00 %"},
		{Begin: 18, End: 20, Result: threshold.Failed, Value: 1, Text: "100.00 %"},
	}
	for _, n := range []int64{0, 1, 4, 9} { // there are four
		if got := condition.Verdicts(s, n); !slices.Equal(got, want[4-min(n, 4):]) {
			t.Errorf("the last %d windows: %+v", n, got)
		}
	}
	lost := s // half of what was asked for is not known
	lost.Missing, lost.Asked = true, func(from, to int64) int64 { return 2 * in.AskedBy(from, to) }
	if got := condition.Verdicts(lost, 1)[0]; got.Result != threshold.Failed {
		t.Errorf("half of the requests failed, and more may have: %+v", got)
	}
	if got := condition.Verdicts(lost, 2)[0]; got.Result != threshold.Undecided || got.Text != "50.00 %" {
		t.Errorf("a quarter of the requests failed at least: %+v", got)
	}
	idle := threshold.Stretch{Width: 1, Begin: 15, End: 20, Asked: func(int64, int64) int64 { return 0 }}
	if got := condition.Verdicts(idle, 1); !slices.Equal(got, []threshold.Verdict{{Begin: 18, End: 20}}) {
		t.Errorf("nothing was asked for: %+v", got)
	}
	slow, err := threshold.Parse("latency:p(50)<10ms over 2s reduce by 20% after 1")
	if err != nil {
		t.Fatal(err)
	}
	s.Limited = 19
	if got := slow.Verdicts(s, 1)[0]; got.Result != threshold.Undecided {
		t.Errorf("the generator was the limit: %+v", got)
	}
}
