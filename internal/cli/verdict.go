package cli

import (
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/report"
)

// A verdictError says that a run did not meet its thresholds, or cannot show that it did.
type verdictError struct {
	code int
	text string
}

func (e verdictError) Error() string { return e.text }

// Judged is the error that ends a command whose run did not meet its thresholds; nil where it did, has none, or goes on. A threshold that has
// failed comes first: what the run proves is true, however little that is. Then a run that is not valid, and last what nothing decides.
func Judged(rep report.Report) error {
	if len(rep.Thresholds) == 0 || rep.Running {
		return nil
	}
	var failed, undecided []string
	for _, t := range rep.Thresholds {
		line := t.Threshold + ": " + t.Text
		switch t.Result {
		case report.Failed:
			failed = append(failed, line)
		case report.Undecided:
			undecided = append(undecided, line)
		}
	}
	switch invalid := rep.Invalid(); {
	case len(failed) > 0:
		return verdictError{CodeThreshold, fmt.Sprintf("run %s: %d of %d thresholds failed: %s", rep.Run, len(failed), len(rep.Thresholds), strings.Join(failed, "; "))}
	case len(invalid) > 0:
		return verdictError{CodeInvalid, fmt.Sprintf("run %s proves nothing about the endpoint: %s; see its report, and run it again", rep.Run, strings.Join(invalid, "; "))}
	case len(undecided) > 0:
		return verdictError{CodeThreshold, fmt.Sprintf("run %s: %d of %d thresholds are undecided, which counts as failed: %s",
			rep.Run, len(undecided), len(rep.Thresholds), strings.Join(undecided, "; "))}
	}
	return nil
}
