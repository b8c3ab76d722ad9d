package render_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// rendered returns a report in a format.
func rendered(t *testing.T, name string, r report.Report) string {
	t.Helper()
	render, err := render.Format(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := render(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTextTellsOfPauses: the text says how long the run was paused, if it was.
func TestTextTellsOfPauses(t *testing.T) {
	in := reporttest.Run(t)
	if text := rendered(t, "text", report.Build(in)); strings.Contains(text, "paused") {
		t.Errorf("it was not paused:\n%s", text)
	}
	for s, kind := range []string{"pause", "resume"} {
		in.Events = append(in.Events, report.Event{At: in.StartedAt.Add(time.Duration(2+s) * 1234 * time.Millisecond), Kind: kind, Who: "ann@desk"})
	}
	if text := rendered(t, "text", report.Build(in)); !strings.Contains(text, "\npaused      1.234s in all\n") {
		t.Errorf("it was paused for 1.234 s:\n%s", text)
	}
}

// junitOf reads JUnit output, as a CI server does.
func junitOf(t *testing.T, r report.Report) render.JunitSuites {
	t.Helper()
	var s render.JunitSuites
	d := xml.NewDecoder(strings.NewReader(rendered(t, "junit", r)))
	d.Strict = true
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// flat returns all numbers of JSON by their path, without elements of arrays.
func flat(doc map[string]any) map[string]string {
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

// junitHas checks a JUnit file: its properties, its cases, and its output, which is the text.
func junitHas(t *testing.T, r report.Report, doc map[string]any, _ string) {
	t.Helper()
	found, suite := map[string]string{}, junitOf(t, r).Suite
	for _, p := range suite.Properties {
		if _, twice := found[p.Name]; twice {
			t.Errorf("JUnit has %s twice", p.Name)
		}
		found[p.Name] = p.Value
	}
	for path, n := range flat(doc) {
		if found[path] != n {
			t.Errorf("JUnit: %s is %q, want %s", path, found[path], n)
		}
	}
	isRounded(t, "JUnit: the time", suite.Time, 1, numberAt(t, doc, "duration_s"), 1)
	for i, one := range elementsAt(doc, "thresholds") {
		c, result, text := suite.Cases[2+i], threshold.Passed, suite.Cases[2+i].Out
		if c.Failure != nil {
			result, text = threshold.Failed, c.Failure.Message
		} else if c.Error != nil {
			result, text = threshold.Undecided, c.Error.Message
		}
		if c.Name != one["threshold"] {
			t.Errorf("JUnit: case %d is %s, want %v", i, c.Name, one)
		}
		thresholdHas(t, doc, c.Name, result, text)
	}
	if out := rendered(t, "text", r); suite.Out != out {
		t.Errorf("JUnit: its output is\n%s\nwant\n%s", suite.Out, out)
	}
}

// metricsHave checks the samples of OpenMetrics: exactly those that JSON has.
func metricsHave(t *testing.T, r report.Report, doc map[string]any, text string) {
	t.Helper()
	numbers, want := flat(doc), map[string]string{}
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
		case "connections":
			phase, rest, _ := strings.Cut(name, ".")
			metricOfConnections(want, phase, rest, n, func() string { return scaled(path) })
		case "streams", "goodput":
			metricOfStreams(want, path, n, func() string { return scaled(path) })
		case "latency_ns", "service_time_ns", "lag_ns", "first_byte_ns":
			family := "loadctl_" + strings.TrimSuffix(above, "_ns")
			if r.HasTimes() {
				want[metricOfTime(family, name)] = scaled(path)
			}
		}
	}
	if r.HasTimes() {
		for _, family := range []string{"latency", "service_time", "lag"} {
			want["loadctl_"+family+"_seconds_count"] = fmt.Sprint(r.Audit.Completed + r.Audit.Failed)
		}
	}
	if n, has := numbers["first_bytes"]; has {
		want["loadctl_first_byte_seconds_count"] = n
	}
	metricsOfWorkers(doc, want)
	metricsOfThresholds(t, doc, want)
	metricsOfQueries(doc, want)
	samples := parseOpenMetrics(t, text)
	for name, n := range want {
		value, err := strconv.ParseFloat(n, 64)
		if got, has := samples[name]; err != nil || !has || got != value && !(math.IsNaN(got) && n == "NaN") {
			t.Errorf("OpenMetrics: %s is %v, want %s", name, got, n)
		}
		delete(samples, name)
	}
	started := samples["loadctl_started_seconds"]
	if at, _ := time.Parse(time.RFC3339Nano, doc["started_at"].(string)); !at.IsZero() && started != float64(at.UnixMicro())/1e6 {
		t.Errorf("OpenMetrics: started at %v, want %v", started, at)
	}
	for _, name := range []string{"running", "complete"} {
		if samples["loadctl_"+name] != render.Truth(doc[name] == true) {
			t.Errorf("OpenMetrics: %s is %v", name, samples["loadctl_"+name])
		}
	}
	words := regexp.MustCompile(`^loadctl_(run|check|limits|started_seconds|running|complete)( |$)`) // limits are those of the verdicts
	for name, n := range samples {
		if !words.MatchString(name) {
			t.Errorf("OpenMetrics: nothing compares %s, which is %v", name, n)
		}
	}
}

// metricOfTime returns the name of the sample for a member of a distribution.
func metricOfTime(family, member string) string {
	quantiles := map[string]string{"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p999": "0.999", "p9999": "0.9999", "max": "1"}
	if q := quantiles[member]; q != "" {
		return family + "_seconds quantile=" + q
	}
	return family + "_" + member + "_seconds"
}

// metricOfStreams adds the sample of a member of the answers in pieces, or of the goals. Rates and shares have none.
func metricOfStreams(want map[string]string, path, n string, scaled func() string) {
	names := map[string]string{"streams.answers": "loadctl_streamed_answers", "streams.events": "loadctl_streamed_events", "streams.tokens.in": "loadctl_tokens direction=in",
		"streams.tokens.out": "loadctl_tokens direction=out", "streams.tokens.usages": "loadctl_usages", "goodput.judged": "loadctl_goals_judged", "goodput.good": "loadctl_goals_met"}
	if names[path] != "" {
		want[names[path]] = n
	}
	times := regexp.MustCompile(`^streams\.(?:tokens\.)?(\w+)_ns\.(\w+)$`)
	if m := times.FindStringSubmatch(path); m != nil {
		want[metricOfTime("loadctl_"+m[1], m[2])] = scaled()
	}
}

// metricOfConnections adds the sample of a member of the connections.
func metricOfConnections(want map[string]string, member, of, n string, scaled func() string) {
	names := map[string]string{"opened": "loadctl_connections_opened", "closed_by_server": "loadctl_connections_closed_by_server", "reused": "loadctl_requests_reused",
		"lookups": "loadctl_dns_seconds_count", "handshakes": "loadctl_tls_seconds_count"}
	if of != "" {
		want[metricOfTime("loadctl_"+strings.TrimSuffix(member, "_ns"), of)] = scaled()
		return
	}
	want[names[member]] = n
	if member == "opened" {
		want["loadctl_connect_seconds_count"] = n
	}
}

// metricsOfQueries adds what each query answered.
func metricsOfQueries(doc map[string]any, want map[string]string) {
	for _, q := range elementsAt(doc, "queries") {
		for member, value := range map[string]string{"min": "min", "avg": "mean", "max": "max"} {
			if q["n"] != json.Number("0") {
				want[fmt.Sprintf("loadctl_query query=%s value=%s", q["name"], value)] = q[member].(json.Number).String()
			}
		}
	}
}

// metricsOfWorkers adds the samples of each process.
func metricsOfWorkers(doc map[string]any, want map[string]string) {
	for _, w := range elementsAt(doc, "workers") {
		for _, name := range []string{"sent", "late_dropped", "seen_late", "busy"} {
			want[fmt.Sprintf("loadctl_worker_%s incarnation=%s worker=%s", name, w["incarnation"], w["id"])] = fmt.Sprint(w[name])
		}
	}
}

// metricsOfThresholds adds the samples of each threshold.
func metricsOfThresholds(t *testing.T, doc map[string]any, want map[string]string) {
	t.Helper()
	for _, one := range elementsAt(doc, "thresholds") {
		value, unit, bound := "NaN", one["unit"], "exact"
		if one["lower_bound"] == true {
			bound = "lower"
		}
		if unit == "ns" {
			unit = "seconds"
		}
		if n, measured := one["value"].(json.Number); measured {
			f, err := n.Float64()
			if err != nil {
				t.Fatal(err)
			}
			if value = n.String(); unit == "seconds" {
				value = strconv.FormatFloat(f/1e9, 'g', -1, 64)
			}
		}
		want[fmt.Sprintf("loadctl_threshold bound=%s result=%s threshold=%s unit=%s", bound, one["result"], one["threshold"], unit)] = value
	}
}

// csvHas checks the series: each column is a member of its points.
func csvHas(t *testing.T, _ report.Report, doc map[string]any, text string) {
	t.Helper()
	series := elementsAt(doc, "series")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(series)+1 {
		t.Fatalf("CSV: %v, %d rows", err, len(rows))
	}
	for i, point := range series {
		for column, name := range rows[0] {
			path := []string{name}
			if m := regexp.MustCompile(`^(first_event|event_gap|stream)_(p\d+)_ns$`).FindStringSubmatch(name); m != nil {
				path = []string{"streams", m[1] + "_ns", m[2]}
			} else if slices.Contains([]string{"answers", "events", "tokens_out"}, name) {
				path = []string{"streams", name}
			} else if name == "judged" || name == "good" {
				path = []string{"goodput", name}
			}
			want := 0.
			if point[path[0]] != nil {
				want = numberAt(t, point, path...)
			}
			isCount(t, fmt.Sprintf("CSV: %s of row %d", name, i), rows[i+1][column], want)
		}
	}
}

// TestNoTimesWhereNothingEnded: if no request ended there are no times, and nothing can be judged.
func TestNoTimesWhereNothingEnded(t *testing.T) {
	r := report.Build(report.Input{Run: "x", TargetRate: 100})
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
	r = report.Build(reporttest.Run(t))
	for _, name := range []string{"text", "markdown"} {
		if text := rendered(t, name, r); !strings.Contains(text, "p99") {
			t.Errorf("%s has no times:\n%s", name, text)
		}
	}
}

// withVerdicts are reports with their results for audit and generator.
func withVerdicts(t *testing.T) map[string]struct {
	r                report.Report
	audit, generator string
} {
	good := func(change func(*report.Input)) report.Report {
		in := reporttest.Run(t)
		in.Workers[1].Total.Self.Shard.Over = 0 // else it is a limit
		change(&in)
		return report.Build(in)
	}
	type want = struct {
		r                report.Report
		audit, generator string
	}
	return map[string]want{
		"good":          {good(func(*report.Input) {}), threshold.Passed, threshold.Passed},
		"generator":     {report.Build(reporttest.Run(t)), threshold.Passed, threshold.Failed},
		"running":       {good(func(in *report.Input) { in.Running = true }), threshold.Undecided, threshold.Undecided},
		"incomplete":    {good(func(in *report.Input) { in.Workers[0].Total.Final = false }), threshold.Undecided, threshold.Passed},
		"does not add":  {good(func(in *report.Input) { in.Budget.Issued++ }), threshold.Failed, threshold.Passed},
		"not measured":  {good(func(in *report.Input) { in.Workers[0].Total.Self = record.Self{} }), threshold.Passed, threshold.Undecided},
		"nothing known": {good(func(in *report.Input) { in.Workers[0].Total = nil; in.Workers[1].Total = nil }), threshold.Undecided, threshold.Undecided},
		"never begun":   {report.Build(report.Input{Run: "x"}), threshold.Undecided, threshold.Undecided},
	}
}

// TestChecks: a check that passed, failed or cannot be judged is a case without, with a failure, or with an error; all
// formats use the same word.
func TestChecks(t *testing.T) {
	for name, c := range withVerdicts(t) {
		t.Run(name, func(t *testing.T) {
			suite := junitOf(t, c.r)
			page, samples := rendered(t, "markdown", c.r), parseOpenMetrics(t, rendered(t, "openmetrics", c.r))
			counts := map[string]int{}
			for i, want := range []string{c.audit, c.generator} {
				counts[want]++
				one := suite.Suite.Cases[i]
				result := threshold.Passed
				if one.Failure != nil {
					result = threshold.Failed
				} else if one.Error != nil {
					result = threshold.Undecided
				}
				if name := []string{"audit", "generator"}[i]; one.Name != name || one.Class != "loadctl."+c.r.Run || result != want {
					t.Errorf("%+v, want %s %s", one, name, want)
				}
				if samples["loadctl_check check="+one.Name+" result="+want] != 1 || !regexp.MustCompile(`\| `+one.Name+` \| . `+want+` \|`).MatchString(page) {
					t.Errorf("%s is not %s in %v, nor in\n%s", one.Name, want, samples, page)
				}
			}
			if suite.Tests != 2 || suite.Failures != counts[threshold.Failed] || suite.Errors != counts[threshold.Undecided] || suite.Suite.Tests != 2 ||
				suite.Suite.Failures != counts[threshold.Failed] || suite.Suite.Errors != counts[threshold.Undecided] {
				t.Errorf("%+v, want %v", suite, counts)
			}
		})
	}
}

// TestHostileTexts: untrusted texts stay values in every format, and a comment stays short.
func TestHostileTexts(t *testing.T) {
	r := reporttest.Scribbled(t)
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

// TestJUnitTimestamp: the start of the run, in JUnit's form.
func TestJUnitTimestamp(t *testing.T) {
	s := junitOf(t, report.Build(reporttest.Run(t))).Suite
	if at, err := time.Parse("2006-01-02T15:04:05", s.Timestamp); err != nil || at.Second() != 5 || s.Time != "10.000" {
		t.Errorf("%q, %q: %v", s.Timestamp, s.Time, err)
	}
}
