package cli

import (
	"bytes"
	"encoding/xml"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// A verdictSuite is what a CI server reads of a JUnit file.
type verdictSuite struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Suite    struct {
		Cases []verdictCase `xml:"testcase"`
	} `xml:"testsuite"`
}

type verdictCase struct {
	Failure *struct{} `xml:"failure"`
	Error   *struct{} `xml:"error"`
}

func (c verdictCase) failed() bool { return c.Failure != nil }
func (c verdictCase) bad() bool    { return c.Failure != nil || c.Error != nil }

// count is how many cases there are of a kind.
func (s verdictSuite) count(kind func(verdictCase) bool) (n int) {
	for _, c := range s.Suite.Cases {
		if kind(c) {
			n++
		}
	}
	return n
}

// anyVerdict is a report at random: complete or not, with an audit that adds up or not, with workers that were a
// limit, measured nothing or sent nothing, with thresholds of any result.
func anyVerdict(rng *rand.Rand) report.Report {
	chance := func(n int) bool { return rng.IntN(n) == 0 }
	r := report.Report{Run: "x", Running: chance(10), Complete: !chance(4), ClosedLoop: chance(5), DurationS: 1, SeriesWidthS: 1}
	if !chance(8) {
		r.StartedAt = time.Unix(1, 0)
	}
	for range rng.IntN(4) {
		w := report.WorkerReport{ID: "w", State: "left", Sent: rng.Int64N(3) * 100}
		if !chance(8) {
			w.Self.MeasuredS = 1
		}
		if limit := []string{"generator", "machine", "endpoint"}[rng.IntN(3)]; chance(4) {
			w.Verdicts = []record.Verdict{{Limit: limit, Cause: "late", Text: "too late"}}
		}
		r.Workers, r.Audit.Sent = append(r.Workers, w), r.Audit.Sent+w.Sent
	}
	n := r.Audit.Sent
	r.Sent, r.Asked, r.Audit.Asked, r.Audit.Issued, r.Audit.Completed = n, n, n, n, n
	if chance(5) {
		r.Audit.Lost++
	}
	for range rng.IntN(4) {
		r.Thresholds = append(r.Thresholds, threshold.Result{
			Threshold: "errors:rate<1%", Unit: "share", Text: "0.00 %",
			Result: []string{threshold.Passed, threshold.Passed, threshold.Failed, threshold.Undecided}[rng.IntN(4)],
		})
	}
	return r
}

// TestFilesAgreeWithExitCode: the exit code of a run with thresholds that is over is 0 exactly if every case of JUnit
// passes, and so says the headline of Markdown. Of other codes both tell which it is.
func TestFilesAgreeWithExitCode(t *testing.T) {
	rng, seen := rand.New(rand.NewPCG(1, 2)), map[int]int{}
	headline := regexp.MustCompile("^### Load test `x`: (passed|failed|undecided|invalid)(, [a-zA-Z ]+)?\n")
	draws := 5_000
	if testing.Short() {
		draws = 2_500
	}
	for range draws {
		r := anyVerdict(rng)
		var file, page bytes.Buffer
		if err := render.JUnit(&file, r); err != nil {
			t.Fatal(err)
		}
		if err := render.Markdown(&page, r); err != nil {
			t.Fatal(err)
		}
		var s verdictSuite
		if err := xml.Unmarshal(file.Bytes(), &s); err != nil || s.Tests != 2+len(r.Thresholds) || len(s.Suite.Cases) != s.Tests {
			t.Fatalf("%v: %s", err, file.String())
		}
		if failed := s.count(verdictCase.failed); failed != s.Failures || s.count(verdictCase.bad) != s.Failures+s.Errors {
			t.Fatalf("%s", file.String())
		}
		m := headline.FindStringSubmatch(page.String())
		if m == nil {
			t.Fatalf("%.200s", page.String())
		}
		exit := Code(Judged(r))
		if r.Running || len(r.Thresholds) == 0 {
			if exit != CodeGood {
				t.Fatalf("exit code %d of\n%s", exit, page.String())
			}
			continue
		}
		seen[exit]++
		others, thresholds := s.Suite.Cases[:2], s.Suite.Cases[2:] // audit and generator come first
		failed := slices.ContainsFunc(thresholds, verdictCase.failed)
		want, says := CodeThreshold, []string{"failed", "undecided"}
		switch {
		case s.count(verdictCase.bad) == 0:
			want, says = CodeGood, []string{"passed"}
		case !failed && slices.ContainsFunc(others, verdictCase.bad):
			want, says = CodeInvalid, []string{"invalid"}
		}
		if exit != want || !slices.Contains(says, m[1]) || (m[1] == "failed") != failed {
			t.Fatalf("exit code %d, want %d, of\n%s\n%s", exit, want, page.String(), file.String())
		}
	}
	if seen[CodeGood] < 100 || seen[CodeInvalid] < 100 || seen[CodeThreshold] < 100 || len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}

// TestIncompleteIsAnError: a report of a run that is over and lacks something is an error, unless thresholds or failures
// tell more. For a worker it is not.
func TestIncompleteIsAnError(t *testing.T) {
	lacks := report.Report{Run: "x", Notes: []string{"worker w: its final snapshot is missing", "b"}}
	const says = "run x: the report is INCOMPLETE: worker w: its final snapshot is missing; b"
	if err := Concluded(lacks); err == nil || err.Error() != says || Code(err) != CodeOther {
		t.Errorf("%v", err)
	}
	if err := Judged(lacks); err != nil {
		t.Errorf("a worker: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*report.Report)
		code   int
		says   string
	}{
		"complete":       {func(r *report.Report) { r.Complete = true }, CodeGood, ""},
		"it goes on":     {func(r *report.Report) { r.Running = true }, CodeGood, ""},
		"no good answer": {func(r *report.Report) { r.Errors = map[string]int64{"tls": 9} }, CodeOther, "run x: no answer was as expected: "},
		"threshold":      {func(r *report.Report) { r.Thresholds = []threshold.Result{{Result: threshold.Failed}} }, CodeThreshold, "run x: 1 of 1 thresholds failed: "},
		"nothing proved": {func(r *report.Report) { r.Thresholds = []threshold.Result{{Result: threshold.Undecided}} }, CodeInvalid, "run x proves nothing about the endpoint: the report is INCOMPLETE"},
	} {
		r := lacks
		c.change(&r)
		if err := Concluded(r); Code(err) != c.code || err != nil && !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoGoodAnswer: a run that is over, without thresholds, and without one good answer is an error that says why.
func TestNoGoodAnswer(t *testing.T) {
	failed := func(change func(*report.Report)) report.Report {
		r := report.Report{Run: "x", Errors: map[string]int64{"status": 7, "timeout": 2}, StatusCodes: map[string]int64{"401": 6, "503": 1}}
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		report report.Report
		says   string // "" = no error
	}{
		"statuses":    {failed(func(*report.Report) {}), "run x: no answer was as expected: 7 requests failed, of class status, most with 401; check path and login, or name the good statuses with --expect"},
		"no status":   {failed(func(r *report.Report) { r.Errors = map[string]int64{"tls": 9} }), "run x: no answer was as expected: 9 requests failed, of class tls; see the report, and check the target with loadctl doctor --url URL"},
		"no ports":    {failed(func(r *report.Report) { r.Errors = map[string]int64{"ports": 9} }), "run x: no answer was as expected: 9 requests failed, of class ports; see the report, and check the target with loadctl doctor --url URL"},
		"no event":    {failed(func(r *report.Report) { r.Errors = map[string]int64{"no-event": 9} }), "run x: no answer was as expected: 9 requests failed, of class no-event; see the report, and look at one request with loadctl try"},
		"one is good": {failed(func(r *report.Report) { r.Success = 0.1 }), ""},
		"it goes on":  {failed(func(r *report.Report) { r.Running = true }), ""},
		"nothing":     {report.Report{Run: "x"}, ""},
	} {
		err := Judged(c.report)
		if c.says == "" && err != nil || c.says != "" && (err == nil || Code(err) != CodeOther || !strings.HasPrefix(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGuardOK asserts that with --guard-ok guards that failed do not count, and all other thresholds do.
func TestGuardOK(t *testing.T) {
	guard := threshold.Result{Threshold: "errors:rate<1% over 5s reduce by 20% after 2", Result: threshold.Failed}
	blind := threshold.Result{Threshold: "latency:p(99)<1s over 5s reduce by 20% after 2", Result: threshold.Undecided}
	other := threshold.Result{Threshold: "errors:rate<50%", Result: threshold.Failed}
	combined := guard
	combined.Threshold = "berlin.loadctl: " + guard.Threshold
	for name, c := range map[string]struct {
		thresholds   []threshold.Result
		without, yet int // exit codes
	}{
		"a guard":              {[]threshold.Result{guard}, CodeThreshold, CodeGood},
		"of a combined report": {[]threshold.Result{combined}, CodeThreshold, CodeGood},
		"another threshold":    {[]threshold.Result{guard, other}, CodeThreshold, CodeThreshold},
		"an undecided guard":   {[]threshold.Result{guard, blind}, CodeThreshold, CodeThreshold},
	} {
		proof := reporttest.Run(t)
		proof.Thresholds = nil
		r := report.Build(proof)
		r.Complete, r.Workers, r.Thresholds = true, nil, c.thresholds
		for ok, want := range map[bool]int{false: c.without, true: c.yet} {
			flags := Report{GuardOK: ok}
			if got := Code(flags.Judged(r)); got != want {
				t.Errorf("%s, --guard-ok %v: exit code %d, want %d: %v", name, ok, got, want, flags.Judged(r))
			}
			if got := Code(flags.Concluded(r)); got != want {
				t.Errorf("%s, --guard-ok %v: exit code %d, want %d", name, ok, got, want)
			}
		}
	}
}
