package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/report"
)

// Progress is how a run stands, by what its workers have published up to now.
type Progress struct {
	*State
	At      time.Time         // up to when the counts go; zero = nothing was published yet
	AskedAt int64             // requests asked for up to then
	Counts  report.Counts     // of all workers, since the start
	Latency *report.Histogram // done − due of what has ended since the Progress before
	Next    time.Duration     // when to look again: the next second's snapshots will be there
}

// Elapsed and Left are how long the run has been going on and how long it will; Left is 0 for a run without a planned end.
func (p Progress) Elapsed() time.Duration { return p.elapsed() }

// Left is described with Elapsed.
func (p Progress) Left() time.Duration {
	if p.EndsAt.IsZero() || !p.EndedAt.IsZero() {
		return 0
	}
	return max(0, p.EndsAt.Sub(p.now))
}

// Follower reads what workers publish, as it comes. What is shown on the way is as exact as the stream is whole; a report does not
// depend on it. Not safe for concurrent use.
type Follower struct {
	run   *Run
	last  string            // the newest entry of the stream that was read
	known map[string]uint64 // worker/incarnation -> the newest snapshot that is in counts
	until int64             // µs: the newest end of an interval
	sum   report.Counts
}

// Follow begins with what the workers have published so far.
func (r *Run) Follow(ctx context.Context) (*Follower, error) {
	f := &Follower{run: r, last: "0", known: map[string]uint64{}}
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
	totals, err := r.client.HGetAll(ctx, r.keys.Totals).Result()
	if err != nil {
		return nil, explain("follow run", r.Name, err)
	}
	for _, w := range s.Workers {
		in, _, err := w.input(totals, s.now)
		if err != nil {
			return nil, fmt.Errorf("read snapshot of worker %s: %w", w.ID, err)
		}
		if in.Total != nil {
			f.add(w.key(), in.Total)
		}
	}
	return f, nil
}

// add counts a snapshot, once.
func (f *Follower) add(who string, s *report.Snapshot) (added bool) {
	if s.Seq <= f.known[who] {
		return false
	}
	f.known[who] = s.Seq
	f.until = max(f.until, s.End)
	f.sum = f.sum.Plus(s.Counts)
	return true
}

// afterSecond is when the snapshots of a second of the run are there.
const afterSecond = 300 * time.Millisecond

// Progress reads what has been published since the last call.
func (f *Follower) Progress(ctx context.Context) (Progress, error) {
	p := Progress{Latency: report.NewHistogram()}
	for more := true; more; {
		entries, err := f.run.client.XRangeN(ctx, f.run.keys.Snapshots, "("+f.last, "+", streamLength).Result()
		if err != nil {
			return p, explain("follow run", f.run.Name, err)
		}
		for _, e := range entries {
			if err := f.read(e, p.Latency); err != nil {
				return p, fmt.Errorf("follow run %s: %w", f.run.Name, err)
			}
			f.last = e.ID
		}
		more = len(entries) == streamLength
	}
	var err error
	if p.State, err = f.run.State(ctx); err != nil {
		return p, err
	}
	p.At, p.Counts, p.Next = instant(f.until), f.sum, time.Second
	if f.until > 0 {
		p.AskedAt = p.State.AskedAt(p.At)
	}
	if !p.StartedAt.IsZero() {
		since := p.now.Sub(p.StartedAt) - afterSecond
		p.Next -= (since%time.Second + time.Second) % time.Second
	}
	return p, nil
}

// read adds one entry of the stream.
func (f *Follower) read(e redis.XMessage, latency *report.Histogram) error {
	who, _ := e.Values["w"].(string)
	text, _ := e.Values["s"].(string)
	var s report.Snapshot
	if err := cmp.Or(s.UnmarshalBinary([]byte(text)), nameless(who)); err != nil {
		return fmt.Errorf("read snapshot %s: %w", e.ID, err)
	}
	if f.add(who, &s) {
		latency.Merge(s.Latency)
	}
	return nil
}

// nameless refuses a snapshot of nobody.
func nameless(who string) error {
	if who == "" {
		return errors.New("it names no worker")
	}
	return nil
}
