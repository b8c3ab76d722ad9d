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
	tally := NewTally(time.Millisecond, 10*time.Millisecond, 100*time.Millisecond, time.Second, 10*time.Second)
	seconds := secondPrinter{w: progress}
	tick := time.NewTicker(takeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			until := s.Now() - int64(settled)
			tally.Add(s.Take(until))
			seconds.print(tally, until)
		case <-ctx.Done():
			_ = s.Close() // then all arrivals are final at once
			until := s.Now()
			tally.Add(s.Take(until))
			seconds.print(tally, until+int64(time.Second)) // including the last, partial one
			return s.summary(tally)
		}
	}
}

// A secondPrinter prints the seconds of a tally, each once.
type secondPrinter struct {
	w       io.Writer
	next    int64 // start of the first second not printed yet, in ns since 1970
	printed int64 // arrivals in the seconds printed so far
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
			fmt.Fprintf(p.w, "%s  %d in this second, %d in all\n", time.Unix(0, begins).UTC().Format("2006-01-02T15:04:05.000Z07:00"), n, p.printed)
		}
	}
}
