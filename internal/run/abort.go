package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/outage"
	"github.com/loadctl/loadctl/report"
)

// How a run is judged while it goes on. A second is judged when the snapshots of all workers that run are in, or after judgeLatest, which is more where
// they publish less often. The lock outlives two looks, however long they take, so that one member goes on judging; when it dies another one takes over.
const (
	judgeLatest = 3 // seconds
	judgeAgain  = 5 // seconds that whoever takes over looks back
	judgeLock   = 1500 * time.Millisecond
	judgeEvery  = time.Second
	judgeLimit  = 2500 * time.Millisecond // for all calls of one look: seven, one after the other, of up to 300 ms
)

// AbortIfFailing stops the run when a threshold says so. Every worker of the run calls it; it returns when ctx ends, or the run is over. One of
// them judges at a time, but nothing is wrong if two do: a run is stopped once. Whoever judges reads what all workers have published, over the
// connection that aside opens.
func (r *Run) AbortIfFailing(ctx context.Context, me string, aside func(context.Context) (*Run, error), log *slog.Logger) {
	all, err := r.Spec.thresholds()
	all = slices.DeleteFunc(all, func(t report.Threshold) bool { return t.Abort == 0 })
	if err != nil || len(all) == 0 {
		return
	}
	j := judge{own: r, aside: aside, me: me, thresholds: all, log: log}
	for ctx.Err() == nil {
		began := time.Now()
		limit, cancel := context.WithTimeout(ctx, judgeLimit)
		over, next, err := j.look(limit)
		cancel()
		j.took = time.Since(began)
		if over || errors.Is(err, ErrOver) || ctx.Err() != nil { // a run that Redis has lost may come back
			return
		}
		j.trouble(err)
		if err != nil {
			next = judgeEvery // the next look sees all that this one did not
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
		}
	}
}

// trouble reports the first failure of a series, each of another kind, and its end.
func (j *judge) trouble(err error) {
	switch {
	case err == nil && j.failures.Over():
		j.log.Info("judging the run again")
	case err != nil && j.failures.Failed(err):
		j.log.Warn("the run cannot be judged: abort after has no effect until it can", "err", err)
	}
}

// A judge looks at what the fleet has published.
type judge struct {
	own        *Run                                // over the connection that all workers have
	aside      func(context.Context) (*Run, error) // opens another one
	run        *Run                                // over that one
	me         string
	thresholds []report.Threshold
	log        *slog.Logger
	failures   outage.Series
	took       time.Duration // of the last look

	judged int64            // seconds of the run
	width  int64            // of the points when a look begins
	told   map[string]int64 // up to when each worker has published, µs of Redis' clock
	limits int64            // up to when the generator of a worker was a limit, µs of Redis' clock
	heard  string           // the last entry of the stream that told and limits know
	known  read             // points that do not change any more
}

// look judges the seconds that can be. next is when to look again.
func (j *judge) look(ctx context.Context) (over bool, next time.Duration, err error) {
	mine, err := j.locked(ctx)
	if err != nil || !mine {
		j.judged, j.told, j.limits, j.heard, j.known = 0, nil, 0, "", read{}
		return false, judgeEvery, err
	}
	if j.run, err = j.aside(ctx); err != nil {
		return false, 0, err
	}
	s, err := j.run.State(ctx)
	switch {
	case err != nil:
		return false, 0, err
	case !s.EndedAt.IsZero():
		return true, 0, nil
	case s.StartedAt.IsZero():
		return false, judgeEvery, nil
	}
	since := s.now.Sub(s.StartedAt)
	next = judgeEvery - ((since-s.snapshotsIn())%judgeEvery+judgeEvery)%judgeEvery
	end, missing, err := j.judgeable(ctx, s, int64(since/time.Second))
	if err != nil {
		return false, 0, err
	}
	for second := max(j.judged+1, end-judgeAgain); second <= end; second++ {
		t, err := j.failing(ctx, s, second, len(missing) > 0)
		if err != nil {
			return false, 0, err
		}
		if t != nil {
			return false, judgeEvery, j.abort(ctx, *t, second, missing) // the next look sees that it is over, or stops it again after a failover
		}
		j.judged = second
	}
	return false, next, nil
}

// locked takes the lock, or holds it.
func (j *judge) locked(ctx context.Context) (bool, error) {
	c, key := j.own.client, j.own.keys.Judge
	taken, err := c.SetNX(ctx, key, j.me, judgeLock+j.took).Result()
	if err != nil || taken {
		return taken, err
	}
	holder, err := c.Get(ctx, key).Result()
	if err != nil || holder != j.me {
		return false, ignoreNil(err)
	}
	return c.SetXX(ctx, key, j.me, judgeLock+j.took).Result()
}

func ignoreNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// judgeable is the last second that can be judged, and who has not told of it though it runs.
func (j *judge) judgeable(ctx context.Context, s *State, now int64) (end int64, missing []string, err error) {
	if err := j.hear(ctx, s); err != nil {
		return 0, nil, err
	}
	silent := func(second int64) (all []string) {
		until, late := s.StartedAt.UnixMicro()+second*1_000_000, time.Duration(s.judgeLatest())*time.Second
		for _, w := range s.Workers {
			if j.told[w.key()] < min(until, w.tells(s.now, late)) {
				all = append(all, w.ID)
			}
		}
		return all
	}
	for end = now; end > now-s.judgeLatest(); end-- {
		if len(silent(end)) == 0 {
			return end, nil, nil
		}
	}
	return end, silent(end), nil
}

// judgeLatest is after how many seconds one is judged though snapshots are missing.
func (s *State) judgeLatest() int64 {
	return judgeLatest + int64((report.SnapshotPeriod(s.Members)-1)/time.Second)
}

// tells is up to when a worker has to publish before what it did is known, µs. Who has left brings its last snapshot at about that time,
// by late. Who is lost brings none.
func (w Worker) tells(now time.Time, late time.Duration) int64 {
	switch {
	case w.State == "active" || w.State == "silent":
		return math.MaxInt64
	case (w.State == "left" || w.State == "stopped") && now.Sub(w.LastSeen) < late:
		return w.LastSeen.Add(-500 * time.Millisecond).UnixMicro()
	default:
		return 0
	}
}

// lostSince tells whether a worker went without its last word after an instant.
func (s *State) lostSince(t time.Time) bool {
	return slices.ContainsFunc(s.Workers, func(w Worker) bool {
		return (w.State == "lost" || w.State == "removed" || w.State == "replaced") && w.LastSeen.After(t)
	})
}

// hear finds out up to when each worker has published, and was limited by itself, as far as a look needs it. It reads what is new since the last look.
func (j *judge) hear(ctx context.Context, s *State) error {
	if j.told == nil {
		back := (s.judgeLatest() + judgeAgain + j.span(report.WidthAt(int64(s.elapsed()/time.Second)))) * int64(time.Second)
		j.told, j.heard = map[string]int64{}, strconv.FormatInt(max(0, s.now.Add(-time.Duration(back)).UnixMilli()), 10)
	}
	return j.run.snapshots(ctx, j.heard, func(id, who string, snapshot *report.Snapshot) {
		j.heard = id
		if snapshot != nil {
			if !snapshot.Behind {
				j.told[who] = max(j.told[who], snapshot.End)
			}
			if snapshot.GeneratorLimited(j.run.Spec.Max) {
				j.limits = max(j.limits, snapshot.End)
			}
		}
	})
}

// failing is a threshold for which the run is to be stopped at the end of a second; nil = none. In the seconds in which workers join their
// points into wider ones nothing is judged.
func (j *judge) failing(ctx context.Context, s *State, second int64, missing bool) (*report.Threshold, error) {
	width := report.WidthAt(second)
	if report.WidthAt(max(0, second-2*judgeAgain)) != report.WidthAt(second+2*judgeAgain) {
		return nil, nil
	}
	if width != j.width {
		j.width, j.known = width, read{}
	}
	warmup := int64(j.run.Spec.Warmup / time.Second)
	stretch := report.Stretch{Begin: (warmup + width - 1) / width * width, End: second / width * width, Width: width, Asked: s.askedBy, Paused: s.Phase == "paused"}
	if j.limits > 0 {
		stretch.Limited = (j.limits-s.StartedAt.UnixMicro())/1_000_000 + 1
	}
	var err error
	from := max(stretch.Begin, stretch.End-j.span(width))
	if stretch.Points, err = j.points(ctx, s, from/width*width, stretch.End); err != nil {
		return nil, err
	}
	stretch.Missing = missing || s.lostSince(s.StartedAt.Add(time.Duration(from-s.judgeLatest())*time.Second))
	for _, t := range j.thresholds {
		if t.Aborts(stretch) {
			return &t, nil
		}
	}
	return nil, nil
}

// span is how much of the run has to be looked at, in seconds.
func (j *judge) span(width int64) (longest int64) {
	for _, t := range j.thresholds {
		longest = max(longest, t.Span(width))
	}
	return longest
}

// read is what a judge knows of the series: which does not change any more as long as the workers' places in it only grow.
type read struct {
	places map[string]int64 // up to which second the merged points have those of a worker
	upto   int64            // the first of these
	points []report.Point   // the merged ones before it, and not too old
}

// points reads the points of all workers in the seconds [from, to), which begins and ends with a point of the run's present width: all that was not
// whole at the last look, at one instant. Where Redis has forgotten some, or a worker is new, all is read again.
func (j *judge) points(ctx context.Context, s *State, from, to int64) ([]report.Point, error) {
	since := max(from, j.known.upto)
	columns, open, places, err := j.read(ctx, s, since, to)
	if err == nil && since > from && !j.known.before(places) {
		j.known = read{}
		columns, open, places, err = j.read(ctx, s, from, to)
	}
	if err != nil {
		return nil, fmt.Errorf("read series of run %s: %w", j.run.Name, err)
	}
	all := append(slices.Clone(j.known.points), columns...)
	j.known = read{places: places, upto: math.MaxInt64}
	for _, second := range places {
		j.known.upto = min(j.known.upto, second/j.width*j.width)
	}
	j.known.upto = min(j.known.upto, to)
	for _, p := range all {
		if p.Start() >= from && p.Start()+p.Width <= j.known.upto {
			j.known.points = append(j.known.points, p)
		}
	}
	wide := report.Point{Index: from / j.width, Width: j.width} // all are brought to its width
	all = slices.DeleteFunc(append(all, open...), func(p report.Point) bool { return p.Start() < from || p.Start() >= to || p.Width > j.width })
	return report.MergeSeries(all, []report.Point{wide}), nil
}

// before tells whether the places of all workers have only grown.
func (r read) before(places map[string]int64) bool {
	for worker, second := range places {
		if then, known := r.places[worker]; !known || second < then {
			return false
		}
	}
	return len(places) >= len(r.places)
}

// read reads the merged points in the seconds [from, to), those that are not among them yet, and the workers' places.
func (j *judge) read(ctx context.Context, s *State, from, to int64) (merged, open []report.Point, places map[string]int64, err error) {
	latency := slices.ContainsFunc(j.thresholds, func(t report.Threshold) bool { return t.Metric == "latency" })
	fields := report.Pages(from, to, j.width, latency)
	pages := len(fields)
	for _, w := range s.Workers {
		fields = append(fields, w.key())
	}
	values, err := j.run.client.HMGet(ctx, j.run.keys.Series, fields...).Result()
	if err != nil {
		return nil, nil, nil, err
	}
	var columns report.Columns
	places = map[string]int64{}
	for i, v := range values {
		text, there := v.(string)
		switch {
		case !there:
		case i < pages:
			err = columns.Read(fields[i], []byte(text))
		default:
			var points []report.Point
			places[fields[i]], points, err = parseRecord(text)
			open = append(open, points...)
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	return columns.Points(), open, places, nil
}

// abort stops the run. Who is asked twice does nothing the second time.
func (j *judge) abort(ctx context.Context, t report.Threshold, second int64, missing []string) error {
	why := t.Stops(second)
	if len(missing) > 0 {
		why += ", judged without " + strings.Join(missing[:min(len(missing), 5)], ", ")
		if more := len(missing) - 5; more > 0 {
			why += fmt.Sprintf(" and %d more", more)
		}
	}
	if _, err := j.run.send(ctx, NewID(), "stop", why, "", 0); err != nil {
		return err
	}
	j.log.Warn("stopped the run", "why", why)
	return nil
}
