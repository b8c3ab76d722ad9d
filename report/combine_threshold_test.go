package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// place returns the archive of a run with these thresholds at one place: 100 requests per second for ten seconds.
func place(t *testing.T, worker string, change func(*report.Input), ms int64, thresholds ...string) report.Report {
	t.Helper()
	in := judgedRun(10, func(int64) int64 { return ms }, func(_, i int64) bool { return i == 0 }) // 1 % fails
	w := &in.Workers[0]
	w.ID, w.Incarnation, w.Total.Worker, w.Total.Incarnation = worker, worker+"-i", worker, worker+"-i"
	w.Total.Self.Wall, w.Total.Self.Cores = int64(10*time.Second), 1
	for _, text := range thresholds {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, threshold)
	}
	if change != nil {
		change(&in)
	}
	return reporttest.Reread(t, report.Build(in))
}

// combinedOf returns the thresholds of the sum of two, each with its result and text.
func combinedOf(t *testing.T, a, b report.Report) (all []string) {
	t.Helper()
	r, err := report.Combine([]report.Part{{Name: "a.loadctl", Report: a}, {Name: "b.loadctl", Report: b}})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range reporttest.Reread(t, r).Thresholds {
		all = append(all, fmt.Sprintf("%s %s %s", one.Result, one.Threshold, one.Text))
	}
	return all
}

// TestCombineJudgesAnew: both parts pass and the sum fails, or the reverse. The value is that of all requests.
func TestCombineJudgesAnew(t *testing.T) {
	for _, row := range []struct{ threshold, ofA, ofB, sum, text string }{
		{"rate:rate<150", threshold.Passed, threshold.Passed, threshold.Failed, "200/s"},
		{"rate:rate>150", threshold.Failed, threshold.Failed, threshold.Passed, "200/s"},
		{"errors:count<15", threshold.Passed, threshold.Passed, threshold.Failed, "20"},
		{"errors:rate<=1%", threshold.Passed, threshold.Passed, threshold.Passed, "1.00 %"},
		{"errors:count==2 over 1s", threshold.Failed, threshold.Failed, threshold.Passed, "2 in seconds 0 to 1"},
		{"rate:rate<150 over 2s", threshold.Passed, threshold.Passed, threshold.Failed, "200/s in seconds 0 to 2, 9 of 9 windows failed"},
		{"latency:p(50)<15ms", threshold.Passed, threshold.Failed, threshold.Passed, "10.0ms"},
		{"latency:p(51)<15ms", threshold.Passed, threshold.Failed, threshold.Failed, "30.0ms"},
		{"latency:avg<=21ms", threshold.Passed, threshold.Failed, threshold.Passed, "20.0ms"},
		{"status{code=503}:count<15", threshold.Passed, threshold.Passed, threshold.Failed, "20"},
	} {
		a, b := place(t, "berlin", nil, 10, row.threshold), place(t, "paris", nil, 30, strings.Replace(row.threshold, ":", " : ", 1))
		if a.Thresholds[0].Result != row.ofA || b.Thresholds[0].Result != row.ofB {
			t.Errorf("%+v, %+v", a.Thresholds, b.Thresholds)
		}
		if got, want := combinedOf(t, a, b), []string{row.sum + " " + row.threshold + " " + row.text}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCombineLeavesWhatIsNotExact: a threshold that only one part has, or that cannot be judged as exactly as in the
// parts, keeps its result.
func TestCombineLeavesWhatIsNotExact(t *testing.T) {
	const rate, over = "rate:rate<150", "rate:rate<150 over 8s"
	parts := func(of ...string) []string {
		var all []string
		for i, name := range []string{"a.loadctl: ", "b.loadctl: "} {
			all = append(all, strings.Replace(of[i], " ", " "+name, 1))
		}
		return all
	}
	warm := func(in *report.Input) { in.Warmup = 2 * time.Second }
	long := func(in *report.Input) { in.Duration = 20 * time.Minute }
	for name, c := range map[string]struct {
		a, b report.Report
		want []string
	}{
		"only one has it": {place(t, "berlin", nil, 10, rate), place(t, "paris", nil, 10, "errors:count<15"), parts("passed rate:rate<150 100/s", "passed errors:count<15 10")},
		"another warm-up": {place(t, "berlin", warm, 10, over), place(t, "paris", nil, 10, over),
			parts("passed "+over+" 100/s in seconds 2 to 10", "passed "+over+" 100/s in seconds 0 to 8")},
		"the same warm-up": {place(t, "berlin", warm, 10, over), place(t, "paris", warm, 10, over), []string{"failed " + over + " 200/s in seconds 2 to 10, 1 of 1 windows failed"}},
		"incomplete": {place(t, "berlin", nil, 10, rate), place(t, "paris", func(in *report.Input) { *in = missing(*in, 10) }, 10, rate),
			parts("passed "+rate+" 100/s", "undecided "+rate+" 100/s, but the report is INCOMPLETE")},
		"other points": {place(t, "berlin", nil, 10, over), place(t, "paris", long, 10, over), parts("passed "+over+" 100/s in seconds 0 to 8", "passed "+over+" 100/s in seconds 0 to 8")},
	} {
		if got := combinedOf(t, c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// A combined report that is combined again is not judged under its new names.
	both, err := report.Combine([]report.Part{{Name: "a", Report: place(t, "berlin", nil, 10, rate)}, {Name: "b", Report: place(t, "paris", nil, 10, "errors:count<15")}})
	if err != nil {
		t.Fatal(err)
	}
	both.Run = "both"
	if got := combinedOf(t, reporttest.Reread(t, both), place(t, "rome", nil, 10, rate)); len(got) != 3 || !strings.HasPrefix(got[0], "passed a.loadctl: a: rate") || !strings.HasPrefix(got[2], "passed b.loadctl: rate") {
		t.Errorf("%q", got)
	}
}
