package search

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report"
)

// When a probe does not measure what it was meant to, as shares of what was due.
const (
	mostSkipped = 0.02 // no worker came to send it
	mostUnsent  = 0.02 // it was not sent, for want of a connection: the edges of intervals are not exact
	mostDropped = 0.01 // of that, dropped because it was too late
)

// When requests pile up: in each of the last seconds so many more, as a share of those that were due, and as a number.
const (
	pilesShare   = 0.02
	pilesLeast   = 3
	pilesSeconds = 2
)

// A window is the part of the run that a probe judges: whole seconds at one rate.
type window struct {
	rate       float64
	started    time.Time // of the run
	begin, end time.Time
	needed     map[string]bool             // the processes that have to tell of it
	whole      map[string]bool             // of these, which were there when it began
	progress   map[string]*progress        // by process
	seconds    map[int64]*piled            // by second of the run, of all processes
	workers    map[string]*report.Snapshot // of each process, the intervals in the window
	gap        string                      // what is missing, in words
	skipped    [2]int64                    // of the run, when the window began, and now
}

// progress is how far one process has told what it did.
type progress struct {
	until time.Time // the end of its last interval
	seq   uint64    // number of that
	final bool      // it was the last
}

// piled is what one second has added to what is under way.
type piled struct {
	growth  float64 // requests that were sent and did not end
	waiting float64 // those that were due and not sent yet, on average: the sum of what each waited
}

// newWindow is the window of a probe whose rate is in force from at on: from the first whole second that is not before from.
func newWindow(s Sight, at, from time.Time, length time.Duration, rate float64) *window {
	begin := s.Started.Add(max(0, (from.Sub(s.Started) + time.Second - 1).Truncate(time.Second)))
	return &window{rate: rate, started: s.Started, begin: begin, end: begin.Add(length),
		needed: map[string]bool{}, whole: map[string]bool{}, progress: map[string]*progress{}, seconds: map[int64]*piled{}, workers: map[string]*report.Snapshot{}}
}

// process names the process that a snapshot is of.
func process(b *report.Snapshot) string { return b.Worker + "/" + b.Incarnation }

// add takes what a look shows.
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
		w.seconds[second].growth += float64(c.Sent - c.Completed - c.Failed)
		w.seconds[second].waiting += b.Lag.Mean() / 1e9 * float64(c.Sent)
		if !middle.Before(w.begin) && middle.Before(w.end) {
			if w.workers[who] == nil {
				w.workers[who] = report.NewSnapshot(b.Worker, b.Incarnation)
			}
			w.workers[who].Merge(b)
		}
	}
}

// crosses tells whether an interval is on both sides of a time, and not just by a little: what is in it belongs to neither.
func crosses(b *report.Snapshot, t time.Time) bool {
	return time.UnixMicro(b.Start).Before(t.Add(-edge)) && time.UnixMicro(b.End).After(t.Add(edge))
}

// known is up to when all processes have told what they did. Who is missing did not.
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

// section is what was measured so far, up to a time.
func (w *window) section(until time.Time) report.Section {
	s := report.Section{Length: max(0, until.Sub(w.begin)).Round(time.Second)}
	s.Asked = int64(math.Round(w.rate * w.covered()))
	for _, who := range slices.Sorted(maps.Keys(w.workers)) {
		s.Workers = append(s.Workers, w.workers[who])
	}
	return s
}

// covered is how many seconds the intervals cover, which begin and end a little beside the window: on average, by how much each process did.
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

// piling is by how much what is under way has grown in each of the last seconds before a time, the least of them; 0 = it has not, or the
// window has fewer seconds.
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
