package arrivals

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loadctl/loadctl/internal/server/site"
	"github.com/loadctl/loadctl/internal/server/streams"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// A Summary describes what arrived. docs/schema/target.schema.json describes its members.
type Summary struct {
	URL            string             `json:"url"`
	Began          time.Time          `json:"began"`          // when the server began to listen
	First          time.Time          `json:"first,omitzero"` // the first arrival; zero = none
	Last           time.Time          `json:"last,omitzero"`  // the last one
	Total          int64              `json:"total"`
	Connections    int64              `json:"connections"`
	MeanRate       float64            `json:"mean_rate"`  // per second, see Tally.MeanRate
	PerSecond      []Second           `json:"per_second"` // from the first arrival on, the last KeptSeconds
	Windows        []Window           `json:"windows"`
	ErrorsAnswered int64              `json:"errors_answered"`
	Routes         []RouteSummary     `json:"routes,omitempty"` // if the server has any: they add up to all requests
	Unique         []site.UniqueCount `json:"unique,omitempty"`
	Streams        *streams.Summary   `json:"streams,omitempty"` // if the site has streams
}

// A Second is the number of requests that arrived in the second that begins at At.
type Second struct {
	At       time.Time `json:"at"`
	Requests int64     `json:"requests"`
}

// A RouteSummary describes what arrived on a route, and what was answered.
type RouteSummary struct {
	Route     string              `json:"route"`
	Requests  int64               `json:"requests"`
	MeanRate  float64             `json:"mean_rate"`  // per second, see Tally.MeanRate
	PerSecond []int64             `json:"per_second"` // for the same seconds as those of all requests
	Statuses  []site.Status       `json:"statuses"`   // of the answers written
	Latency   record.Distribution `json:"latency_ns"` // of them: from the first byte of the request to the end of the answer
}

// summary returns what is known so far of tallies and of the server of their arrivals.
func (s *Server) summary(t *tallies) *Summary {
	tally := t.all
	sum := &Summary{
		URL: s.URL(), Began: s.began.UTC(),
		Total: tally.Total(), Connections: s.Connections(), MeanRate: tally.MeanRate(),
		Windows: tally.Windows(), ErrorsAnswered: s.ErrorsAnswered(),
	}
	if sum.Total > 0 {
		sum.First, sum.Last = time.Unix(0, tally.First()).UTC(), time.Unix(0, tally.Last()).UTC()
	}
	from, counts := tally.PerSecond()
	sum.PerSecond = make([]Second, len(counts))
	for i, n := range counts {
		sum.PerSecond[i] = Second{time.Unix(0, from+int64(i)*int64(time.Second)).UTC(), n}
	}
	for i, r := range t.routes {
		served := s.routes()[i]
		route := RouteSummary{
			Route: t.names[i], Requests: r.Total(), MeanRate: r.MeanRate(), PerSecond: make([]int64, len(counts)),
			Statuses: served.Statuses(), Latency: served.Latency(),
		}
		for second := range counts {
			route.PerSecond[second] = r.during(from + int64(second)*int64(time.Second))
		}
		sum.Routes = append(sum.Routes, route)
	}
	for _, u := range s.opts.Unique {
		sum.Unique = append(sum.Unique, u.Counted())
	}
	if s.opts.Streams != nil {
		sum.Streams = s.opts.Streams.Summary()
	}
	return sum
}

// WriteText writes the summary for people, without the seconds, which were printed as they passed.
func (s *Summary) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "total\t%d requests\n", s.Total)
	fmt.Fprintf(t, "seconds\t%.3f, from the first to the last arrival\n", s.Last.Sub(s.First).Seconds())
	fmt.Fprintf(t, "mean rate\t%s per second\n", units.Thousandths(s.MeanRate))
	fmt.Fprintf(t, "connections\t%d\n", s.Connections)
	if s.ErrorsAnswered > 0 {
		fmt.Fprintf(t, "errors\t%d answered\n", s.ErrorsAnswered)
	}
	if s.Streams != nil {
		s.Streams.WriteCounts(t)
	}
	for _, u := range s.Unique {
		writeUnique(t, u)
	}
	fmt.Fprintln(t, "\nWINDOW\tMOST ARRIVALS IN ANY")
	for _, window := range s.Windows {
		fmt.Fprintf(t, "%v\t%d\n", window.Length, window.Most)
	}
	if len(s.Routes) > 0 {
		fmt.Fprintln(t, "\nROUTE\tREQUESTS\tPER SECOND\tP50\tP90\tP99\tMAX\tSTATUS: ANSWERS")
	}
	for _, r := range s.Routes {
		r.writeText(t)
	}
	if s.Streams != nil {
		s.Streams.WriteTimes(t)
	}
	return t.Flush()
}

// writeUnique writes a line for what came more than once. Parts that are usually 0 are left out.
func writeUnique(w io.Writer, u site.UniqueCount) {
	fmt.Fprintf(w, "unique\t%s: values %d, twice %d", u.Of, u.Values, u.Twice)
	if u.Without > 0 {
		fmt.Fprintf(w, "; requests without %d", u.Without)
	}
	if u.NotCounted > 0 {
		fmt.Fprintf(w, "; stopped, for it keeps no more values: requests not counted %d", u.NotCounted)
	}
	fmt.Fprintln(w)
}

// writeText writes the row of a route.
func (r RouteSummary) writeText(w io.Writer) {
	fmt.Fprintf(w, "%s\t%d\t%s", r.Route, r.Requests, units.Thousandths(r.MeanRate))
	for _, ns := range []int64{r.Latency.P50, r.Latency.P90, r.Latency.P99, r.Latency.Max} {
		if len(r.Statuses) == 0 {
			fmt.Fprint(w, "\t-")
			continue
		}
		fmt.Fprint(w, "\t", units.Duration(ns))
	}
	statuses := make([]string, 0, len(r.Statuses))
	for _, status := range r.Statuses {
		statuses = append(statuses, fmt.Sprintf("%d: %d", status.Status, status.Answers))
	}
	fmt.Fprintf(w, "\t%s\n", cmp.Or(strings.Join(statuses, ", "), "-"))
}
