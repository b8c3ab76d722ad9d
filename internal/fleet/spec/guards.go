package spec

import (
	"fmt"

	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// validateGuards checks that each guard can lower the rate, and that all restore it or none does: what is stored does not say
// which of them has lowered it.
func (s Spec) validateGuards(all []threshold.Threshold) error {
	var first threshold.Threshold
	for _, t := range all {
		switch {
		case !t.Guards():
			continue
		case s.Max:
			return fmt.Errorf("--threshold %q and %s: without a rate there is none to reduce; write abort after, or give a rate", t.Text, s.Loop())
		case t.Reduce.Floor > 0 && t.Reduce.Floor >= s.Peak() && s.Peak() > 0:
			return fmt.Errorf("--threshold %q: the run asks for at most %s/s, so it would never be reduced; give a lower 'down to'", t.Text, units.Rate(s.Peak()))
		case first.Guards() && (first.Reduce.Restore == 0) != (t.Reduce.Restore == 0):
			return fmt.Errorf("--threshold %q and %q: one restores the rate and one keeps it down; give 'restore after' to both or to none", first.Text, t.Text)
		}
		first = t
	}
	return nil
}
