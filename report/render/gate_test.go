package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// gated returns a run with these thresholds, whose audit and generator pass.
func gated(t testing.TB, thresholds ...string) report.Report {
	t.Helper()
	in := reporttest.Run(t)
	in.Workers[1].Total.Self.Shard.Over = 0 // else it is a limit
	for _, text := range thresholds {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, threshold)
	}
	return report.Build(in)
}

// someOfEach has thresholds that pass, fail and are undecided, with values of each unit.
func someOfEach() []string {
	return []string{"service:p(95)<1s", "errors:rate<1%", "latency:max<1h", "checks:rate>90% over 2s", "rate:rate>500", "status{code=503}:count<100",
		"dropped:count==0", "latency:max<1h over 20s"}
}

// TestThresholdsAreChecks: a threshold is a case, a row and a sample, with the same result as in JSON. One that cannot
// be judged is an error.
func TestThresholdsAreChecks(t *testing.T) {
	r := gated(t, "service:p(95)<1s", "errors:rate<1%", "latency:max<1h", "latency:p(50)<1s over 20s")
	suite := junitOf(t, r)
	page, samples, text := rendered(t, "markdown", r), parseOpenMetrics(t, rendered(t, "openmetrics", r)), rendered(t, "text", r)
	if suite.Tests != 6 || suite.Failures != 1 || suite.Errors != 2 || len(suite.Suite.Cases) != 6 {
		t.Errorf("%+v", suite.Suite.Cases)
	}
	for i, want := range []struct{ name, result, sign, labels string }{
		{"service:p(95)<1s", threshold.Passed, "✓", "unit=seconds"},
		{"errors:rate<1%", threshold.Failed, "✗", "unit=share"},
		{"latency:max<1h", threshold.Undecided, "?", "unit=seconds"},
		{"latency:p(50)<1s over 20s", threshold.Undecided, "?", "unit=seconds"},
	} {
		got, one := r.Thresholds[i], suite.Suite.Cases[2+i]
		if got.Result != want.result || one.Name != want.name || (one.Failure != nil) != (want.result == threshold.Failed) || (one.Error != nil) != (want.result == threshold.Undecided) {
			t.Errorf("%s is %s in %+v", want.name, got.Result, one)
		}
		if row := fmt.Sprintf("| %s | %s %s | %s |\n", render.Prose(want.name), want.sign, want.result, render.Prose(got.Text)); !strings.Contains(page, row) {
			t.Errorf("no %q in\n%s", row, page)
		}
		if line := want.sign + " " + want.name + ": " + got.Text; !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
		value, bound := math.NaN(), "exact"
		if got.Value != nil {
			value = *got.Value
		}
		if got.Unit == threshold.TimeKind {
			value /= 1e9
		}
		if got.Bound {
			bound = "lower"
		}
		name := "loadctl_threshold bound=" + bound + " result=" + want.result + " threshold=" + want.name + " " + want.labels
		if sample, has := samples[name]; !has || sample != value && !(math.IsNaN(sample) && math.IsNaN(value)) {
			t.Errorf("%s is %v, want %v in %v", name, sample, value, samples)
		}
		if samples["loadctl_check check="+want.name+" result="+want.result] != 1 {
			t.Errorf("%s is no check: %v", want.name, samples)
		}
	}
	if !strings.HasPrefix(page, "### Load test `checkout`: failed\n") {
		t.Errorf("%.100s", page)
	}
}

// TestChecksOfAnybody: an archive may have the same name twice, a word that is no result, or more thresholds than fit
// into a comment. Then the comment shows the worst.
func TestChecksOfAnybody(t *testing.T) {
	r := gated(t, "service:p(95)<1s", "service:p(95)<1s", "errors:rate<1%")
	r.Thresholds[0].Result = "splendid"
	one := r.Thresholds[1]
	for i := range 100 {
		one.Threshold = fmt.Sprint("audit ", i)
		r.Thresholds = append(slices.Insert(r.Thresholds, 0, one), one)
	}
	parseOpenMetrics(t, rendered(t, "openmetrics", r))
	suite, page := junitOf(t, r), rendered(t, "markdown", r)
	if suite.Tests != 205 || suite.Failures != 1 || suite.Errors != 1 {
		t.Errorf("%d cases, %d failures, %d errors", suite.Tests, suite.Failures, suite.Errors)
	}
	if rows := strings.Count(page, " passed |"); rows != 18 || strings.Count(page, "✗ failed") != 1 || strings.Count(page, "? undecided") != 1 ||
		!strings.Contains(page, "| and 185 more | | |\n") {
		t.Errorf("%d rows\n%s", rows, page)
	}
}

// TestInvalidIsWhatChecksSay: a run that is over is valid exactly if the checks of audit and generator have passed.
func TestInvalidIsWhatChecksSay(t *testing.T) {
	for name, c := range withVerdicts(t) {
		why := strings.Join(c.r.Invalid(), "; ")
		if (why == "") != (c.r.Running || c.audit == threshold.Passed && c.generator == threshold.Passed) {
			t.Errorf("%s: audit %s, generator %s, %q", name, c.audit, c.generator, why)
		}
	}
}

// TestThresholdsRoundTrip: thresholds survive JSON and archives unchanged.
func TestThresholdsRoundTrip(t *testing.T) {
	r := gated(t, someOfEach()...)
	var text bytes.Buffer
	if err := archive.Write(&text, r); err != nil {
		t.Fatal(err)
	}
	back, err := archive.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(r.Thresholds)
	b, _ := json.Marshal(back.Thresholds)
	if string(a) != string(b) || len(back.Thresholds) != len(someOfEach()) || r.Outcome() != threshold.Failed || back.Outcome() != threshold.Failed {
		t.Errorf("%s\nis not\n%s", b, a)
	}
}
