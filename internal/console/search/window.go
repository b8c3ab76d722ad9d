package search

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// Shares of what was due above which a probe does not measure what it should.
const (
	mostSkipped = 0.02 // no worker owned it
	mostUnsent  = 0.02 // not sent for lack of a connection; the edges of intervals are not exact
	mostDropped = 0.01 // of that, dropped as too late
)

// Requests pile up if each of the last seconds adds this many, as a share of those due, and as a number.
const (
	pilesShare   = 0.02
	pilesLeast   = 3
	pilesSeconds = 2
)

// A window is the part of the run that a probe judges: whole seconds at one rate.
type window struct {
	rate       float64   // requests per second
	slots      float64   // the same in slots: each starts a flow
	started    time.Time // of the run
	begin, end time.Time
	needed     map[string]bool             // processes whose snapshots are needed
	whole      map[string]bool             // of these, the ones present when the window began
	progress   map[string]*progress        // by process
	seconds    map[int64]*piled            // by second of the run, of all processes
	workers    map[string]*record.Snapshot // of each process, the intervals in the window
	gap        string                      // what is missing, in words
	skipped    [2]int64                    // of the run, at the start of the window, and now
}

// progress is how far one process has reported.
type progress struct {
	until time.Time // the end of its last interval
	seq   uint64    // its number
	final bool      // it was the final one
}

// piled is what one second added to the requests in flight.
type piled struct {
	growth  float64 // requests that were sent and did not end
	waiting float64 // requests that were due and not yet sent, on average: the sum of their waits
}

// newWindow returns the window of a probe: it begins with the first whole second at or after from. A slot has so many
// requests on average.
func newWindow(s Sight, from time.Time, length time.Duration, rate, requests float64) *window {
	begin := s.Started.Add(max(0, (from.Sub(s.Started) + time.Second - 1).Truncate(time.Second)))
	return &window{rate: rate, slots: rate / requests, started: s.Started, begin: begin, end: begin.Add(length),
		needed: map[string]bool{}, whole: map[string]bool{}, progress: map[string]*progress{}, seconds: map[int64]*piled{}, workers: map[string]*record.Snapshot{}}
}

// process names the process of a snapshot.
func process(b *record.Snapshot) string { return b.Worker + "/" + b.Incarnation }

// add adds the result of a look.
func (w *window) add(s Sight) {
	early := s.Now.Before(w.begin) || len(w.needed) == 0
	if w.skipped[1] = s.Skipped; early {
		w.skipped[0] = s.Skipped
	}
	for _, who := range s.Workers {
		w.needed[who] = true
		w.whole[who] = w.whole[who] || early
	}
	for _, b := range s.Beats {
		who := process(b)
		t := w.progress[who]
		if t == nil {
			t = &progress{seq: b.Seq - 1}
			w.progress[who] = t
			if w.whole[who] && time.UnixMicro(b.Start).After(w.begin.Add(edge)) {
				t.seq-- // the one before it is missing
			}
		}
		if b.Seq != t.seq+1 {
			w.gap = fmt.Sprintf("a snapshot of worker %s is missing", b.Worker)
		}
		if crosses(b, w.begin) || crosses(b, w.end) {
			w.gap = fmt.Sprintf("worker %s did not publish each second", b.Worker)
		}
		t.seq, t.until, t.final = b.Seq, time.UnixMicro(b.End), b.Final
		middle := time.UnixMicro((b.Start + b.End) / 2)
		second := int64(middle.Sub(w.started) / time.Second)
		if w.seconds[second] == nil {
			w.seconds[second] = &piled{}
		}
		c := b.Counts
		w.seconds[second].growth += float64(c.Requests() - c.Completed - c.Failed)
		w.seconds[second].waiting += b.Lag.Mean() / 1e9 * float64(c.Sent)
		if !middle.Before(w.begin) && middle.Before(w.end) {
			if w.workers[who] == nil {
				w.workers[who] = record.NewSnapshot(b.Worker, b.Incarnation)
			}
			w.workers[who].Merge(b)
		}
	}
}

// crosses reports whether an interval lies on both sides of a time, by more than edge: its counts belong to neither
// side.
func crosses(b *record.Snapshot, t time.Time) bool {
	return time.UnixMicro(b.Start).Before(t.Add(-edge)) && time.UnixMicro(b.End).After(t.Add(edge))
}

// known returns up to when all processes have reported. missing names those that have not.
func (w *window) known() (until time.Time, missing []string) {
	until = w.end
	for who := range w.needed {
		t := w.progress[who]
		switch {
		case t == nil:
			until, missing = w.begin, append(missing, who)
		case !t.final && t.until.Before(w.end.Add(-edge)):
			missing = append(missing, who)
			if t.until.Before(until) {
				until = t.until
			}
		}
	}
	slices.Sort(missing)
	return until, missing
}

// section returns what was measured up to a time.
func (w *window) section(until time.Time) report.Section {
	s := report.Section{Length: max(0, until.Sub(w.begin)).Round(time.Second)}
	s.Asked = int64(math.Round(w.slots * w.covered()))
	for _, who := range slices.Sorted(maps.Keys(w.workers)) {
		s.Workers = append(s.Workers, w.workers[who])
	}
	return s
}

// covered returns how many seconds the intervals cover, as a mean over the processes. Intervals begin and end a little
// beside the window.
func (w *window) covered() float64 {
	var sum, all float64
	for _, b := range w.workers {
		fired := float64(b.Counts.Sent + b.Counts.LateDropped)
		sum, all = sum+fired*float64(b.End-b.Start)/1e6, all+fired
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// piling returns how much the requests in flight have grown in each of the last seconds before a time: the smallest
// growth of these seconds. It is 0 if they did not grow, or the window has fewer seconds.
func (w *window) piling(until time.Time) float64 {
	last := int64((until.Sub(w.started)+edge)/time.Second) - 1
	first := int64(w.begin.Sub(w.started) / time.Second)
	if last-first+1 < pilesSeconds {
		return 0
	}
	least := math.Inf(1)
	for i := last; i > last-pilesSeconds; i-- {
		now, before := w.seconds[i], w.seconds[i-1]
		if now == nil || before == nil {
			return 0
		}
		least = min(least, now.growth+now.waiting-before.waiting)
	}
	if least < max(pilesLeast, pilesShare*w.rate) {
		return 0
	}
	return least
}
