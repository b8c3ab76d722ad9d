package spec

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// How long a query may give no answer before its thresholds fail.
const (
	DefaultQueryStale = 30 * time.Second
	MinQueryStale     = 10 * time.Second // an answer may take 4 s, and comes every 5 s
	MaxQueryStale     = 5 * time.Minute
)

// maxQuery bounds the length of a query, in bytes.
const maxQuery = 1000

// ParseQuery reads NAME=PROMQL, as --query takes it.
func ParseQuery(text string) (report.Query, error) {
	name, promql, found := strings.Cut(text, "=")
	q := report.Query{Name: strings.TrimSpace(name), PromQL: strings.TrimSpace(promql)}
	if !found {
		return q, fmt.Errorf("--query %.60q: write NAME=PROMQL, such as cpu='max(rate(process_cpu_seconds_total[30s]))'", text)
	}
	return q, nil
}

// Stale returns how long a query may give no answer before its thresholds fail.
func (s Spec) Stale() time.Duration { return cmp.Or(s.QueryStale, DefaultQueryStale) }

// PrometheusHost returns the host:port that queries go to; "" = there are none.
func (s Spec) PrometheusHost() string {
	u, err := url.Parse(s.Prometheus)
	if err != nil || s.Prometheus == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), targets.Port(u))
}

// queries returns the queries as --query takes them.
func (s Spec) queries() (all []string) {
	for _, q := range s.Queries {
		all = append(all, q.Name+"="+q.PromQL)
	}
	return all
}

// validateQueries checks what can be checked without the Prometheus.
func (s Spec) validateQueries() error {
	switch {
	case s.Prometheus == "" && len(s.Queries) > 0:
		return errors.New("--query: say which Prometheus answers it, such as --prometheus http://prometheus:9090")
	case s.Prometheus != "" && len(s.Queries) == 0:
		return errors.New("--prometheus has no effect without --query: add one, such as --query cpu='max(rate(process_cpu_seconds_total[30s]))', or remove --prometheus")
	case s.QueryStale != 0 && len(s.Queries) == 0:
		return errors.New("--query-stale has no effect without --query; remove it")
	case len(s.Queries) == 0:
		return nil
	case s.QueryStale != 0 && (s.QueryStale < MinQueryStale || s.QueryStale > MaxQueryStale || s.QueryStale%time.Second != 0):
		return fmt.Errorf("--query-stale: give whole seconds from %v to %v, such as %v; a query is asked every 5 s", MinQueryStale, MaxQueryStale, DefaultQueryStale)
	case len(s.Queries) > record.MaxQueries:
		return fmt.Errorf("--query: give at most %d", record.MaxQueries)
	}
	known := map[string]bool{}
	for _, q := range s.Queries {
		if err := validateQuery(q); err != nil {
			return err
		}
		if known[q.Name] {
			return fmt.Errorf("--query: two are called %s; give each a name of its own", q.Name)
		}
		known[q.Name] = true
	}
	return s.validatePrometheus()
}

// validateQuery checks one query.
func validateQuery(q report.Query) error {
	switch {
	case q.Name == "":
		return fmt.Errorf("--query %.60q: it has no name; write NAME=PROMQL, such as cpu=%.40s", "="+q.PromQL, q.PromQL)
	case !record.QueryName(q.Name):
		return fmt.Errorf("--query: %.60q is no name; write NAME=PROMQL with a name of 1 to 40 letters, digits, dashes and underscores that begins with a letter", q.Name)
	case q.PromQL == "":
		return fmt.Errorf("--query %s=: write what to ask, such as %s='max(rate(process_cpu_seconds_total[30s]))'", q.Name, q.Name)
	case len(q.PromQL) > maxQuery:
		return fmt.Errorf("--query %s: it has %d bytes; give at most %d, or make it a recording rule of the Prometheus", q.Name, len(q.PromQL), maxQuery)
	case !utf8.ValidString(q.PromQL):
		return fmt.Errorf("--query %s: it is not UTF-8; check the quotes", q.Name)
	}
	return nil
}

// validatePrometheus checks the URL. It has no secrets: everybody who can read the run sees it.
func (s Spec) validatePrometheus() error {
	u, err := url.Parse(s.Prometheus)
	const example = "write it as http://prometheus:9090 or https://host/prefix"
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s.Prometheus) > maxQuery:
		return fmt.Errorf("--prometheus %.80q is not the URL of a Prometheus; %s", redacted(s.Prometheus), example)
	case u.User != nil:
		return fmt.Errorf("--prometheus %.80q: a run keeps no secrets, so the URL may have no user and password; set LOADCTL_PROMETHEUS_TOKEN where the workers run", redacted(s.Prometheus))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("--prometheus %.80q: leave out what follows ? or #; %s", redacted(s.Prometheus), example)
	}
	return nil
}

// redacted returns a URL without what may be a secret.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		before, _, _ := strings.Cut(text, "@")
		if len(before) < len(text) {
			return "[redacted]"
		}
		return text
	}
	u.RawQuery, u.Fragment = "", ""
	if u.User != nil {
		u.User = url.User("redacted")
	}
	return u.String()
}

// knownQueries says which queries thresholds may name.
func (s Spec) knownQueries(asked string) string {
	if len(s.Queries) == 0 {
		return fmt.Sprintf("add --prometheus URL and --query %s=PROMQL", asked)
	}
	var names []string
	for _, q := range s.Queries {
		names = append(names, q.Name)
	}
	return "there is " + strings.Join(names, ", ")
}
