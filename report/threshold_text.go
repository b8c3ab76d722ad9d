package report

import (
	"bytes"

	"github.com/loadctl/loadctl/internal/printable"
)

// textThresholds writes a line for each threshold.
func textThresholds(b *bytes.Buffer, r Report) {
	for i, t := range r.Thresholds {
		label := ""
		if i == 0 {
			label = "thresholds"
		}
		printable.Fprintf(b, "%-12s%s %s: %s", label, resultSign(t.Result), t.Threshold, t.Text)
		if t.Result == Undecided {
			b.WriteString(" (undecided)")
		}
		b.WriteByte('\n')
	}
}

// resultSign returns a result as one character.
func resultSign(result string) string {
	switch result {
	case Passed:
		return "✓"
	case Failed:
		return "✗"
	default:
		return "?"
	}
}
