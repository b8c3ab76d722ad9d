package arrivals

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
	"time"
)

// A Summary describes what arrived. docs/schema/target.schema.json describes its members.
type Summary struct {
	URL            string    `json:"url"`
	Began          time.Time `json:"began"`          // when the server began to listen
	First          time.Time `json:"first,omitzero"` // the first arrival; zero = none
	Last           time.Time `json:"last,omitzero"`  // the last one
	Total          int64     `json:"total"`
	Connections    int64     `json:"connections"`
	MeanRate       float64   `json:"mean_rate"`  // per second, see Tally.MeanRate
	PerSecond      []Second  `json:"per_second"` // from the first arrival on, the last KeptSeconds
	Windows        []Window  `json:"windows"`
	ErrorsAnswered int64     `json:"errors_answered"`
}

// A Second is the number of requests that arrived in the second that begins at At.
type Second struct {
	At       time.Time `json:"at"`
	Requests int64     `json:"requests"`
}

// summary returns what is known so far of a tally and of the server of its arrivals.
func (s *Server) summary(tally *Tally) *Summary {
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
	return sum
}

// WriteText writes the summary for people, without the seconds, which were printed as they passed.
func (s *Summary) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "total\t%d requests\n", s.Total)
	fmt.Fprintf(t, "seconds\t%.3f, from the first to the last arrival\n", s.Last.Sub(s.First).Seconds())
	fmt.Fprintf(t, "mean rate\t%s per second\n", thousandths(s.MeanRate))
	fmt.Fprintf(t, "connections\t%d\n", s.Connections)
	if s.ErrorsAnswered > 0 {
		fmt.Fprintf(t, "errors\t%d answered\n", s.ErrorsAnswered)
	}
	fmt.Fprintln(t, "\nWINDOW\tMOST ARRIVALS IN ANY")
	for _, window := range s.Windows {
		fmt.Fprintf(t, "%v\t%d\n", window.Length, window.Most)
	}
	return t.Flush()
}

// thousandths formats a rate to a thousandth, without trailing zeros.
func thousandths(rate float64) string {
	return strconv.FormatFloat(math.Round(rate*1000)/1000, 'f', -1, 64)
}
