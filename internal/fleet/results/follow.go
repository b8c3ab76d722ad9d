package results

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/engine/publishing"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/record"
)

// Progress is the state of a run, with what its workers have published so far.
type Progress struct {
	*run.State
	At       time.Time          // up to when the counts go; zero = nothing is published yet
	AskedAt  int64              // requests asked for up to At; of a run that is over, all
	Counts   record.Counts      // of all workers, since the start
	Latency  *record.Histogram  // done − due of requests that ended since the last Progress
	InFlight int64              // sent and not ended, by present workers
	Beats    []*record.Snapshot // the intervals published since the last Progress, of each worker in order
	// The run is over, and the last snapshots of its workers are in Counts: a report will say the same.
	Settled bool
	Next    time.Duration // when to look again, with the next second's snapshots
}

// Left returns how long the run will be active. It is 0 for a run without a planned end, and while a pause delays the
// end.
func (p Progress) Left() time.Duration {
	if p.EndsAt.IsZero() || !p.EndedAt.IsZero() || p.Phase == "paused" {
		return 0
	}
	return max(0, p.EndsAt.Sub(p.Now()))
}

// Follower reads what workers publish, as it comes: an entry of the stream for each worker and second. It reads the
// total counts of each worker at the beginning and at the end, and if the stream was trimmed before it was read. So
// the counts may lack what was trimmed, but only until the worker publishes again. It is not safe for concurrent use.
type Follower struct {
	run    *run.Run
	last   string             // the newest entry of the stream that was read
	known  map[string]tally   // by worker/incarnation
	until  int64              // the newest end of an interval, µs
	beats  []*record.Snapshot // not in a Progress yet
	absent bool               // nobody was present at the last look
}

// tally is what one incarnation of a worker has published.
type tally struct {
	seq    uint64 // of the newest snapshot in counts
	counts record.Counts
	behind bool // counts lack an interval
}

// Follow begins with what the workers have published so far.
func Follow(ctx context.Context, r *run.Run) (*Follower, error) {
	f := &Follower{run: r, last: "0", known: map[string]tally{}}
	// The stream's position first: what comes between the two reads is in both, and its number shows that.
	newest, err := r.Client.XRevRangeN(ctx, r.Keys.Snapshots, "+", "-", 1).Result()
	if err != nil {
		return nil, run.Explain("follow run", r.Name, err)
	}
	if len(newest) > 0 {
		f.last = newest[0].ID
	}
	s, err := r.Presence(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = f.recount(ctx, s, s.Workers); err != nil {
		return nil, err
	}
	return f, nil
}

// afterSecond is when the snapshots of a second of the run are in, plus the time over which a large fleet spreads
// them. settling is the time between two looks for the last snapshots.
const (
	afterSecond = 300 * time.Millisecond
	settling    = 100 * time.Millisecond
)

// snapshotsIn returns when the snapshots of a second are in. Those of more than 2,000 workers come all the time.
func snapshotsIn(s *run.State) time.Duration {
	return afterSecond + min(publishing.Spread(s.Members), time.Second)
}

// lawsAtOnce is how many laws may be read each second. A run with more, because its profile is long, is looked at
// less often. Reading them blocks Redis for about 1 ms per thousand, and watching must not make requests late.
const lawsAtOnce = 2000

// Progress reads what was published since the last call.
func (f *Follower) Progress(ctx context.Context) (Progress, error) {
	p := Progress{Latency: record.NewHistogram(), Next: time.Second}
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
	p.At = run.TimeOf(f.until)
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
	p.Next += time.Duration(p.LawCount/lawsAtOnce) * time.Second
	if !over && !p.StartedAt.IsZero() {
		since := p.Now().Sub(p.StartedAt) - snapshotsIn(p.State)
		p.Next -= (since%time.Second + time.Second) % time.Second
	}
	f.updateMembers(p.State)
	return p, nil
}

// updateMembers sets Members to the number of present workers. After an outage of Redis nobody has called for a
// while. So only after two looks nobody counts as present.
func (f *Follower) updateMembers(s *run.State) {
	n := s.Present()
	if n > 0 || f.absent {
		s.Members = n
	}
	f.absent = n == 0
}

// stream reads the new entries.
func (f *Follower) stream(ctx context.Context, latency *record.Histogram) error {
	return snapshots(ctx, f.run, f.last, func(id, who string, s *record.Snapshot) {
		f.read(who, s, latency)
		f.last = id
	})
}

// read adds one entry of the stream, unless it is counted already. An entry that cannot be read, nil, counts as
// missing.
func (f *Follower) read(who string, s *record.Snapshot, latency *record.Histogram) {
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

// inFlight returns how many requests of these workers are sent and have not ended. Those of a dead worker will not
// end.
func (f *Follower) inFlight(workers []run.Worker) (n int64) {
	for _, w := range workers {
		if c := f.known[w.Process()].counts; w.State == "active" || w.State == "silent" {
			n += c.Requests() - c.Completed - c.Failed
		}
	}
	return n
}

// behind returns the workers of which an interval is missing.
func (f *Follower) behind(workers []run.Worker) []run.Worker {
	return slices.DeleteFunc(slices.Clone(workers), func(w run.Worker) bool { return !f.known[w.Process()].behind })
}

// recount sets the counts of these workers from their totals. settled: none of them will publish any more.
func (f *Follower) recount(ctx context.Context, s *run.State, workers []run.Worker) (settled bool, err error) {
	texts, err := lastCounts(ctx, f.run, workers)
	if err != nil {
		return false, run.Explain("follow run", f.run.Name, err)
	}
	settled = true
	for i, w := range workers {
		var t counted
		if texts[i] != "" {
			err := json.Unmarshal([]byte(texts[i]), &t)
			if err := cmp.Or(err, t.Counts.Check()); err != nil {
				return false, fmt.Errorf("follow %w", spec.Broken(f.run.Name, fmt.Sprintf("read snapshot of worker %s: %v", w.ID, err)))
			}
			f.known[w.Process()] = tally{seq: t.Seq, counts: t.Counts}
			f.until = max(f.until, t.End)
		}
		_, gone := standing(w, t.End, t.Final, s)
		settled = settled && gone
	}
	return settled, nil
}

// lastCounts reads the part of each worker's snapshot that watchers read, in the order of the workers; "" = it has
// published none.
func lastCounts(ctx context.Context, r *run.Run, workers []run.Worker) (all []string, err error) {
	for part := range slices.Chunk(workers, 1000) {
		fields := make([]string, len(part))
		for i, w := range part {
			fields[i] = w.Process() + ":counts"
		}
		texts, err := r.Client.HMGet(ctx, r.Keys.Totals, fields...).Result()
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			counts, _ := text.(string)
			all = append(all, counts)
		}
	}
	return all, nil
}
