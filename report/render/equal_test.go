package render_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// A numberCheck compares every number of a format with the JSON report.
type numberCheck func(t *testing.T, r report.Report, doc map[string]any, text string)

// numberChecks returns a check for each format. A new format needs a line here.
func numberChecks() map[string]numberCheck {
	return map[string]numberCheck{
		"text":        textHas,
		"json":        jsonHas,
		"csv":         csvHas,
		"hgrm":        hgrmHas,
		"hlog":        hlogHas,
		"junit":       junitHas,
		"markdown":    markdownHas,
		"html":        htmlHas,
		"openmetrics": metricsHave,
		"archive":     archiveHas,
	}
}

// TestNumbersAreEqual: each number of a run is the same in all formats that have it, up to the rounding of the format.
func TestNumbersAreEqual(t *testing.T) {
	demanding := func(in report.Input) report.Input {
		for _, text := range someOfEach() {
			threshold, err := threshold.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			in.Thresholds = append(in.Thresholds, threshold)
		}
		return in
	}
	limited := demanding(reporttest.Run(t))
	limited.Limiter = "token-bucket, burst 50"
	running := demanding(reporttest.Run(t))
	running.Running = true
	for name, r := range map[string]report.Report{
		"slots": gated(t, someOfEach()...), "limited": report.Build(limited), "running": report.Build(running), "phases": report.Build(demanding(reporttest.Phased(reporttest.Run(t)))), "streams": report.Build(demanding(reporttest.Streamed(reporttest.Run(t)))), "terse": report.Build(reporttest.Terse(reporttest.Run(t))), "queries": report.Build(reporttest.Queried(reporttest.Run(t))), "closed loop": report.Build(demanding(reporttest.Loop(true))), "nothing": report.Build(report.Input{Run: "x"}),
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(t, rendered(t, "json", r))
			for _, name := range render.Formats() {
				check := numberChecks()[name]
				if check == nil {
					t.Errorf("nothing compares the numbers of %s: add it to numberChecks", name)
					continue
				}
				t.Run(name, func(t *testing.T) { check(t, r, doc, rendered(t, name, r)) })
			}
		})
	}
}

// document is JSON that keeps the text of its numbers.
func document(t *testing.T, text string) map[string]any {
	t.Helper()
	var doc map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// numberAt returns the number of the JSON report at a path.
func numberAt(t *testing.T, doc map[string]any, path ...string) float64 {
	t.Helper()
	var v any = doc
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	n, is := v.(json.Number)
	f, err := n.Float64()
	if !is || err != nil {
		t.Fatalf("JSON has no number %v", path)
	}
	return f
}

// elementsAt returns the objects of an array of the JSON report.
func elementsAt(doc map[string]any, name string) (all []map[string]any) {
	array, _ := doc[name].([]any)
	for _, v := range array {
		all = append(all, v.(map[string]any))
	}
	return all
}

// isRounded checks a number in a text: it has at least this many digits, and differs from the exact one by less than
// its last digit.
func isRounded(t *testing.T, what, text string, unit, want float64, digits int) {
	t.Helper()
	_, decimals, _ := strings.Cut(text, ".")
	got, err := strconv.ParseFloat(text, 64)
	last := math.Pow10(-len(decimals))
	if err != nil || math.Abs(got-want/unit) > last/2*(1+1e-9) {
		t.Errorf("%s is %s of %v, want %v", what, text, unit, want)
	}
	if significant := len(strings.TrimLeft(strings.ReplaceAll(text, ".", ""), "0")); got != 0 && significant < digits && last > 0.01 {
		t.Errorf("%s is %s, want %d digits", what, text, digits)
	}
}

// isCount checks a whole number.
func isCount(t *testing.T, what, text string, want float64) {
	t.Helper()
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || float64(n) != want {
		t.Errorf("%s is %s, want %v", what, text, want)
	}
}

// isTime checks a time with its unit, which has three digits.
func isTime(t *testing.T, what, text string, ns float64) {
	t.Helper()
	m := regexp.MustCompile(`^([\d.]+)(µs|ms|s)$`).FindStringSubmatch(text)
	if m == nil {
		t.Errorf("%s is %q", what, text)
		return
	}
	isRounded(t, what, m[1], map[string]float64{"µs": 1e3, "ms": 1e6, "s": 1e9}[m[2]], ns, 3)
}

// isRate checks requests per second: tenths, and three digits below 1.
func isRate(t *testing.T, what, text string, want float64) {
	t.Helper()
	got, err := strconv.ParseFloat(text, 64)
	if err != nil || want >= 1 && math.Abs(got-want) > 0.05*(1+1e-9) || want < 1 && math.Abs(got-want) > want*0.005 {
		t.Errorf("%s is %s, want %v", what, text, want)
	}
}

// isPercent checks a share: hundredths of a percent, rounded down.
func isPercent(t *testing.T, what, text string, want float64) {
	t.Helper()
	got, err := strconv.ParseFloat(text, 64)
	if low := want*100 - got; err != nil || low < -1e-3 || low >= 0.01 {
		t.Errorf("%s is %s %%, want %v", what, text, want)
	}
}

// isBytes checks a number of bytes in decimal units, which has three digits.
func isBytes(t *testing.T, what, text string, want float64) {
	t.Helper()
	number, unit, _ := strings.Cut(text, " ")
	size := map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
	if size == 1 {
		isCount(t, what, number, want)
		return
	}
	isRounded(t, what, number, size, want, 3)
}

// thresholdHas checks a threshold as formatted for people: its result, and the value at the beginning of its text.
func thresholdHas(t *testing.T, doc map[string]any, name, result, text string) {
	t.Helper()
	for _, one := range elementsAt(doc, "thresholds") {
		if one["threshold"] != name {
			continue
		}
		if one["result"] != result || one["text"] != text {
			t.Errorf("%s is %s, %q, want %v", name, result, text, one)
		}
		value, measured := one["value"].(json.Number)
		if !measured {
			return
		}
		want, _ := value.Float64()
		shown := strings.TrimPrefix(text, "≥ ")
		if bound := one["lower_bound"] == true; bound != (shown != text) {
			t.Errorf("%s: %q, want %v", name, text, one)
		}
		shown, _, _ = strings.Cut(strings.ReplaceAll(shown, ",", " "), " ")
		switch one["unit"] {
		case "ns":
			isTime(t, name, shown, want)
		case "share":
			isPercent(t, name, shown, want)
		case "requests/s":
			isRate(t, name, strings.TrimSuffix(shown, "/s"), want)
		default:
			isCount(t, name, shown, want)
		}
		return
	}
	t.Errorf("JSON has no threshold %s", name)
}

// timesHave checks a row of a table of times: it has ≥ where JSON has a lower bound.
func timesHave(t *testing.T, doc map[string]any, row string, cells []string) {
	t.Helper()
	names := []string{"min", "mean", "p50", "p90", "p95", "p99", "p999", "p9999", "max"}
	quantiles := []float64{0, 0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1}
	if len(cells) != len(names) {
		t.Fatalf("%s: %q", row, cells)
	}
	for i, cell := range cells {
		bound, has := doc["percentiles_are_lower_bounds_above"].(json.Number)
		above, _ := bound.Float64()
		text := strings.TrimPrefix(cell, "≥")
		if want := has && row != "service time" && row != "first byte" && quantiles[i] > above; want != (text != cell) {
			t.Errorf("%s %s is %s", row, names[i], cell)
		}
		isTime(t, row+" "+names[i], text, numberAt(t, doc, strings.ReplaceAll(row, " ", "_")+"_ns", names[i]))
	}
}

// streamTimes are the members of the JSON report for the rows of times of answers in pieces.
func streamTimes() map[string][]string {
	return map[string][]string{"first event (TTFT)": {"streams", "first_event_ns"}, "first event − sent": {"streams", "first_event_service_ns"}, "event gap (ITL)": {"streams", "event_gap_ns"},
		"per token (TPOT)": {"streams", "tokens", "per_token_ns"}, "stream": {"streams", "stream_ns"}}
}

// streamTimesHave checks a row of them: what counts from when a request was due has ≥ where JSON has a lower bound.
func streamTimesHave(t *testing.T, doc map[string]any, row string, cells []string) {
	t.Helper()
	names := []string{"min", "mean", "p50", "p90", "p95", "p99", "p999", "p9999", "max"}
	quantiles := []float64{0, 0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1}
	path := streamTimes()[row]
	if len(cells) != len(names) || path == nil {
		t.Fatalf("%s: %q", row, cells)
	}
	for i, cell := range cells {
		bound, has := doc["percentiles_are_lower_bounds_above"].(json.Number)
		above, _ := bound.Float64()
		text := strings.TrimPrefix(cell, "≥")
		if want := has && (row == "stream" || row == "first event (TTFT)") && quantiles[i] > above; want != (text != cell) {
			t.Errorf("%s %s is %s", row, names[i], cell)
		}
		isTime(t, row+" "+names[i], text, numberAt(t, doc, append(slices.Clone(path), names[i])...))
	}
}

// streamFactHas checks a sentence about answers in pieces.
func streamFactHas(t *testing.T, doc map[string]any, name, text string) {
	t.Helper()
	facts := map[string]struct {
		pattern string
		paths   [][]string
	}{
		"events": {`^(\d+) in (\d+) answers, (\S+)/s, an answer has p50 (\d+), p99 (\d+), max (\d+)$`, [][]string{{"events"}, {"answers"}, {"events_per_s"},
			{"events_per_answer", "p50"}, {"events_per_answer", "p99"}, {"events_per_answer", "max"}}},
		"tokens":  {`^(?:in (\d+), )?out (\d+), (\S+)/s out, usage in (\d+) of (\d+) answers$`, [][]string{{"tokens", "in"}, {"tokens", "out"}, {"tokens", "out_per_s"}, {"tokens", "usages"}, {"answers"}}},
		"goodput": {`^(\d+) of (\d+) answers met their goals, (\S+)/s, (\S+) %$`, [][]string{{"good"}, {"judged"}, {"per_s"}, {"share"}}},
	}
	above := map[string]string{"goodput": "goodput"}[name]
	if above == "" {
		above = "streams"
	}
	m := regexp.MustCompile(facts[name].pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("nothing compares %q of %s", text, name)
	}
	for i, path := range facts[name].paths {
		if m[i+1] == "" { // not known
			if of := doc[above].(map[string]any)[path[0]].(map[string]any); of[path[1]] != nil {
				t.Errorf("JSON has %s: %v, the line leaves it out", path[1], of)
			}
			continue
		}
		n := numberAt(t, doc, append([]string{above}, path...)...)
		switch path[len(path)-1] {
		case "events_per_s", "out_per_s", "per_s":
			isRate(t, name, m[i+1], n)
		case "share":
			isPercent(t, name, m[i+1], n)
		default:
			isCount(t, name, m[i+1], n)
		}
	}
}

// isNote checks a note, and a line about a limit.
func isNote(t *testing.T, doc map[string]any, text string) {
	t.Helper()
	notes, _ := doc["notes"].([]any)
	if !slices.Contains(notes, any(text)) {
		t.Errorf("JSON has no note %q", text)
	}
}

func isLimit(t *testing.T, doc map[string]any, text string) {
	t.Helper()
	for _, w := range elementsAt(doc, "workers") {
		for _, v := range elementsAt(w, "verdicts") {
			if strings.HasSuffix(text, v["text"].(string)) {
				return
			}
		}
	}
	t.Errorf("JSON has no verdict %q", text)
}

// A textLine is a kind of line of the text report, and how its numbers are compared.
type textLine struct {
	pattern string
	check   func(t *testing.T, r report.Report, doc map[string]any, m []string)
}

// textLines are all kinds of lines.
func textLines() []textLine { return slices.Concat(runLines(), countLines(), detailLines()) }

// runLines describe the run.
func runLines() []textLine {
	return []textLine{
		{`run +(\S+), (?:not started|started (\S+)), (\S+), [\w, ]+`, func(t *testing.T, r report.Report, doc map[string]any, m []string) {
			length, err := time.ParseDuration(m[3])
			if m[1] != doc["run"] || err != nil || length != time.Duration(numberAt(t, doc, "duration_s")*1e9).Round(time.Millisecond) {
				t.Errorf("%q, %v", m, err)
			}
			if m[2] != "" && !strings.HasPrefix(doc["started_at"].(string), strings.TrimSuffix(m[2], "Z")) {
				t.Errorf("started %s, want %v", m[2], doc["started_at"])
			}
		}},
		{`target +(.*)`, func(t *testing.T, r report.Report, _ map[string]any, m []string) {
			if m[1] != r.Described.Target() {
				t.Errorf("%q", m)
			}
		}},
		{`flags +(.*)`, func(t *testing.T, r report.Report, _ map[string]any, m []string) {
			if m[1] != r.Described.Line() {
				t.Errorf("%q", m)
			}
		}},
		{`limiter +(.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			if m[1] != doc["limiter"] {
				t.Errorf("%q", m)
			}
		}},
	}
}

// countLines have the numbers of requests and their fates.
func countLines() []textLine {
	count := func(path ...string) func(*testing.T, report.Report, map[string]any, []string) {
		return func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			isCount(t, path[len(path)-1], m[1], numberAt(t, doc, path...))
		}
	}
	return []textLine{
		{`asked +max +as fast as it goes \(closed loop\)`, func(*testing.T, report.Report, map[string]any, []string) {}},
		{`asked +(\d+) +([\d.]+)/s(?:, at last ([\d.]+)/s)?( now)? \(cluster total\)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			asked, last := numberAt(t, doc, "asked"), numberAt(t, doc, "target_rate")
			isCount(t, "asked", m[1], asked)
			if m[3] != "" {
				isRate(t, "target rate", m[3], last)
				isRate(t, "mean rate asked for", m[2], asked/numberAt(t, doc, "duration_s"))
				return
			}
			isRate(t, "target rate", m[2], last)
		}},
		{`sent +(\d+) +(\S+)/s`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			isCount(t, "sent", m[1], numberAt(t, doc, "sent"))
			isRate(t, "rate", m[2], numberAt(t, doc, "rate"))
		}},
		{`completed +(\d+) +(\S+)/s, success (\S+) %`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			isCount(t, "completed", m[1], numberAt(t, doc, "audit", "completed"))
			isRate(t, "throughput", m[2], numberAt(t, doc, "throughput"))
			isPercent(t, "success", m[3], numberAt(t, doc, "success"))
		}},
		{`NOT SENT +(\S+) % of what was asked for, see the audit`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			term := func(name string) float64 { return numberAt(t, doc, "audit", name) }
			missing := term("asked") + term("overrun") - term("sent")
			if doc["running"] == true {
				missing -= term("held")
			}
			isPercent(t, "not sent", m[1], missing/term("asked"))
		}},
		{`failed +(\d+)`, count("audit", "failed")},
		{`in flight +(\d+)`, count("audit", "in_flight")},
		{`bytes +in (.*), out (.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			isBytes(t, "bytes in", m[1], numberAt(t, doc, "bytes_in"))
			isBytes(t, "bytes out", m[2], numberAt(t, doc, "bytes_out"))
		}},
		{`(?:audit)? +(\w+ \d+ [=≠] .*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) { equationHas(t, doc, m[1]) }},
	}
}

// detailLines have times, answers, workers, and judgements.
func detailLines() []textLine {
	return []textLine{
		{` +min +mean +p50 +p90 +p95 +p99 +p99\.9 +p99\.99 +max`, func(*testing.T, report.Report, map[string]any, []string) {}},
		{`(latency|service time|first byte|lag) +(.*s)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			timesHave(t, doc, m[1], strings.Fields(m[2]))
		}},
		{`streams +min .*`, func(*testing.T, report.Report, map[string]any, []string) {}},
		{`(first event \(TTFT\)|first event − sent|event gap \(ITL\)|per token \(TPOT\)|stream) +(.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			streamTimesHave(t, doc, m[1], strings.Fields(m[2]))
		}},
		{`(events|tokens|goodput) +(.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) { streamFactHas(t, doc, m[1], m[2]) }},
		{`connections (.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) { connectionsHave(t, doc, m[1]) }},
		{`(?:queries)? +(\w+): (?:min (\S+), mean (\S+), max (\S+) of (\d+) answers|no answer, asked (\d+) times)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			if m[6] != "" {
				queryHas(t, doc, m[1], "–", "–", "–", "0", m[6])
				return
			}
			queryHas(t, doc, m[1], m[2], m[3], m[4], m[5], "0")
		}},
		{`status +(.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			for pair := range strings.SplitSeq(m[1], ", ") {
				code, n, _ := strings.Cut(pair, ": ")
				isCount(t, "status "+code, n, numberAt(t, doc, "status_codes", code))
			}
		}},
		{`(?:errors)? +(\w+) +(\d+) \(latency p50 (\S+), p99 (\S+)\)`, func(t *testing.T, r report.Report, doc map[string]any, m []string) {
			isCount(t, m[1], m[2], numberAt(t, doc, "errors", m[1]))
			h := r.Histograms.Errors[m[1]] // which JSON does not have
			isTime(t, m[1]+" p50", m[3], float64(h.Quantile(0.5)))
			isTime(t, m[1]+" p99", m[4], float64(h.Quantile(0.99)))
		}},
		{`(?:workers)? +(\S+) +(\w+) +sent (\d+) *(?: last seen (\S+?))?(?:, snapshots missing: (\d+))?(?:, final snapshot missing)?`, workerHas},
		{`limit +(.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) { isLimit(t, doc, m[1]) }},
		{`(?:thresholds)? +([✓✗?]) (.*?): (.*?)(?: \(undecided\))?`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) {
			name, text := splitThreshold(doc, m[2]+": "+m[3])
			thresholdHas(t, doc, name, map[string]string{"✓": threshold.Passed, "✗": threshold.Failed, "?": threshold.Undecided}[m[1]], text)
		}},
		{`note +(.*)`, func(t *testing.T, _ report.Report, doc map[string]any, m []string) { isNote(t, doc, m[1]) }},
	}
}

// connectionsHave checks the counts of connections, and the times of each phase.
func connectionsHave(t *testing.T, doc map[string]any, line string) {
	t.Helper()
	m := regexp.MustCompile(`^(\d+) opened, (\d+) reused, (\d+) closed by the server((?:; \w+ p50 \S+, p99 \S+, max \S+)*)$`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%q", line)
	}
	for i, member := range []string{"opened", "reused", "closed_by_server"} {
		isCount(t, member, m[i+1], numberAt(t, doc, "connections", member))
	}
	phases := regexp.MustCompile(`(\w+) p50 (\S+), p99 (\S+), max ([^;]+)`).FindAllStringSubmatch(m[4], -1)
	if len(phases) != 3 {
		t.Errorf("%d phases in %q", len(phases), line)
	}
	for _, p := range phases {
		for i, member := range []string{"p50", "p99", "max"} {
			isTime(t, p[1]+" "+member, p[i+2], numberAt(t, doc, "connections", p[1]+"_ns", member))
		}
	}
}

// queryHas checks what a query answered: minimum, mean, maximum, how many answers, and how often none.
func queryHas(t *testing.T, doc map[string]any, name string, cells ...string) {
	t.Helper()
	for _, q := range elementsAt(doc, "queries") {
		if q["name"] != name {
			continue
		}
		missed := 0.
		if q["missed"] != nil {
			missed = numberAt(t, q, "missed")
		}
		isCount(t, name+" answers", cells[3], numberAt(t, q, "n"))
		isCount(t, name+" without", cells[4], missed)
		for i, member := range []string{"min", "avg", "max"} {
			want := numberAt(t, q, member)
			if got, err := strconv.ParseFloat(cells[i], 64); numberAt(t, q, "n") == 0 {
				if cells[i] != "–" {
					t.Errorf("%s %s is %s without an answer", name, member, cells[i])
				}
			} else if err != nil || math.Abs(got-want) > math.Abs(want)*0.0005 {
				t.Errorf("%s %s is %s, want %v", name, member, cells[i], want)
			}
		}
		return
	}
	t.Errorf("JSON has no query %s", name)
}

// splitThreshold splits a threshold from its text. The threshold contains colons itself.
func splitThreshold(doc map[string]any, line string) (name, text string) {
	for _, one := range elementsAt(doc, "thresholds") {
		if text, is := strings.CutPrefix(line, one["threshold"].(string)+": "); is {
			return one["threshold"].(string), text
		}
	}
	return line, ""
}

// equationHas checks each term of a line of the audit.
func equationHas(t *testing.T, doc map[string]any, line string) {
	t.Helper()
	terms := regexp.MustCompile(`(\w+) (\d+)`).FindAllStringSubmatch(line, -1)
	if len(terms) < 2 {
		t.Errorf("%q", line)
	}
	for _, m := range terms {
		isCount(t, m[1], m[2], numberAt(t, doc, "audit", m[1]))
	}
}

// workerHas checks the line of a worker.
func workerHas(t *testing.T, _ report.Report, doc map[string]any, m []string) {
	t.Helper()
	for _, w := range elementsAt(doc, "workers") {
		if w["id"] != m[1] {
			continue
		}
		isCount(t, m[1]+" sent", m[3], numberAt(t, w, "sent"))
		if gaps := numberAt(t, w, "gaps"); gaps > 0 || m[5] != "" {
			isCount(t, m[1]+" gaps", m[5], gaps)
		}
		if seen, _ := w["last_seen"].(string); !strings.HasPrefix(seen, strings.TrimSuffix(m[4], "Z")) {
			t.Errorf("%s last seen %s, want %s", m[1], m[4], seen)
		}
		return
	}
	t.Errorf("JSON has no worker %s", m[1])
}

// textHas checks the text, line by line. It refuses lines of unknown kind, because they may have numbers that nobody
// compares.
func textHas(t *testing.T, r report.Report, doc map[string]any, text string) {
	lines := textLines()
next:
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line == "" {
			continue
		}
		for _, l := range lines {
			if m := regexp.MustCompile("^" + l.pattern + "$").FindStringSubmatch(line); m != nil {
				l.check(t, r, doc, m)
				continue next
			}
		}
		t.Errorf("nothing compares %q", line)
	}
	for _, one := range elementsAt(doc, "thresholds") {
		if !strings.Contains(text, one["threshold"].(string)+": "+one["text"].(string)) {
			t.Errorf("no %v in\n%s", one, text)
		}
	}
}

// markdownRow checks a row of a table.
func markdownRow(t *testing.T, doc map[string]any, table string, cells []string) {
	t.Helper()
	rates := map[string]string{"asked": "target_rate", "sent": "rate", "completed": "throughput"}
	switch first := cells[0]; {
	case table == "check":
		if first == "audit" || first == "generator" {
			if first == "audit" && strings.Contains(cells[2], " = ") {
				equationHas(t, doc, cells[2])
			}
			return
		}
		_, result, _ := strings.Cut(cells[1], " ")
		thresholdHas(t, doc, first, result, cells[2])
	case table == "" && first == "asked" && cells[1] == "max":
	case table == "" && slices.Contains([]string{"asked", "sent", "completed", "failed", "in flight"}, first):
		isCount(t, first, cells[1], numberAt(t, doc, "audit", strings.ReplaceAll(first, " ", "_")))
		if rates[first] != "" {
			isRate(t, first+" rate", cells[2], numberAt(t, doc, rates[first]))
		}
	case table == "query":
		queryHas(t, doc, first, cells[1:]...)
	case table == "times":
		timesHave(t, doc, first, cells[1:])
	case table == "streams":
		streamTimesHave(t, doc, first, cells[1:])
	case table == "error" || table == "status":
		isCount(t, first, cells[1], numberAt(t, doc, map[string]string{"error": "errors", "status": "status_codes"}[table], first))
	default:
		t.Errorf("nothing compares %q of %q", cells, table)
	}
}

// markdownHas checks the tables row by row, and the lines between them.
func markdownHas(t *testing.T, r report.Report, doc map[string]any, page string) {
	table, rows := "", 0
	plain := html.UnescapeString(regexp.MustCompile(`\\(.)`).ReplaceAllString(page, "$1"))
	ended := regexp.MustCompile(`^Success (\S+) %, (\S+) long, bytes in (.*), out (.*)\.$`)
	for line := range strings.Lines(plain) {
		line = strings.TrimSuffix(line, "\n")
		if m := ended.FindStringSubmatch(line); m != nil {
			isPercent(t, "success", m[1], numberAt(t, doc, "success"))
			length, err := time.ParseDuration(m[2])
			if err != nil || length != time.Duration(numberAt(t, doc, "duration_s")*1e9).Round(time.Millisecond) {
				t.Errorf("%s, %v", line, err)
			}
			isBytes(t, "bytes in", m[3], numberAt(t, doc, "bytes_in"))
			isBytes(t, "bytes out", m[4], numberAt(t, doc, "bytes_out"))
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case line == "" || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "### Load test ") || strings.HasPrefix(line, "`"):
		case strings.HasPrefix(line, "Connections: "):
			connectionsHave(t, doc, strings.TrimSuffix(strings.TrimPrefix(line, "Connections: "), "."))
		case strings.HasPrefix(line, "- limit: "):
			isLimit(t, doc, strings.TrimPrefix(line, "- limit: "))
		case strings.HasPrefix(line, "- note: "):
			isNote(t, doc, strings.TrimPrefix(line, "- note: "))
		case strings.HasPrefix(line, "| query | min | mean | max | answers | no answer |"), strings.HasPrefix(line, "| check | "), strings.HasPrefix(line, "| error | "), strings.HasPrefix(line, "| status | requests"):
			table = cells[0]
		case strings.HasPrefix(line, "| | requests | "):
			table = ""
		case strings.HasPrefix(line, "| | min | "):
			table = "times"
		case strings.HasPrefix(line, "| streams | min | "):
			table = "streams"
		case regexp.MustCompile(`^- (events|tokens|goodput): `).MatchString(line):
			name, text, _ := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
			streamFactHas(t, doc, name, text)
		case strings.HasPrefix(line, "| "):
			markdownRow(t, doc, table, cells)
			rows++
		default:
			t.Errorf("nothing compares %q", line)
		}
	}
	if want := 2 + len(r.Thresholds) + 4; rows < want {
		t.Errorf("%d rows, want %d at least:\n%s", rows, want, page)
	}
}

// jsonHas checks that the JSON, with which the others are compared, survives a round trip.
func jsonHas(t *testing.T, _ report.Report, _ map[string]any, text string) {
	back, err := archive.ReadJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again := rendered(t, "json", back); again != text {
		t.Errorf("%s\nwant\n%s", again, text)
	}
}

// archiveHas: the JSON report of an archive is that of the run.
func archiveHas(t *testing.T, r report.Report, _ map[string]any, text string) {
	back, err := archive.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rendered(t, "json", back), rendered(t, "json", r); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// hgrmHas checks the distribution of the latency: the number of values, mean and maximum, and that each percentile of
// JSON lies between its neighbours. The distribution contains only sent requests, so the percentiles of JSON are found
// at their share of it. Their rank is the nearest one, at most half a request away.
func hgrmHas(t *testing.T, _ report.Report, doc map[string]any, text string) {
	type line struct{ ms, quantile float64 }
	var all []line
	for text := range strings.Lines(text) {
		var l line
		var n int64
		if _, err := fmt.Sscanf(text, "%f %f %d", &l.ms, &l.quantile, &n); err == nil {
			all = append(all, l)
		}
	}
	footer := regexp.MustCompile(`(Mean|Max|Total count) += +([\d.]+)`)
	found := 0
	for _, m := range footer.FindAllStringSubmatch(text, -1) {
		found++
		switch ended := numberAt(t, doc, "audit", "completed") + numberAt(t, doc, "audit", "failed"); m[1] {
		case "Total count":
			isCount(t, m[1], m[2], ended)
		default:
			isRounded(t, m[1], m[2], 1e6, numberAt(t, doc, "latency_ns", strings.ToLower(m[1])), 3)
		}
	}
	if found != 3 {
		t.Fatalf("%d figures in\n%s", found, text)
	}
	kept := 1.
	if n, has := doc["percentiles_are_lower_bounds_above"].(json.Number); has {
		kept, _ = n.Float64()
	}
	for name, q := range map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999, "max": 1} {
		q, ms := min(1, q/kept), numberAt(t, doc, "latency_ns", name)/1e6
		half := 0.5 / max(1, numberAt(t, doc, "audit", "completed")+numberAt(t, doc, "audit", "failed"))
		for _, l := range all {
			if l.quantile <= q-half && l.ms > ms+0.0005 || l.quantile >= min(1, q+half) && l.ms < ms-0.0005 {
				t.Errorf("%s is %v ms, but %v of all are at most %v ms", name, ms, l.quantile, l.ms)
			}
		}
	}
}

// hlogStreams checks the times of answers in pieces of each point, which have tags.
func hlogStreams(t *testing.T, r report.Report, series []map[string]any, width float64, text string) {
	found := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^Tag=(\w+),([\d.]+),[\d.]+,[\d.]+,(\S+)$`).FindAllStringSubmatch(text, -1) {
		h := record.Histogram{Digits: record.SeriesDigits}
		at, err := strconv.ParseFloat(m[2], 64)
		if err := cmp.Or(err, h.UnmarshalText([]byte(m[3]))); err != nil {
			t.Fatal(err)
		}
		found[m[1]] += h.Count()
		of, _ := series[int(at/width)]["streams"].(map[string]any)
		if of == nil {
			t.Fatalf("JSON has no streams at %v", at)
		}
		if times, _ := of[m[1]+"_ns"].(map[string]any); times != nil {
			for name, q := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999} {
				isCount(t, m[1]+" "+name, fmt.Sprint(h.Quantile(q)), numberAt(t, times, name))
			}
		}
	}
	all := r.Histograms.Streams
	want := map[string]int64{"first_event": all.FirstEvent.Count(), "first_event_service": all.Service.Count(), "event_gap": all.Gap.Count(), "stream": all.Stream.Count(), "per_token": all.PerToken.Count()}
	if !r.Streams.Any() {
		want = map[string]int64{}
	}
	maps.DeleteFunc(want, func(_ string, n int64) bool { return n == 0 })
	if !maps.Equal(found, want) {
		t.Errorf("the log has %v times, want %v", found, want)
	}
}

// hlogHas checks the latencies of each point: their number, and each percentile that JSON has.
func hlogHas(t *testing.T, r report.Report, doc map[string]any, text string) {
	series, width := elementsAt(doc, "series"), numberAt(t, doc, "series_width_s")
	ended := 0.
	hlogStreams(t, r, series, width, text)
	for _, m := range regexp.MustCompile(`(?m)^([\d.]+),([\d.]+),([\d.]+),(\S+)$`).FindAllStringSubmatch(text, -1) {
		h := record.Histogram{Digits: record.SeriesDigits}
		if err := h.UnmarshalText([]byte(m[4])); err != nil {
			t.Fatal(err)
		}
		at, err := strconv.ParseFloat(m[1], 64)
		if err != nil || at >= width*float64(len(series)) {
			t.Fatalf("%v: %s", err, m[0])
		}
		point := series[int(at/width)]
		isRounded(t, "its length", m[2], 1, width, 1)
		isRounded(t, "its maximum", m[3], 1e6, float64(h.Max()), 1)
		isCount(t, "requests at "+m[1], fmt.Sprint(h.Count()), numberAt(t, point, "ok")+numberAt(t, point, "failed"))
		ended += float64(h.Count())
		for name := range point {
			if p := regexp.MustCompile(`^p(\d\d)(\d*)_ns$`).FindStringSubmatch(name); p != nil {
				percent, _ := strconv.ParseFloat(p[1]+"."+p[2]+"0", 64)
				isCount(t, name+" at "+m[1], fmt.Sprint(h.Quantile(percent/100)), numberAt(t, point, name))
			}
		}
	}
	if want := numberAt(t, doc, "audit", "completed") + numberAt(t, doc, "audit", "failed"); ended != want && len(r.Histograms.Series) > 0 {
		t.Errorf("%v requests, want %v", ended, want)
	}
}
