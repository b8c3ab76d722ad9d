package render_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
)

// The grammar of OpenMetrics 1.0, for gauges and summaries.
const (
	metricName  = `[a-zA-Z_:][a-zA-Z0-9_:]*`
	labelName   = `[a-zA-Z_][a-zA-Z0-9_]*`
	labelValue  = `"(?:[^"\\\n]|\\[\\"n])*"`
	metricValue = `NaN|[+-]?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?`
)

// A metricFamily holds the comments before its samples.
type metricFamily struct{ kind, unit, help string }

// parseOpenMetrics reads OpenMetrics strictly. It returns the samples by name and sorted labels, without the label run,
// which all must have.
func parseOpenMetrics(t *testing.T, text string) map[string]float64 {
	t.Helper()
	comment := regexp.MustCompile(`^# (HELP|TYPE|UNIT) (` + metricName + `) (.+)$`)
	sample := regexp.MustCompile(`^(` + metricName + `)\{(` + labelName + `=` + labelValue + `(?:,` + labelName + `=` + labelValue + `)*)\} (` + metricValue + `)$`)
	label := regexp.MustCompile(`(` + labelName + `)=(` + labelValue + `)`)
	body, ended := strings.CutSuffix(text, "\n# EOF\n")
	if !ended || !utf8.ValidString(text) {
		t.Fatalf("no end, or no UTF-8:\n%s", text)
	}
	families, samples, current, begun := map[string]*metricFamily{}, map[string]float64{}, "", map[string]bool{}
	for line := range strings.SplitSeq(body, "\n") {
		if c := comment.FindStringSubmatch(line); c != nil {
			if families[c[2]] == nil {
				families[c[2]] = &metricFamily{}
			} else if current != c[2] || begun[c[2]] {
				t.Fatalf("the family %s is not in one piece: %s", c[2], line)
			}
			current = c[2]
			f := families[current]
			part := map[string]*string{"HELP": &f.help, "TYPE": &f.kind, "UNIT": &f.unit}[c[1]]
			if *part != "" || c[1] == "UNIT" && !strings.HasSuffix(current, "_"+c[3]) {
				t.Fatalf("%s", line)
			}
			*part = c[3]
			continue
		}
		s := sample.FindStringSubmatch(line)
		if s == nil {
			t.Fatalf("neither a comment nor a sample: %.300s", line)
		}
		f := families[current]
		if f == nil || f.help == "" || f.kind != "gauge" && f.kind != "summary" || s[1] != current && (f.kind != "summary" || s[1] != current+"_count") {
			t.Fatalf("%s is not of the family %s: %+v", line, current, f)
		}
		begun[current] = true
		var labels, names []string
		for _, l := range label.FindAllStringSubmatch(s[2], -1) {
			names = append(names, l[1])
			if l[1] != "run" {
				labels = append(labels, l[1]+"="+strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(strings.Trim(l[2], `"`)))
			}
		}
		slices.Sort(labels)
		slices.Sort(names)
		if names[0] == "" || len(slices.Compact(slices.Clone(names))) != len(names) || !slices.Contains(names, "run") {
			t.Fatalf("labels of %s", line)
		}
		key := strings.Join(append([]string{s[1]}, labels...), " ")
		value, err := strconv.ParseFloat(s[3], 64)
		if _, twice := samples[key]; twice || err != nil {
			t.Fatalf("%s: twice, or %v", line, err)
		}
		samples[key] = value
	}
	return samples
}

// TestOpenMetricsParser: the parser refuses what the format does not allow; else the other tests would prove nothing.
// It is tested on damaged output.
func TestOpenMetricsParser(t *testing.T) {
	samples := parseOpenMetrics(t, rendered(t, "openmetrics", report.Build(reporttest.Run(t))))
	if samples["loadctl_audit term=sent"] != 2010 || samples["loadctl_latency_seconds_count"] != samples["loadctl_audit term=completed"]+samples["loadctl_audit term=failed"] {
		t.Errorf("%v", samples)
	}
}
