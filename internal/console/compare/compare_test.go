package compare

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// virtual is a run in virtual time.
type virtual struct {
	seconds int
	rate    int
	median  time.Duration // of the latencies
	spread  float64       // of a second's requests, of the logarithm
	drift   float64       // of the seconds' medians, of the logarithm
	memory  float64       // of these: 0 = none, 0.9 = a second is much like the one before
	errors  float64       // share

	events     int64         // of each answer; 0 = it comes in one piece
	first, gap time.Duration // of these, on average
}

// report plays the run.
func (v virtual) report(rng *rand.Rand, worker string, start time.Time) report.Report {
	series, total := new(record.Series), record.NewSnapshot(worker, "i")
	mood, recorder := rng.NormFloat64(), record.NewRecorder()
	for s := range v.seconds {
		mood = v.memory*mood + math.Sqrt(1-v.memory*v.memory)*rng.NormFloat64()
		recorder.Reset()
		beat := record.NewSnapshot(worker, "i")
		for range v.rate {
			sample := record.Finished{Status: 200, Done: int64(float64(v.median) * math.Exp(v.drift*mood+v.spread*rng.NormFloat64()))}
			if rng.Float64() < v.errors {
				sample.Status, sample.Class = 500, "status"
			}
			recorder.Sent()
			v.stream(rng, recorder, &sample)
			recorder.Done(sample)
		}
		beat.Record(recorder)
		series.Add(int64(s)*1_000_000+500_000, beat)
		total.Merge(beat)
	}
	total.Final = true
	points := series.Points()
	n := int64(v.seconds * v.rate)
	return report.Build(report.Input{
		Run: "r", StartedAt: start, Duration: time.Duration(v.seconds) * time.Second, TargetRate: float64(v.rate), Budget: report.Budget{Issued: n},
		Workers: []report.WorkerInput{{ID: worker, Incarnation: "i", State: "left", Gone: true, Leased: n, Total: total, Series: points}},
		AskedBy: func(from, to int64) int64 { return (to - from) * int64(v.rate) / 1_000_000 },
	})
}

// side is a number of runs, one at each second one.
func (v virtual) side(rng *rand.Rand, name string, runs, first int) Side {
	s := Side{Name: name}
	for i := range runs {
		s.Runs = append(s.Runs, v.report(rng, name, time.Unix(int64(first+2*i), 0)))
	}
	return s
}

// row returns a row of a result.
func row(t *testing.T, r Result, name string) Row {
	t.Helper()
	for _, one := range r.Rows {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("no %s", name)
	return Row{}
}

// TestCompareKnownDifference: 10 ms against 25 ms is +150 %, at each percentile, and the interval contains it.
func TestCompareKnownDifference(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		a := virtual{seconds: 120, rate: 200, median: 10 * time.Millisecond, spread: 0.1, drift: 0.03, memory: 0.7}
		b := a
		b.median = 25 * time.Millisecond
		r := Compare(a.side(rng, "a", 1, 0), b.side(rng, "b", 1, 1))
		for _, name := range []string{"latency:avg", "latency:p(50)", "latency:p(90)", "latency:p(99)"} {
			one := row(t, r, name)
			d := one.Difference
			if d == nil || !d.Differs() || d.Low > 1.5 || d.High < 1.5 || d.High-d.Low > 0.6 || math.Abs(one.Change()-1.5) > 0.12 {
				t.Errorf("seed %d: %s: %+v, %+v", seed, name, one, d)
			}
		}
		if one := row(t, r, "rate"); one.Difference.Differs() || one.Base != 200 || one.Other != 200 {
			t.Errorf("seed %d: %+v, %+v", seed, one, one.Difference)
		}
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "one run a side") {
			t.Errorf("notes %q", r.Notes)
		}
	}
}

// TestCompareTheSame: 40 pairs of the same test, in which each second resembles the one before. At most 5 % seem to
// differ in any row.
func TestCompareTheSame(t *testing.T) {
	for name, v := range map[string]virtual{
		"independent": {seconds: 120, rate: 100, median: 10 * time.Millisecond, spread: 0.5, errors: 0.01},
		"correlated":  {seconds: 120, rate: 100, median: 10 * time.Millisecond, spread: 0.3, drift: 0.1, memory: 0.8, errors: 0.02},
		"short":       {seconds: 30, rate: 200, median: 300 * time.Microsecond, spread: 0.3, drift: 0.05, memory: 0.5},
		"constant":    {seconds: 60, rate: 50, median: 10 * time.Millisecond},
	} {
		wolves, rng := 0, rand.New(rand.NewPCG(7, 7))
		pairs := 40
		if testing.Short() {
			if pairs = 20; name == "independent" || name == "short" {
				continue
			}
		}
		for range pairs {
			r := Compare(v.side(rng, "a", 1, 0), v.side(rng, "b", 1, 1))
			for _, one := range r.Rows {
				if one.Difference.Differs() {
					wolves++
					t.Logf("%s: %s: %+v, %+v", name, one.Name, one, one.Difference)
					break
				}
			}
		}
		if wolves > pairs*5/100 {
			t.Errorf("%s: %d of %d pairs seem to differ", name, wolves, pairs)
		}
	}
}

// TestCompareTheSameOften: short runs in which most of the variation lasts for a quarter of a run, and single requests
// take many times as long as others. There the error of one run is hardest to see.
func TestCompareTheSameOften(t *testing.T) {
	for _, c := range []struct {
		name        string
		runs, pairs int
		virtual
	}{
		{"short", 1, 400, virtual{seconds: 12, rate: 60, median: 10 * time.Millisecond, spread: 0.3, drift: 0.1, memory: 0.8}},
		{"heavy tails", 1, 400, virtual{seconds: 30, rate: 30, median: 10 * time.Millisecond, spread: 1.2, drift: 0.2, memory: 0.8, errors: 0.02}},
		{"long memory", 1, 100, virtual{seconds: 60, rate: 20, median: 10 * time.Millisecond, spread: 0.3, drift: 0.2, memory: 0.9}},
		{"three", 3, 100, virtual{seconds: 20, rate: 30, median: 10 * time.Millisecond, spread: 0.5, drift: 0.2, memory: 0.8}},
	} {
		if testing.Short() {
			if c.pairs /= 5; c.name == "heavy tails" || c.name == "long memory" {
				continue
			}
		}
		wolves, rng := 0, rand.New(rand.NewPCG(11, 11))
		for range c.pairs {
			r := Compare(c.side(rng, "a", c.runs, 0), c.side(rng, "b", c.runs, 1))
			if slices.ContainsFunc(r.Rows, func(one Row) bool { return one.Difference.Differs() }) {
				wolves++
			}
		}
		t.Logf("%s: %d of %d pairs seem to differ", c.name, wolves, c.pairs)
		if wolves > c.pairs*5/100 {
			t.Errorf("%s: %d of %d pairs seem to differ", c.name, wolves, c.pairs)
		}
	}
}

// TestCompareShortRuns: large differences are found in short runs too.
func TestCompareShortRuns(t *testing.T) {
	a := virtual{seconds: 20, rate: 200, median: 10 * time.Millisecond, spread: 0.1, drift: 0.03, memory: 0.5}
	b := a
	b.median = 25 * time.Millisecond
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		r := Compare(a.side(rng, "a", 1, 0), b.side(rng, "b", 1, 1))
		for _, name := range []string{"latency:avg", "latency:p(50)", "latency:p(90)"} {
			if d := row(t, r, name).Difference; !d.Differs() || d.Low > 1.5 || d.High < 1.5 {
				t.Errorf("seed %d: %s: %+v", seed, name, d)
			}
		}
	}
}

// TestCompareRuns: with three runs a side, each with its own level, random differences are not called differences, and
// large ones are.
func TestCompareRuns(t *testing.T) {
	levels := func(rng *rand.Rand, name string, first int, median time.Duration) Side {
		s := Side{Name: name}
		for i := range 3 {
			v := virtual{seconds: 60, rate: 100, spread: 0.1, median: time.Duration(float64(median) * math.Exp(0.1*rng.NormFloat64()))}
			s.Runs = append(s.Runs, v.report(rng, name, time.Unix(int64(first+2*i), 0)))
		}
		return s
	}
	wolves, rng := 0, rand.New(rand.NewPCG(9, 9))
	pairs := 40
	if testing.Short() {
		pairs = 20
	}
	for range pairs {
		if row(t, Compare(levels(rng, "a", 0, 10*time.Millisecond), levels(rng, "b", 1, 10*time.Millisecond)), "latency:p(50)").Difference.Differs() {
			wolves++
		}
	}
	if wolves > pairs*5/100 {
		t.Errorf("%d of %d pairs seem to differ", wolves, pairs)
	}
	r := Compare(levels(rng, "a", 0, 10*time.Millisecond), levels(rng, "b", 1, 25*time.Millisecond))
	if d := row(t, r, "latency:p(50)").Difference; !d.Differs() || d.Low > 1.5 || d.High < 1.5 {
		t.Errorf("%+v", d)
	}
	if len(r.Notes) != 0 {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestNotes: notes say what the runs cannot show.
func TestNotes(t *testing.T) {
	v, rng := virtual{seconds: 8, rate: 10, median: time.Millisecond}, rand.New(rand.NewPCG(1, 1))
	for says, sides := range map[string][2]Side{
		"one run a side":    {v.side(rng, "a", 1, 0), v.side(rng, "b", 3, 1)},
		"2 runs a side":     {v.side(rng, "a", 2, 0), v.side(rng, "b", 2, 1)},
		"not taken in turn": {v.side(rng, "a", 3, 0), v.side(rng, "b", 3, 100)},
	} {
		if r := Compare(sides[0], sides[1]); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], says) {
			t.Errorf("%s: %q", says, r.Notes)
		}
	}
	part := v.side(rng, "a", 1, 0)
	part.Runs[0].Complete = false
	if notes := strings.Join(Compare(part, v.side(rng, "b", 1, 1)).Notes, "; "); !strings.Contains(notes, "a is not complete") {
		t.Error(notes)
	}
}

// TestNoInterval: if there is no interval, the result says why.
func TestNoInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	good := virtual{seconds: 60, rate: 100, median: time.Millisecond, spread: 0.1}
	short, few := good, good
	short.seconds, few.rate = 3, 1
	json, nothing, dropped := good.side(rng, "json", 1, 0), Side{"nothing", []report.Report{report.Build(report.Input{})}}, good.side(rng, "dropped", 1, 0)
	json.Runs[0].Histograms = nil
	bound := 0.95
	dropped.Runs[0].LowerBoundsAbove = &bound
	for _, c := range []struct {
		side       Side
		name, says string
	}{
		{short.side(rng, "short", 1, 0), "latency:p(50)", "too short"},
		{few.side(rng, "few", 1, 0), "latency:p(99)", "too few requests"},
		{json, "latency:p(50)", "JSON has no histograms"},
		{nothing, "latency:p(50)", "nothing ended"},
		{nothing, "rate", "nothing ended"},
		{dropped, "latency:p(99)", "a lower bound"},
		{dropped, "latency:avg", "a lower bound"},
	} {
		base := good.side(rng, "base", 1, 1)
		for _, r := range []Result{Compare(base, c.side), Compare(c.side, base)} {
			if one := row(t, r, c.name); one.Difference != nil || !strings.Contains(one.Why, c.says) {
				t.Errorf("%s, %s: %+v", c.side.Name, c.name, one)
			}
			var text bytes.Buffer
			if err := Text(&text, New(base, c.side)); err != nil || !strings.Contains(text.String(), "none: "+c.says) {
				t.Errorf("%v, %s", err, text.String())
			}
		}
	}
	r := Compare(dropped, good.side(rng, "base", 1, 1))
	if row(t, r, "latency:p(90)").Difference == nil || row(t, r, "rate").Difference == nil {
		t.Errorf("%+v", r)
	}
	r = Compare(json, good.side(rng, "base", 1, 1))
	if d := row(t, r, "rate").Difference; d == nil || d.Differs() {
		t.Errorf("rate of JSON: %+v", d)
	}
}

// TestDoubts: sides of different tests, and runs whose generator was the limit, are named.
func TestDoubts(t *testing.T) {
	v, rng := virtual{seconds: 8, rate: 10, median: time.Millisecond}, rand.New(rand.NewPCG(1, 1))
	base := v.side(rng, "a", 2, 0)
	if all := Doubts(base, v.side(rng, "b", 2, 1)); len(all) != 0 {
		t.Errorf("%q", all)
	}
	for says, change := range map[string]func(*report.Report){
		"a and b are not the same test: rate 10, 20":                     func(r *report.Report) { r.TargetRate = 20 },
		"a and b are not the same test: rate 10, 20, and limiter , gcra": func(r *report.Report) { r.TargetRate, r.Limiter = 20, "gcra" },
		"a and b are not the same test: closed loop false, true":         func(r *report.Report) { r.ClosedLoop = true },
		"a and b are not the same test: limiter , gcra":                  func(r *report.Report) { r.Limiter = "gcra" },
		"b: worker b was the limit (generator, cpu)":                     func(r *report.Report) { r.Workers[0].Verdicts = []record.Verdict{{Limit: "generator", Cause: "cpu"}} },
		"b: worker b was the limit (machine, steal)":                     func(r *report.Report) { r.Workers[0].Verdicts = []record.Verdict{{Limit: "machine", Cause: "steal"}} },
		"b is still running":                                             func(r *report.Report) { r.Running = true },
	} {
		other := v.side(rng, "b", 2, 1)
		change(&other.Runs[1])
		if all := Doubts(base, other); len(all) != 1 || !strings.HasPrefix(all[0], says) {
			t.Errorf("%q, want %q", all, says)
		}
	}
}

// TestRules: which strings are rules, and which differences they fail.
func TestRules(t *testing.T) {
	for text, ok := range map[string]bool{
		"latency:p(99)>+10%": true, "latency:p(99)>10%": true, " latency:p(99.9) > 10 % ": true, "rate<-5%": true, "throughput<-0.5%": true, "errors:rate>+1%": true,
		"latency:avg>0%": true, "latency:med>1%": true, "": false, "latency:p(99)": false, "latency:p(98)>1%": false, "latency:p(99)>10": false, "latency:p(99)>10ms": false,
		"latency:p(99)=10%": false, "latency:p(99)>=10%": false, "sent>1%": false, "latency>1%": false, "latency:p(99)>1e9%": false, "latency:p(99)>NaN%": false,
		"latency:p(99)>+10% rate<1%": false, "latency:p(99)>--10%": false, "latency:p(99)>99999999%": false,
	} {
		if _, err := ParseRule(text); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	result := Result{Name: "x", Rows: []Row{
		{Name: "latency:p(99)", Base: 10, Other: 12, Difference: &Interval{0.1, 0.3}},
		{Name: "latency:p(50)", Base: 10, Other: 12, Difference: &Interval{-0.1, 0.5}},
		{Name: "rate", Unit: PerSecond, Base: 100, Other: 90, Difference: &Interval{-0.11, -0.09}},
		{Name: "errors:rate", Unit: Share, Base: 0, Other: 0.02, Difference: &Interval{0.01, 0.03}},
		{Name: "latency:avg", Base: 10, Other: 10, Why: "too short"},
	}}
	for _, c := range []struct {
		text, result string
		fails        bool
		says         string
	}{
		{"latency:p(99)>+10%", Met, true, "x: latency:p(99)>+10%: met, the difference is +20.0 % (+10.0 % to +30.0 %)"},
		{"latency:p(99)>+21%", Undecided, false, "x: latency:p(99)>+21%: cannot tell, the difference is +20.0 % (+10.0 % to +30.0 %)"},
		{"latency:p(99)>+30%", NotMet, false, "x: latency:p(99)>+30%: not met, the difference is +20.0 % (+10.0 % to +30.0 %)"},
		{"latency:p(99)<-1%", NotMet, false, ""},
		{"latency:p(99)<+25%", Met, true, ""},
		{"latency:p(50)>+10%", Undecided, false, "cannot tell, the difference is +20.0 % (-10.0 % to +50.0 %)"}, // it may be chance
		{"latency:p(50)<-5%", Undecided, false, ""},
		{"latency:p(50)<-10%", NotMet, false, ""},
		{"latency:p(50)>-20%", Met, true, ""}, // the whole interval
		{"latency:p(50)<+51%", Met, true, ""},
		{"rate<-5%", Met, true, "the difference is -10.0 % (-11.0 % to -9.0 %)"},
		{"rate<-10.5%", Undecided, false, ""},
		{"rate<-15%", NotMet, false, ""},
		{"errors:rate>1%", Met, true, "the difference is +2.0 %"},
		{"errors:rate>2.5%", Undecided, false, ""},
		{"errors:rate>3%", NotMet, false, ""},
		{"latency:avg>10%", Undecided, true, "x: latency:avg>10%: cannot tell, there is no interval: too short"},
	} {
		rule, err := ParseRule(c.text)
		if got := rule.Judge(result); err != nil || got.Result != c.result || got.Fails() != c.fails || !strings.Contains(got.String(), c.says) {
			t.Errorf("%s: %v, %+v, want %+v: %s", c.text, err, got, c, got)
		}
	}
}

// TestStudent: quantiles from tables.
func TestStudent(t *testing.T) {
	for _, c := range []struct{ p, freedom, want, within float64 }{
		{0.975, 1, 12.706, 0.001}, {0.975, 2, 4.303, 0.001}, {0.975, 3, 3.182, 0.03}, {0.975, 5, 2.571, 0.005}, {0.975, 30, 2.042, 0.001}, {0.975, 1e6, 1.960, 0.001},
		{0.995, 4, 4.604, 0.1}, {0.995, 10, 3.169, 0.005}, {0.95, 7, 1.895, 0.002},
	} {
		if got := student(c.p, c.freedom); math.Abs(got-c.want) > c.within {
			t.Errorf("p %v, %v degrees: %v, want %v", c.p, c.freedom, got, c.want)
		}
	}
}

// TestDoubtsAboutSpecs: another target or other flags are another test, except for flags that do not change what is
// sent. A run without known flags may be the same test.
func TestDoubtsAboutSpecs(t *testing.T) {
	v, rng := virtual{seconds: 8, rate: 10, median: time.Millisecond}, rand.New(rand.NewPCG(1, 1))
	described := func(url string, flags ...string) report.Description {
		return report.Description{Setting: report.Setting{Method: "GET", URL: url, Flags: append([]string{"--url", url, "--qps", "10"}, flags...)}}
	}
	for name, c := range map[string]struct {
		a, b report.Description
		says string
	}{
		"the same":       {described("http://a/", "--header", "Accept: x"), described("http://a/", "--header", "Accept: x"), ""},
		"another order":  {described("http://a/", "--no-keep-alive", "--timeout", "2s"), described("http://a/", "--timeout", "2s", "--no-keep-alive"), ""},
		"another target": {described("http://a/"), described("http://b/"), "target GET http://a/, GET http://b/"},
		"another body":   {described("http://a/", "--body", "a=1"), described("http://a/", "--body", "a=2"), "flags --body a=1, --body a=2"},
		"one has a flag": {described("http://a/"), described("http://a/", "--no-keep-alive", "--timeout", "2s"), "flags (none), --no-keep-alive --timeout 2s"},
		"stages":         {described("http://a/", "--stage", "5s:1", "--stage", "5s:2"), described("http://a/", "--stage", "5s:2", "--stage", "5s:1"), "flags --stage 5s:1 --stage 5s:2, --stage 5s:2 --stage 5s:1"},
		"another value":  {described("http://a/", "--spread=false"), described("http://a/"), "flags --spread=false, (none)"},
		"a text":         {described("http://a/", "--header", "X: a b"), described("http://a/"), "flags --header 'X: a b', (none)"},
		"no load": {described("http://a/", "--threshold", "lag:max<1s", "--min-workers", "2"),
			described("http://a/", "--threshold", "errors:rate<1%", "--warmup", "5s", "--deadman", "5s", "--threshold", "lag:max<1s"), ""},
		"not known":            {report.Description{}, described("http://a/", "--body", "a=1"), ""},
		"nothing of the flags": {report.Description{Setting: report.Setting{Method: "GET", URL: "http://a/"}}, described("http://a/", "--body", "a=1"), ""},
	} {
		base, other := v.side(rng, "a", 1, 0), v.side(rng, "b", 1, 1)
		base.Runs[0].Described, other.Runs[0].Described = c.a, c.b
		var want []string
		if c.says != "" {
			want = []string{"a and b are not the same test: " + c.says}
		}
		if got := Doubts(base, other); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	base, other := v.side(rng, "a", 1, 0), v.side(rng, "b", 1, 1)
	base.Runs[0].Described, other.Runs[0].Described = described("http://a/", "--duration", "8s"), described("http://a/", "--requests", "100")
	notes := strings.Join(Compare(base, other).Notes, "; ")
	if got := Doubts(base, other); len(got) != 0 || !strings.Contains(notes, "a and b differ in length (--duration 8s, --requests 100): ") {
		t.Errorf("%q, %q", got, notes)
	}
}
