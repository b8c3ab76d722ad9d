package show

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report/samples"
)

// A Filter says which samples are wanted. Zero values want all.
type Filter struct {
	Class, Step string
	Slowest     bool    // only those that are among the slowest, the slowest first
	Ordinal     *uint64 // only those of this slot
}

// Choose returns the samples that are wanted. The error is for a class, a step or an ordinal that none has; it names those that
// there are.
func (f Filter) Choose(all []samples.Sample) ([]samples.Sample, error) {
	if len(all) == 0 {
		return []samples.Sample{}, nil
	}
	if f.Class != "" && !slices.ContainsFunc(all, func(s samples.Sample) bool { return s.Class != "" }) {
		return []samples.Sample{}, nil // a run that went well is no mistake of who asks
	}
	classes, steps := named(all, func(s *samples.Sample) string { return s.Class }), named(all, func(s *samples.Sample) string { return s.Step })
	if err := cmp.Or(known("--class", f.Class, classes, ""), known("--step", f.Step, steps, "the requests have no steps")); err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(s samples.Sample) bool {
		return f.Class != "" && s.Class != f.Class || f.Step != "" && s.Step != f.Step || f.Slowest && !slices.Contains(s.Why, samples.Slow) ||
			f.Ordinal != nil && s.Ordinal != *f.Ordinal
	})
	switch {
	case len(kept) == 0 && f.Ordinal != nil:
		return nil, fmt.Errorf("--ordinal %d: no such sample was kept; the table without --ordinal lists all", *f.Ordinal)
	case len(kept) == 0 && f.Class != "" && f.Step != "":
		return nil, fmt.Errorf("--class %.60q: no sample of step %.60q has it; leave one of them out", f.Class, f.Step)
	}
	if f.Slowest {
		slices.SortStableFunc(kept, func(a, b samples.Sample) int { return cmp.Compare(b.Latency, a.Latency) })
	}
	return kept, nil
}

// named returns the different names of samples, sorted, without the empty one.
func named(all []samples.Sample, name func(s *samples.Sample) string) []string {
	var names []string
	for i := range all {
		if n := name(&all[i]); n != "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// known refuses a name that is not among those that there are.
func known(flag, name string, names []string, none string) error {
	const shown = 20
	switch {
	case name == "" || slices.Contains(names, name):
		return nil
	case len(names) == 0:
		return fmt.Errorf("%s %.60q: %w; leave it out", flag, name, errors.New(none))
	case len(names) > shown:
		return fmt.Errorf("%s %.60q: there are %s and %d more", flag, name, strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return fmt.Errorf("%s %.60q: samples have %s", flag, name, strings.Join(names, ", "))
}
