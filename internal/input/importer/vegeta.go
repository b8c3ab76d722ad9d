package importer

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/loadctl/loadctl/internal/input/workload"
)

// vegeta reads targets: a flow of each, with its weight.
func (o Options) vegeta(content []byte) (*file, error) {
	all, err := workload.Targets(o.Name, content)
	if err != nil {
		return nil, err
	}
	f := &file{notes: []string{fmt.Sprintf("Imported from %s: %s.", o.shown(), plural(len(all), "target", "targets"))}}
	var unique names
	for _, t := range all {
		s := step{Step: t.Step}
		if s.Method == "" {
			s.Method = http.MethodGet
			if len(s.Body) > 0 {
				s.Method = http.MethodPost
			}
		}
		if err := f.prepare(&s, fmt.Sprintf("%s:%d", o.Name, t.Line)); err != nil {
			return nil, err
		}
		f.flows = append(f.flows, flow{name: unique.of(s.Name), weight: cmp.Or(t.Weight, 1), steps: []step{s}})
	}
	f.mixed = slices.ContainsFunc(all, func(t workload.Target) bool { return t.Weight > 0 })
	f.begin(o.Base)
	return f, nil
}
