package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/cli"
)

const (
	takeEvery = 100 * time.Millisecond // how often arrivals are taken
	settled   = 100 * time.Millisecond // how old they are by then: see arrivals.Server.Take
)

// count adds up the arrivals until ctx ends, then closes the server and adds the rest. Meanwhile it prints the seconds.
func count(ctx context.Context, server *arrivals.Server, progress io.Writer) *arrivals.Tally {
	tally := arrivals.NewTally(time.Millisecond, 10*time.Millisecond, 100*time.Millisecond, time.Second, 10*time.Second)
	seconds := secondPrinter{w: progress}
	tick := time.NewTicker(takeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			until := server.Now() - int64(settled)
			tally.Add(server.Take(until))
			seconds.print(tally, until)
		case <-ctx.Done():
			cli.Close(server) // so that the summary is of all there are, and has not to wait for the last to settle
			until := server.Now()
			tally.Add(server.Take(until))
			seconds.print(tally, until+int64(time.Second)) // the last one also, though it was cut short
			return tally
		}
	}
}

// A secondPrinter prints the seconds of a tally, each once.
type secondPrinter struct {
	w       io.Writer
	next    int64 // when the first second not printed yet begins, in ns since 1970
	printed int64 // arrivals in those printed
}

// print prints the seconds with arrivals that are over at a time, in ns since 1970.
func (p *secondPrinter) print(tally *arrivals.Tally, now int64) {
	from, counts := tally.PerSecond()
	skip := max(0, p.next-from) / int64(time.Second)
	for i := skip; i < int64(len(counts)); i++ {
		begins := from + i*int64(time.Second)
		if begins+int64(time.Second) > now {
			return
		}
		p.next = begins + int64(time.Second)
		if n := counts[i]; n > 0 {
			p.printed += n
			fmt.Fprintf(p.w, "%s  %d in this second, %d in all\n", time.Unix(0, begins).UTC().Format("2006-01-02T15:04:05.000Z07:00"), n, p.printed)
		}
	}
}

// targetSummary is what arrived, as docs/schema/target.schema.json describes it.
type targetSummary struct {
	URL            string         `json:"url"`
	Began          time.Time      `json:"began"`
	First          time.Time      `json:"first,omitzero"`
	Last           time.Time      `json:"last,omitzero"`
	Total          int64          `json:"total"`
	Connections    int64          `json:"connections"`
	MeanRate       float64        `json:"mean_rate"`
	PerSecond      []targetSecond `json:"per_second"`
	Windows        []targetWindow `json:"windows"`
	ErrorsAnswered int64          `json:"errors_answered"`
}

type targetSecond struct {
	At       time.Time `json:"at"`
	Requests int64     `json:"requests"`
}

type targetWindow struct {
	Length time.Duration `json:"window_ns"`
	Most   int           `json:"most"`
}

// fill takes the figures from what was counted.
func (s *targetSummary) fill(server *arrivals.Server, tally *arrivals.Tally) {
	s.Total, s.Connections, s.MeanRate, s.ErrorsAnswered = tally.Total(), server.Connections(), tally.MeanRate(), server.ErrorsAnswered()
	if s.Total > 0 {
		s.First, s.Last = time.Unix(0, tally.First()).UTC(), time.Unix(0, tally.Last()).UTC()
	}
	from, counts := tally.PerSecond()
	s.PerSecond = make([]targetSecond, len(counts))
	for i, n := range counts {
		s.PerSecond[i] = targetSecond{time.Unix(0, from+int64(i)*int64(time.Second)).UTC(), n}
	}
	for _, w := range tally.Windows() {
		s.Windows = append(s.Windows, targetWindow{w.Length, w.Most})
	}
}

func printTarget(w io.Writer, s *targetSummary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "total\t%d requests\n", s.Total)
	fmt.Fprintf(t, "seconds\t%.3f, from the first to the last arrival\n", s.Last.Sub(s.First).Seconds())
	fmt.Fprintf(t, "mean rate\t%s per second\n", formatRate(s.MeanRate))
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
