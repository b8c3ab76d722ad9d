package render_test

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
)

// TestNotSentIsShown: the text and the page say beside the success how much was not sent, if anything was not.
func TestNotSentIsShown(t *testing.T) {
	incomplete := reporttest.Run(t)
	incomplete.Workers[0].Total.Final = false
	hardly := gated(t)
	hardly.Asked, hardly.Audit = 1_000_000, report.Audit{Issued: 1_000_000, Asked: 1_000_000, Sent: 999_999, LateDropped: 1, Completed: 999_999}
	for name, c := range map[string]struct {
		r    report.Report
		want string
	}{
		"some":       {gated(t), "0.64 %"},
		"INCOMPLETE": {report.Build(incomplete), "up to 0.64 %"},
		"hardly":     {hardly, "less than 0.01 %"},
		"closed":     {report.Build(reporttest.Loop(true)), ""},
		"nothing":    {report.Build(report.Input{Run: "x"}), ""},
	} {
		text, page := rendered(t, "text", c.r), rendered(t, "html", c.r)
		if c.want == "" {
			if strings.Contains(text, "NOT SENT") || strings.Contains(page, `class="alarm`) {
				t.Errorf("%s: all was sent\n%s", name, text)
			}
			continue
		}
		if line := "\nNOT SENT    " + c.want + " of what was asked for, see the audit\n"; !strings.Contains(text, line) {
			t.Errorf("%s: no %q in\n%s", name, line, text)
		}
		if alarm := `<p class="alarm bad">` + strings.ReplaceAll(c.want, " %", "\u00a0%") + " not sent</p>"; !strings.Contains(page, alarm) {
			t.Errorf("%s: no %q", name, alarm)
		}
	}
}
