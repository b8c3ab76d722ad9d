package arrivals

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	takeEvery = 100 * time.Millisecond // how often arrivals are taken
	settled   = 100 * time.Millisecond // the age of arrivals when they are taken: see Take
)

// Collect adds up the arrivals until ctx ends, then closes the server, adds the rest and returns the summary. For each
// second in which requests arrived it prints a line to progress when the second is over. It takes the arrivals, so
// nobody else may call Take.
func (s *Server) Collect(ctx context.Context, progress io.Writer) *Summary {
	tallies := s.newTallies()
	seconds := secondPrinter{w: progress, routes: tallies.during}
	tick := time.NewTicker(takeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			until := s.Now() - int64(settled)
			tallies.add(s.takeByRoute(until))
			seconds.print(tallies.all, until)
		case <-ctx.Done():
			_ = s.Close() // then all arrivals are final at once
			until := s.Now()
			tallies.add(s.takeByRoute(until))
			seconds.print(tallies.all, until+int64(time.Second)) // including the last, partial one
			return s.summary(tallies)
		}
	}
}

// A secondPrinter prints the seconds of a tally, each once.
type secondPrinter struct {
	w       io.Writer
	next    int64 // start of the first second not printed yet, in ns since 1970
	printed int64 // arrivals in the seconds printed so far
	// routes describes the routes in the second that begins at a time, in ns since 1970; nil says nothing.
	routes func(begins int64) string
}

// print prints the seconds with arrivals that are over at a time, in ns since 1970.
func (p *secondPrinter) print(tally *Tally, now int64) {
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
			at, routes := time.Unix(0, begins).UTC().Format("2006-01-02T15:04:05.000Z07:00"), ""
			if p.routes != nil {
				routes = p.routes(begins)
			}
			fmt.Fprintf(p.w, "%s  %d in this second, %d in all%s\n", at, n, p.printed, routes)
		}
	}
}
