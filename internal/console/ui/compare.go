package ui

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/loadctl/loadctl/internal/console/compare"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
)

// A comparison is what loadctl compare -o json prints, and the curves of both sides.
type comparison struct {
	compare.Comparison
	Curves []curve `json:"curves"`
}

// A curve is latency by percentile: one request in OneIn is slower than this. A latency that is not known is null.
type curve struct {
	Name    string    `json:"name"`
	OneIn   []float64 `json:"one_in"`
	Latency []*int64  `json:"latency"` // ns
}

// compare answers with the differences of two runs or archives.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	base, err := s.side(r.Context(), q.Get("base"))
	if err != nil {
		fail(w, err)
		return
	}
	other, err := s.side(r.Context(), q.Get("other"))
	if err != nil {
		fail(w, err)
		return
	}
	c := comparison{Comparison: compare.New(base, other), Curves: []curve{}}
	if force := q.Get("force"); len(c.Warnings) > 0 && force != "1" && force != "true" {
		refuse(w, http.StatusConflict, strings.Join(c.Warnings, "; ")+"; add force=1 to compare them anyway")
		return
	}
	for _, side := range []compare.Side{base, other} {
		if drawn := render.Draw(side.Runs[0]).Curve; drawn != nil {
			c.Curves = append(c.Curves, curve{side.Name, drawn.OneIn, drawn.Latency})
		}
	}
	answer(w, c)
}

// errSide says how to name what is compared.
var errSide = errors.New("name two runs or archives: base=run:NAME or base=archive:NAME, and other as well")

// side returns one side of a comparison.
func (s *Server) side(ctx context.Context, named string) (compare.Side, error) {
	kind, name, _ := strings.Cut(named, ":")
	var rep report.Report
	var err error
	switch {
	case name == "":
		err = bad(errSide)
	case kind == "run":
		rep, err = s.hub.report(ctx, name)
	case kind == "archive":
		rep, err = s.archived(name)
	default:
		err = bad(errSide)
	}
	return compare.Side{Name: name, Runs: []report.Report{rep}}, err
}
