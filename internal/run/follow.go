package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report"
)

// Progress is how a run stands, by what its workers have published up to now.
type Progress struct {
	*State
	At       time.Time          // up to when the counts go; zero = nothing was published yet
	AskedAt  int64              // requests asked for up to then; of a run that is over, all
	Counts   report.Counts      // of all workers, since the start
	Latency  *report.Histogram  // done − due of what has ended since the Progress before
	InFlight int64              // sent and not ended, by the workers that are there
	Beats    []*report.Snapshot // the intervals that workers have published since the Progress before, of each worker in order
	Settled  bool               // the run is over, and the last snapshots of its workers are in Counts: a report will say the same
	Next     time.Duration      // when to look again: the next second's snapshots will be there
}

// Elapsed and Left are how long the run has been going on and how long it will; Left is 0 for a run without a planned end, and while
// a pause puts the end off.
func (p Progress) Elapsed() time.Duration { return p.elapsed() }

// Left is described with Elapsed.
func (p Progress) Left() time.Duration {
	if p.EndsAt.IsZero() || !p.EndedAt.IsZero() || p.Phase == "paused" {
		return 0
	}
	return max(0, p.EndsAt.Sub(p.now))
}

// Present is how many workers were heard of lately. Members counts one that died until another notices, and the last one for ever.
func (s *State) Present() int64 {
	var n int64
	for _, w := range s.Workers {
		if w.State == "active" && (s.EndedAt.IsZero() || s.now.Sub(w.LastSeen) <= s.silence()) {
			n++
		}
	}
	return min(n, s.Members)
}

// Follower reads what workers publish, as it comes: an entry of the stream for each worker and second. The counts of all that each did
// are read at the beginning and at the end, and where an entry is missing because the stream was trimmed. So the counts are at most what was trimmed behind, and that only until the worker publishes again. Not safe for
// concurrent use.
type Follower struct {
	run    *Run
	last   string             // the newest entry of the stream that was read
	known  map[string]tally   // worker/incarnation -> what is known of it
	until  int64              // µs: the newest end of an interval
	beats  []*report.Snapshot // not yet in a Progress
	absent bool               // nobody was heard of when last looked
}

// tally is what one incarnation of a worker has published.
type tally struct {
	seq    uint64 // of the newest snapshot that is in counts
	counts report.Counts
	behind bool // an interval is missing in counts
}

// Follow begins with what the workers have published so far.
func (r *Run) Follow(ctx context.Context) (*Follower, error) {
	f := &Follower{run: r, last: "0", known: map[string]tally{}}
	// The stream's position first: what comes between the two reads is in both, and is told apart by its number.
	newest, err := r.client.XRevRangeN(ctx, r.keys.Snapshots, "+", "-", 1).Result()
	if err != nil {
		return nil, explain("follow run", r.Name, err)
	}
	if len(newest) > 0 {
		f.last = newest[0].ID
	}
	s, err := r.presence(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = f.recount(ctx, s, s.Workers); err != nil {
		return nil, err
	}
	return f, nil
}

// afterSecond is when the snapshots of a second of the run are there, but for the time over which a large fleet spreads them, and settling how
// often to look for the last ones.
const (
	afterSecond = 300 * time.Millisecond
	settling    = 100 * time.Millisecond
)

// snapshotsIn is when the snapshots of a second are there. Those of more than 2,000 workers come all the time.
func (s *State) snapshotsIn() time.Duration {
	return afterSecond + min(report.SnapshotSpread(s.Members), time.Second)
}

// lawsAtOnce is how many laws may be read each second. A run that has more, because its profile goes on and on, is looked at less
// often: reading them holds Redis up, some 1 ms for each thousand, and nobody may be late because somebody looks on.
const lawsAtOnce = 2000

// Progress reads what has been published since the last call.
func (f *Follower) Progress(ctx context.Context) (Progress, error) {
	p := Progress{Latency: report.NewHistogram(), Next: time.Second}
	if err := f.stream(ctx, p.Latency); err != nil {
		return p, err
	}
	var err error
	if p.State, err = f.run.State(ctx); err != nil {
		return p, err
	}
	over := !p.EndedAt.IsZero()
	if over {
		p.Settled, err = f.recount(ctx, p.State, p.Workers)
	} else {
		_, err = f.recount(ctx, p.State, f.behind(p.Workers))
	}
	if err != nil {
		return p, err
	}
	p.At = instant(f.until)
	p.Beats, f.beats = f.beats, nil
	p.InFlight = f.inFlight(p.Workers)
	for _, t := range f.known {
		p.Counts = p.Counts.Plus(t.counts)
	}
	switch {
	case over:
		p.AskedAt, p.Next = p.Asked, settling
	case f.until > 0:
		p.AskedAt = p.State.AskedAt(p.At)
	}
	p.Next += time.Duration(len(p.laws)/lawsAtOnce) * time.Second
	if !over && !p.StartedAt.IsZero() {
		since := p.now.Sub(p.StartedAt) - p.snapshotsIn()
		p.Next -= (since%time.Second + time.Second) % time.Second
	}
	f.meet(p.State)
	return p, nil
}

// meet makes Members those who are there. After an outage of Redis nobody has been heard of for a while: it takes two looks to
// believe that nobody is there.
func (f *Follower) meet(s *State) {
	n := s.Present()
	if n > 0 || f.absent {
		s.Members = n
	}
	f.absent = n == 0
}

// stream reads the new entries.
func (f *Follower) stream(ctx context.Context, latency *report.Histogram) error {
	return f.run.snapshots(ctx, f.last, func(id, who string, s *report.Snapshot) {
		f.read(who, s, latency)
		f.last = id
	})
}

// read adds one entry of the stream, unless it is counted already. One that cannot be read, nil, is like one that is missing.
func (f *Follower) read(who string, s *report.Snapshot, latency *report.Histogram) {
	t := f.known[who]
	if s == nil {
		t.behind = true
		f.known[who] = t
		return
	}
	latency.Merge(s.Latency)
	if s.Seq > t.seq {
		f.known[who] = tally{seq: s.Seq, counts: t.counts.Plus(s.Counts), behind: t.behind || s.Seq > t.seq+1}
		f.until = max(f.until, s.End)
		f.beats = append(f.beats, s)
	}
}

// inFlight is how many requests those workers have sent that have not ended. What a dead one had sent will not end.
func (f *Follower) inFlight(workers []Worker) (n int64) {
	for _, w := range workers {
		if c := f.known[w.key()].counts; w.State == "active" || w.State == "silent" {
			n += c.Sent - c.Completed - c.Failed
		}
	}
	return n
}

// behind is those of whom an interval is missing.
func (f *Follower) behind(workers []Worker) []Worker {
	return slices.DeleteFunc(slices.Clone(workers), func(w Worker) bool { return !f.known[w.key()].behind })
}

// recount takes the counts of these workers from what they say that they did in all. settled: none of them will publish any more.
func (f *Follower) recount(ctx context.Context, s *State, workers []Worker) (settled bool, err error) {
	settled = true
	for part := range slices.Chunk(workers, 1000) {
		fields := make([]string, len(part))
		for i, w := range part {
			fields[i] = w.key() + ":counts"
		}
		texts, err := f.run.client.HMGet(ctx, f.run.keys.Totals, fields...).Result()
		if err != nil {
			return false, explain("follow run", f.run.Name, err)
		}
		for i, w := range part {
			var t counted
			text, published := texts[i].(string)
			if published {
				err := json.Unmarshal([]byte(text), &t)
				if err := cmp.Or(err, t.Counts.Check()); err != nil {
					return false, fmt.Errorf("follow %w", broken(f.run.Name, fmt.Sprintf("read snapshot of worker %s: %v", w.ID, err)))
				}
				f.known[w.key()] = tally{seq: t.Seq, counts: t.Counts}
				f.until = max(f.until, t.End)
			}
			_, gone := w.standing(t.End, t.Final, s)
			settled = settled && gone
		}
	}
	return settled, nil
}
