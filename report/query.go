package report

import (
	"maps"
	"slices"

	"github.com/loadctl/loadctl/report/record"
)

// A Query is what a run asks a Prometheus about its endpoint.
type Query struct {
	Name   string `json:"name"`
	PromQL string `json:"promql"`
}

// A QueryReport is a query, and its answers in the whole run.
type QueryReport struct {
	Query
	record.Value
}

// addQueries adds the answers to the series, and sums them up.
func (r *Report) addQueries(all []Query, points []record.ValuePoint) {
	for _, q := range all {
		r.Queries = append(r.Queries, QueryReport{Query: q})
	}
	for _, p := range points {
		for name, v := range p.Of {
			r.addValue(p.Start(), name, v)
		}
	}
}

// addValue adds what a query answered in a second of the run. Answers that came after the end are in no point.
func (r *Report) addValue(second int64, name string, v record.Value) {
	i, q := second/r.SeriesWidthS, slices.IndexFunc(r.Queries, func(q QueryReport) bool { return q.Name == name })
	if i >= int64(len(r.Series)) || q < 0 {
		return
	}
	r.Queries[q].Add(v)
	s := &r.Series[i]
	if s.Queries == nil {
		s.Queries = map[string]record.Value{}
	}
	sum := s.Queries[name]
	sum.Add(v)
	s.Queries[name] = sum
}

// answer returns what a query answered in the point that begins at a second.
func (r *Report) answer(query string, second int64) record.Value {
	if i := second / r.SeriesWidthS; i < int64(len(r.Series)) {
		return r.Series[i].Queries[query]
	}
	return record.Value{}
}

// combineQueries adds the queries of all parts, and their answers. Queries of one name that ask for different things get the
// names of their parts.
func (r *Report) combineQueries(parts []Part) {
	asks := map[string]map[string]bool{} // what queries of a name ask for
	for _, p := range parts {
		for _, q := range p.Report.Queries {
			if asks[q.Name] == nil {
				asks[q.Name] = map[string]bool{}
			}
			asks[q.Name][q.PromQL] = true
		}
	}
	for _, p := range parts {
		named := func(name string) string {
			if len(asks[name]) > 1 {
				return p.Name + ": " + name
			}
			return name
		}
		for _, q := range p.Report.Queries {
			if name := named(q.Name); !slices.ContainsFunc(r.Queries, func(o QueryReport) bool { return o.Name == name }) {
				r.Queries = append(r.Queries, QueryReport{Query: Query{Name: name, PromQL: q.PromQL}})
			}
		}
		for _, s := range p.Report.Series {
			for _, name := range slices.Sorted(maps.Keys(s.Queries)) {
				r.addValue(s.T, named(name), s.Queries[name])
			}
		}
	}
}
