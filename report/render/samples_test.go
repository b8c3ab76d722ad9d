package render_test

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
)

// TestSamplesNameTheirCommand: the text report and the comment say how many requests were kept, and which command shows them. A
// report without samples has no such line.
func TestSamplesNameTheirCommand(t *testing.T) {
	r := report.Build(reporttest.Sampled(reporttest.Run(t)))
	one, good := r, r
	one.Samples, good.Samples = r.Samples[:1], r.Samples[2:]
	file, lost, kept := one, one, one
	file.SamplesIn, lost.SamplesIn, kept.SamplesIn = []string{"it's.loadctl", "b.loadctl"}, []string{}, []string{"checkout", "--merge", "w.json"}
	for want, r := range map[string]report.Report{
		"2 of 30 failed requests: loadctl samples checkout":                                                  r,
		"1 of 30 failed requests: loadctl samples checkout --class status":                                   one,
		"2 of 2005 requests: loadctl samples checkout --slowest":                                             good,
		`1 of 30 failed requests: loadctl samples 'it'\''s.loadctl' b.loadctl --class status`:                file,
		"1 of 30 failed requests, kept with --out FILE.loadctl: loadctl samples FILE.loadctl --class status": lost,
		"1 of 30 failed requests: loadctl samples checkout --merge w.json --class status":                    kept,
	} {
		all := reporttest.EveryFormat(t, r)
		if !strings.Contains(all["text"], "\nsamples     "+want+"\n") {
			t.Errorf("no %s in\n%s", want, all["text"])
		}
		_, command, _ := strings.Cut(want, ": ")
		if !strings.Contains(all["markdown"], "Samples: ") || !strings.Contains(all["markdown"], "`"+command+"`") {
			t.Errorf("no %s in\n%s", command, all["markdown"])
		}
	}
	if none := reporttest.EveryFormat(t, report.Build(reporttest.Run(t))); strings.Contains(none["text"]+none["markdown"], "loadctl samples") {
		t.Error(none["text"], none["markdown"])
	}
}
