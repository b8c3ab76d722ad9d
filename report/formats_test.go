package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rendered is a report in a format.
func rendered(t *testing.T, name string, r Report) string {
	t.Helper()
	render, err := Format(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := render(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// junitOf reads what JUnit has written, as a CI server does.
func junitOf(t *testing.T, r Report) junitSuites {
	t.Helper()
	var s junitSuites
	d := xml.NewDecoder(strings.NewReader(rendered(t, "junit", r)))
	d.Strict = true
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNumbersAreEqual: each number of a run is the same in all formats that have it.
func TestNumbersAreEqual(t *testing.T) {
	for name, in := range map[string]Input{"slots": run(t), "closed loop": loop(true), "nothing": {Run: "x"}} {
		t.Run(name, func(t *testing.T) {
			r := Build(in)
			numbers := flat(t, rendered(t, "json", r))
			junitHas(t, numbers, r)
			metricsHave(t, numbers, r)
			csvHas(t, r)
			tablesHave(t, r)
		})
	}
}

// flat is all numbers of JSON by their path, but for the elements of arrays.
func flat(t *testing.T, text string) map[string]string {
	t.Helper()
	var doc map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(path+"."+name, member)
			}
		case json.Number:
			all[path[1:]] = v.String()
		}
	}
	walk("", doc)
	return all
}

// junitHas checks the properties of a JUnit file.
func junitHas(t *testing.T, numbers map[string]string, r Report) {
	t.Helper()
	found := map[string]string{}
	for _, p := range junitOf(t, r).Suite.Properties {
		if _, twice := found[p.Name]; twice {
			t.Errorf("JUnit has %s twice", p.Name)
		}
		found[p.Name] = p.Value
	}
	for path, n := range numbers {
		if found[path] != n {
			t.Errorf("JUnit: %s is %q, want %s", path, found[path], n)
		}
	}
}

// metricsHave checks the samples of OpenMetrics.
func metricsHave(t *testing.T, numbers map[string]string, r Report) {
	t.Helper()
	want := map[string]string{}
	scaled := func(path string) string {
		ns, err := strconv.ParseInt(numbers[path], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatFloat(float64(ns)/1e9, 'g', -1, 64)
	}
	for path, name := range map[string]string{
		"duration_s": "loadctl_length_seconds", "target_rate": "loadctl_target_rate", "rate": "loadctl_sent_rate", "throughput": "loadctl_completed_rate",
		"success": "loadctl_success_ratio", "out_of_range": "loadctl_out_of_range", "bytes_in": "loadctl_transferred_bytes direction=in",
		"bytes_out": "loadctl_transferred_bytes direction=out", "percentiles_are_lower_bounds_above": "loadctl_lower_bounds_above_ratio",
		"asked": "loadctl_audit term=asked", "sent": "loadctl_audit term=sent", "described.hosts": "loadctl_hosts",
	} {
		if n, has := numbers[path]; has {
			want[name] = n
		}
	}
	for path, n := range numbers {
		above, name, _ := strings.Cut(path, ".")
		switch above {
		case "audit":
			want["loadctl_audit term="+name] = n
		case "status_codes":
			want["loadctl_responses status="+name] = n
		case "errors":
			want["loadctl_errors class="+name] = n
		case "latency_ns", "service_time_ns", "lag_ns":
			family := "loadctl_" + strings.TrimSuffix(above, "_ns")
			quantiles := map[string]string{"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p999": "0.999", "p9999": "0.9999", "max": "1"}
			switch q := quantiles[name]; {
			case !r.timed():
			case q != "":
				want[family+"_seconds quantile="+q] = scaled(path)
			default:
				want[family+"_"+name+"_seconds"] = scaled(path)
			}
		}
	}
	for _, w := range r.Workers {
		want[fmt.Sprintf("loadctl_worker_sent incarnation=%s worker=%s", w.Incarnation, w.ID)] = fmt.Sprint(w.Sent)
	}
	samples := parseOpenMetrics(t, rendered(t, "openmetrics", r))
	for name, n := range want {
		value, err := strconv.ParseFloat(n, 64)
		if got, has := samples[name]; err != nil || !has || got != value {
			t.Errorf("OpenMetrics: %s is %v, want %s", name, got, n)
		}
	}
}

// csvHas checks the series.
func csvHas(t *testing.T, r Report) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(rendered(t, "csv", r))).ReadAll()
	if err != nil || len(rows) != len(r.Series)+1 {
		t.Fatalf("CSV: %v, %d rows", err, len(rows))
	}
	for i, s := range r.Series {
		if got, want := strings.Join(rows[i+1], " "), fmt.Sprint(s.T, s.Asked, s.Sent, s.OK, s.Failed, s.P50NS, s.P99NS); got != want {
			t.Errorf("CSV: row %d is %s, want %s", i, got, want)
		}
	}
}

// tablesHave checks what is for people, rounded in the same way.
func tablesHave(t *testing.T, r Report) {
	t.Helper()
	text, page := rendered(t, "text", r), rendered(t, "markdown", r)
	space := regexp.MustCompile(`\s+`)
	both := func(inText, inPage string) {
		t.Helper()
		if !strings.Contains(space.ReplaceAllString(text, " "), inText) {
			t.Errorf("no %q in\n%s", inText, text)
		}
		if !strings.Contains(page, inPage) {
			t.Errorf("no %q in\n%s", inPage, page)
		}
	}
	both(fmt.Sprintf("sent %d %s/s", r.Sent, rate(r.Rate)), fmt.Sprintf("| sent | %d | %s |", r.Sent, rate(r.Rate)))
	both(fmt.Sprintf("completed %d %s/s, success %s %%", r.Audit.Completed, rate(r.Throughput), percent(r.Success)),
		fmt.Sprintf("| completed | %d | %s |", r.Audit.Completed, rate(r.Throughput)))
	both(fmt.Sprintf("bytes in %s, out %s", bytesize(r.BytesIn), bytesize(r.BytesOut)), fmt.Sprintf("Success %s %%", percent(r.Success)))
	for _, class := range slices.Sorted(maps.Keys(r.Errors)) {
		both(fmt.Sprintf("%s %d", class, r.Errors[class]), fmt.Sprintf("| %s | %d |", class, r.Errors[class]))
	}
	for _, code := range slices.Sorted(maps.Keys(r.StatusCodes)) {
		both(fmt.Sprintf("%s: %d", code, r.StatusCodes[code]), fmt.Sprintf("| %s | %d |", code, r.StatusCodes[code]))
	}
	if !r.timed() {
		return
	}
	d := r.Latency
	mark := func(q float64) string {
		if r.LowerBoundsAbove != nil && q > *r.LowerBoundsAbove {
			return "≥"
		}
		return ""
	}
	cells := []string{duration(d.Min), duration(d.Mean), duration(d.P50), duration(d.P90), duration(d.P95), duration(d.P99),
		mark(0.999) + duration(d.P999), mark(0.9999) + duration(d.P9999), mark(1) + duration(d.Max)}
	both("latency "+strings.Join(cells, " "), "| latency | "+strings.Join(cells, " | ")+" |")
}

// TestNoTimesWhereNothingEnded: where nothing ended there are no times, and nothing can be judged.
func TestNoTimesWhereNothingEnded(t *testing.T) {
	r := Build(Input{Run: "x", TargetRate: 100})
	for _, name := range []string{"text", "markdown", "openmetrics"} {
		text := rendered(t, name, r)
		for _, word := range []string{"p99", "quantile", "0.00µs", "NaN"} {
			if strings.Contains(text, word) {
				t.Errorf("%s has %s:\n%s", name, word, text)
			}
		}
	}
	if s := junitOf(t, r); s.Tests != 2 || s.Errors != 2 || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
	r = Build(run(t))
	for _, name := range []string{"text", "markdown"} {
		if text := rendered(t, name, r); !strings.Contains(text, "p99") {
			t.Errorf("%s has no times:\n%s", name, text)
		}
	}
}

// withVerdicts are reports with what is judged of them: audit and generator.
func withVerdicts(t *testing.T) map[string]struct {
	r                Report
	audit, generator string
} {
	good := func(change func(*Input)) Report {
		in := run(t)
		in.Workers[1].Total.Self.Shard.Over = 0 // else it is a limit
		change(&in)
		return Build(in)
	}
	type want = struct {
		r                Report
		audit, generator string
	}
	return map[string]want{
		"good":          {good(func(*Input) {}), passed, passed},
		"generator":     {Build(run(t)), passed, failed},
		"running":       {good(func(in *Input) { in.Running = true }), undecided, undecided},
		"incomplete":    {good(func(in *Input) { in.Workers[0].Total.Final = false }), undecided, passed},
		"does not add":  {good(func(in *Input) { in.Budget.Issued++ }), failed, passed},
		"not measured":  {good(func(in *Input) { in.Workers[0].Total.Self = Self{} }), passed, undecided},
		"nothing known": {good(func(in *Input) { in.Workers[0].Total = nil; in.Workers[1].Total = nil }), undecided, undecided},
		"never begun":   {Build(Input{Run: "x"}), undecided, undecided},
	}
}

// TestChecks: what is good, bad, or cannot be judged is a case without, with a failure, or with an error, and the same word everywhere.
func TestChecks(t *testing.T) {
	for name, c := range withVerdicts(t) {
		t.Run(name, func(t *testing.T) {
			suite := junitOf(t, c.r)
			page, samples := rendered(t, "markdown", c.r), parseOpenMetrics(t, rendered(t, "openmetrics", c.r))
			counts := map[string]int{}
			for i, want := range []string{c.audit, c.generator} {
				counts[want]++
				one := suite.Suite.Cases[i]
				result := passed
				if one.Failure != nil {
					result = failed
				} else if one.Error != nil {
					result = undecided
				}
				if name := []string{"audit", "generator"}[i]; one.Name != name || one.Class != "loadctl."+c.r.Run || result != want {
					t.Errorf("%+v, want %s %s", one, name, want)
				}
				if samples["loadctl_check check="+one.Name+" result="+want] != 1 || !regexp.MustCompile(`\| `+one.Name+` \| . `+want+` \|`).MatchString(page) {
					t.Errorf("%s is not %s in %v, nor in\n%s", one.Name, want, samples, page)
				}
			}
			if suite.Tests != 2 || suite.Failures != counts[failed] || suite.Errors != counts[undecided] || suite.Suite.Tests != 2 ||
				suite.Suite.Failures != counts[failed] || suite.Suite.Errors != counts[undecided] {
				t.Errorf("%+v, want %v", suite, counts)
			}
		})
	}
}

// scribbled is a report full of what means something to a format.
func scribbled(t *testing.T) Report {
	evil := strings.Repeat("<!-- `|\"' ]]> & \x1b[2J\u202e\\ \xff @all [x](http://y) **b** \n# EOF\n", 30)
	in := run(t)
	in.Run, in.Limiter, in.Described.URL = evil, evil, evil
	in.Described.Flags = []string{"--url", evil, "--body", evil}
	for range 300 {
		in.Missing = append(in.Missing, evil)
	}
	r := Build(in)
	for i := range 300 {
		r.StatusCodes[fmt.Sprint(evil, i)], r.Errors[fmt.Sprint(evil, i)] = 1, 1
		r.Workers = append(r.Workers, WorkerReport{ID: fmt.Sprint(i, evil), State: evil, Verdicts: []Verdict{{"generator", fmt.Sprint(i, evil), evil}}})
	}
	return r
}

// TestHostileTexts: what others wrote stays a value in every format, and a comment stays short.
func TestHostileTexts(t *testing.T) {
	r := scribbled(t)
	junitOf(t, r)
	parseOpenMetrics(t, rendered(t, "openmetrics", r))
	page := rendered(t, "markdown", r)
	if n := len([]rune(page)); n > 65_536 {
		t.Errorf("%d characters", n)
	}
	if strings.ContainsAny(page, "\x1b\u202e") {
		t.Error("Markdown has characters that steer")
	}
	inCode := regexp.MustCompile("`[^`\n]*`")
	for line := range strings.Lines(page) {
		if rest := inCode.ReplaceAllString(strings.ReplaceAll(line, "\\`", ""), ""); strings.ContainsAny(rest, "<@") || strings.Contains(rest, "**b") {
			t.Fatalf("Markdown has a line that is read: %.300s", rest)
		}
	}
}

// TestJUnitTimestamp: it is the start of the run, in the form that JUnit has.
func TestJUnitTimestamp(t *testing.T) {
	s := junitOf(t, Build(run(t))).Suite
	if at, err := time.Parse("2006-01-02T15:04:05", s.Timestamp); err != nil || at.Second() != 5 || s.Time != "10.000" {
		t.Errorf("%q, %q: %v", s.Timestamp, s.Time, err)
	}
}
