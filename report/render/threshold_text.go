package render

import (
	"bytes"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// textThresholds writes a line for each threshold.
func textThresholds(b *bytes.Buffer, r report.Report) {
	for i, t := range r.Thresholds {
		printable.Fprintf(b, "%-12s%s %s: %s", labelled(i, "thresholds"), resultSign(t.Result), t.Threshold, t.Text)
		if t.Result == threshold.Undecided {
			b.WriteString(" (undecided)")
		}
		b.WriteByte('\n')
	}
}

// resultSign returns a result as one character.
func resultSign(result string) string {
	switch result {
	case threshold.Passed:
		return "✓"
	case threshold.Failed:
		return "✗"
	default:
		return "?"
	}
}
