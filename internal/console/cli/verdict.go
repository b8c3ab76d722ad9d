package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/targets"
)

// A verdictError says that a run did not meet its thresholds, or cannot show that it did.
type verdictError struct {
	code int
	text string
}

func (e verdictError) Error() string { return e.text }

// Judged returns the error that ends a command whose run did not meet its thresholds, or in which no answer was good and
// no threshold says that this is as it should be. It is nil while the run goes on.
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
	if !rep.Running && len(rep.Thresholds) == 0 && rep.Success == 0 && len(rep.Errors) > 0 {
		return fmt.Errorf("run %s: no answer was as expected: %s", rep.Run, failures(rep))
	}
	return nil
}

// Judged is the function Judged. With --guard-ok guards that failed do not count.
func (r *Report) Judged(rep report.Report) error {
	if r.GuardOK {
		rep = rep.GuardsForgiven()
	}
	return Judged(rep)
}

// Concluded is the function Concluded, likewise.
func (r *Report) Concluded(rep report.Report) error {
	if r.GuardOK {
		rep = rep.GuardsForgiven()
	}
	return Concluded(rep)
}

// Concluded is Judged, and also returns an error if the report of a run that is over lacks something. A worker answers
// for its own part only, so it uses Judged.
func Concluded(rep report.Report) error {
	if err := Judged(rep); err != nil || rep.Running || rep.Complete {
		return err
	}
	return fmt.Errorf("run %s: the report is INCOMPLETE: %s", rep.Run, strings.Join(rep.Notes, "; "))
}

// failures names the most frequent class of failures, the most frequent status if that is the reason, and what to do.
func failures(rep report.Report) string {
	class, n := most(rep.Errors)
	switch class {
	case targets.ClassStatus:
	case targets.ClassDNS, targets.ClassDescriptors, targets.ClassPorts, targets.ClassConnect, targets.ClassTLS:
		return fmt.Sprintf("%d requests failed, of class %s; see the report, and check the target with loadctl doctor --url URL", n, class)
	default:
		return fmt.Sprintf("%d requests failed, of class %s; see the report, and look at one request with loadctl try", n, class)
	}
	status, _ := most(rep.StatusCodes)
	return fmt.Sprintf("%d requests failed, of class %s, most with %s; check path and login, or name the good statuses with --expect", n, class, status)
}

// most returns the name with the highest count; of several the first in the alphabet.
func most(counts map[string]int64) (name string, n int64) {
	for _, x := range slices.Sorted(maps.Keys(counts)) {
		if counts[x] > n {
			name, n = x, counts[x]
		}
	}
	return name, n
}
