package cli

import (
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// A verdictError says that a run did not meet its thresholds, or cannot show that it did.
type verdictError struct {
	code int
	text string
}

func (e verdictError) Error() string { return e.text }

// Judged returns the error that ends a command whose run did not meet its thresholds; nil if it did, has none, or goes
// on.
func Judged(rep report.Report) error {
	of := func(result string) (lines []string) {
		for _, t := range rep.Thresholds {
			if t.Result == result {
				lines = append(lines, t.Threshold+": "+t.Text)
			}
		}
		return lines
	}
	switch rep.Outcome() {
	case threshold.Failed:
		failed := of(threshold.Failed)
		return verdictError{CodeThreshold, fmt.Sprintf("run %s: %d of %d thresholds failed: %s", rep.Run, len(failed), len(rep.Thresholds), strings.Join(failed, "; "))}
	case report.Invalid:
		return verdictError{CodeInvalid, fmt.Sprintf("run %s proves nothing about the endpoint: %s; see its report, and run it again", rep.Run, strings.Join(rep.Invalid(), "; "))}
	case threshold.Undecided:
		undecided := of(threshold.Undecided)
		return verdictError{CodeThreshold, fmt.Sprintf("run %s: %d of %d thresholds are undecided, which counts as failed: %s",
			rep.Run, len(undecided), len(rep.Thresholds), strings.Join(undecided, "; "))}
	}
	return nil
}
