package report

import (
	"bytes"

	"github.com/loadctl/loadctl/internal/printable"
)

// textThresholds writes a line for each threshold. What is undecided has failed too, and says so.
func textThresholds(b *bytes.Buffer, r Report) {
	for i, t := range r.Thresholds {
		label, mark := "", map[string]string{Passed: "✓"}[t.Result]
		if i == 0 {
			label = "thresholds"
		}
		if mark == "" {
			mark = "✗"
		}
		printable.Fprintf(b, "%-12s%s %s: %s", label, mark, t.Threshold, t.Text)
		if t.Result == Undecided {
			b.WriteString(" (undecided)")
		}
		b.WriteByte('\n')
	}
}
