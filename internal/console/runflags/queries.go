package runflags

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// queryFlags say what is asked about the endpoint, and where.
type queryFlags struct {
	prometheus string
	queries    []string
	stale      cli.Duration
}

func (f *queryFlags) addFlags(s *pflag.FlagSet) {
	f.stale = cli.Duration(spec.DefaultQueryStale)
	s.StringVar(&f.prometheus, "prometheus", "", "`URL` of the Prometheus that answers --query, as workers reach it, such as http://prometheus:9090. See docs/report.md#queries")
	s.StringArrayVar(&f.queries, "query", nil, "`NAME=PROMQL`: what to ask every 5 s about the endpoint, such as cpu='max(rate(process_cpu_seconds_total[30s]))'. "+
		"The report keeps the answers. --threshold 'query{NAME}:value<0.8 over 30s abort after 1' judges them; may be repeated")
	s.Var(&f.stale, "query-stale", "thresholds on a query fail where it gave no answer for this long, 10s to 5m")
}

// set writes the values of the flags into a spec. What is not asked for is not stored.
func (f *queryFlags) set(s *spec.Spec, flags *pflag.FlagSet) error {
	s.Prometheus = f.prometheus
	for _, text := range f.queries {
		q, err := spec.ParseQuery(text)
		if err != nil {
			return err
		}
		s.Queries = append(s.Queries, q)
	}
	switch stale := time.Duration(f.stale); {
	case !flags.Changed("query-stale"):
	case stale == 0:
		return fmt.Errorf("--query-stale 0: give a time from %v to %v, such as %v", spec.MinQueryStale, spec.MaxQueryStale, spec.DefaultQueryStale)
	case stale != spec.DefaultQueryStale || len(s.Queries) == 0:
		s.QueryStale = stale
	}
	return nil
}
