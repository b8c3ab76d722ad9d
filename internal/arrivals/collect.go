package arrivals

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	takeEvery = 100 * time.Millisecond // how often arrivals are taken
	settled   = 100 * time.Millisecond // how old they are by then: see Take
)

// Collect adds up the arrivals until ctx ends, then closes the server, adds
// the rest and returns the summary of all. Meanwhile it prints a line to
// progress for each second in which requests arrived, once it is over. It
// takes the arrivals, so nobody else may.
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
			_ = s.Close() // so that the summary is of all there are, and has not to wait for the last to settle
			until := s.Now()
			tally.Add(s.Take(until))
			seconds.print(tally, until+int64(time.Second)) // the last one also, though it was cut short
			return s.summary(tally)
		}
	}
}

// A secondPrinter prints the seconds of a tally, each once.
type secondPrinter struct {
	w       io.Writer
	next    int64 // when the first second not printed yet begins, in ns since 1970
	printed int64 // arrivals in those printed
}

// print prints the seconds with arrivals that are over at a time, in ns since
// 1970.
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
