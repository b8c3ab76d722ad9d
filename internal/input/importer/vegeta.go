package importer

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/loadctl/loadctl/internal/input/draft"
	"github.com/loadctl/loadctl/internal/input/workload"
)

// vegeta reads targets: a flow of each, with its weight.
func (o Options) vegeta(content []byte) (*draft.File, error) {
	all, err := workload.Targets(o.Name, content)
	if err != nil {
		return nil, err
	}
	f := &draft.File{Notes: []string{fmt.Sprintf("Imported from %s: %s.", o.shown(), draft.Plural(len(all), "target", "targets"))}}
	var unique draft.Names
	for _, t := range all {
		s := draft.Step{Step: t.Step}
		if s.Method == "" {
			s.Method = http.MethodGet
			if len(s.Body) > 0 {
				s.Method = http.MethodPost
			}
		}
		if err := f.Prepare(&s, fmt.Sprintf("%s:%d", o.Name, t.Line)); err != nil {
			return nil, err
		}
		f.Flows = append(f.Flows, draft.Flow{Name: unique.Of(s.Name), Weight: cmp.Or(t.Weight, 1), Steps: []draft.Step{s}})
	}
	f.Mixed = slices.ContainsFunc(all, func(t workload.Target) bool { return t.Weight > 0 })
	f.Begin(o.Base)
	return f, nil
}
