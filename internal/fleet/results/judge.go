package results

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

	"github.com/loadctl/loadctl/internal/engine/publishing"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/outage"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/threshold/guard"
)

// How a run is judged while it is active. A second is judged when the snapshots of all present workers are in, or
// after judgeLatest, which is longer if they publish less often. The lock outlives two looks, however long they take,
// so that one member goes on judging. If it dies, another one takes over.
const (
	judgeLatest = 3 // seconds
	judgeAgain  = 5 // seconds that a new judge looks back
	judgeLock   = 1500 * time.Millisecond
	judgeEvery  = time.Second
	judgeLimit  = 2500 * time.Millisecond // for all calls of one look: seven in a row of up to 300 ms each
)

// Judge stops the run when a threshold says so, lowers its rate or raises it again when its guards say so, and asks its
// queries. Every worker of the run calls it. It returns when ctx ends, or when the run is over. One worker judges at a time,
// but two do no harm: a run is stopped once, and a step of a guard is void if a command came in between. The judge reads
// what all workers have published, over the connection that aside opens.
func Judge(ctx context.Context, r *run.Run, me string, aside func(context.Context) (*run.Run, error), log *slog.Logger) {
	all, err := r.Spec.Conditions()
	all = slices.DeleteFunc(all, func(t threshold.Threshold) bool { return t.Abort == 0 && !t.Guards() })
	if err != nil || len(all) == 0 && len(r.Spec.Queries) == 0 {
		return
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	j := judge{own: r, aside: aside, me: me, thresholds: all, guards: guardsOf(r.Spec, all), log: log, asker: newAsker(asking, r.Spec, log)}
	for ctx.Err() == nil {
		began := time.Now()
		limit, cancel := context.WithTimeout(ctx, judgeLimit)
		over, next, err := j.look(limit)
		cancel()
		j.took = time.Since(began)
		if over || errors.Is(err, run.ErrOver) || ctx.Err() != nil { // a run that Redis has lost may come back
			return
		}
		j.trouble(err)
		if err != nil {
			next = judgeEvery // the next look sees what this one did not
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
		}
	}
}

// trouble logs the first failure of a series, each other kind of failure, and the end of the series.
func (j *judge) trouble(err error) {
	switch {
	case err == nil && j.failures.Over():
		j.log.Info("the run is judged again")
	case err != nil && j.failures.Failed(err):
		j.log.Warn("cannot judge the run; thresholds with `abort after` or `reduce` have no effect until this works", "err", err)
	}
}

// A judge looks at what the fleet has published.
type judge struct {
	own        *run.Run                                // over the connection of all workers
	aside      func(context.Context) (*run.Run, error) // opens another connection
	run        *run.Run                                // over that connection
	me         string
	thresholds []threshold.Threshold
	guards     *guard.Guards // those among them that lower the rate
	refused    bool          // their last step up found no room at the endpoint
	log        *slog.Logger
	asker      *asker // nil = the run has no queries
	failures   outage.Series
	took       time.Duration // of the last look

	judged    int64            // last judged second of the run
	width     int64            // of the points at the beginning of a look
	published map[string]int64 // up to when each worker has published, µs of the Redis clock
	limits    int64            // up to when the generator of a worker was a limit, µs of the Redis clock
	lastID    string           // the last entry of the stream that is in published and limits
	known     read             // points that do not change any more
}

// look judges the seconds that can be judged. next is when to look again.
func (j *judge) look(ctx context.Context) (over bool, next time.Duration, err error) {
	mine, err := j.locked(ctx)
	if err != nil || !mine {
		j.judged, j.published, j.limits, j.lastID, j.known = 0, nil, 0, "", read{}
		j.guards = guardsOf(j.own.Spec, j.thresholds)
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
	j.asker.turn(j.run, s)
	if len(j.thresholds) == 0 {
		return false, judgeEvery, nil
	}
	since := s.Now().Sub(s.StartedAt)
	next = judgeEvery - ((since-snapshotsIn(s))%judgeEvery+judgeEvery)%judgeEvery
	end, missing, err := j.judgeable(ctx, s, int64(since/time.Second))
	if err != nil {
		return false, 0, err
	}
	for second := max(j.judged+1, end-judgeAgain); second <= end; second++ {
		stretch, ok, err := j.stretch(ctx, s, second, len(missing) > 0)
		if err != nil {
			return false, 0, err
		}
		if t := j.failing(stretch); ok && t != nil {
			// The next look sees that the run is over, or stops it again after a failover.
			return false, judgeEvery, j.abort(ctx, *t, second, missing)
		}
		j.judged = second
		if !ok {
			continue
		}
		if ordered, err := j.guard(ctx, s, stretch); ordered || err != nil {
			return false, next, err // the state is old now
		}
	}
	return false, next, nil
}

// locked takes the lock, or holds it.
func (j *judge) locked(ctx context.Context) (bool, error) {
	c, key := j.own.Client, j.own.Keys.Judge
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

// judgeable returns the last second that can be judged, and the running workers whose snapshots are missing.
func (j *judge) judgeable(ctx context.Context, s *run.State, now int64) (end int64, missing []string, err error) {
	if err := j.readNew(ctx, s); err != nil {
		return 0, nil, err
	}
	silent := func(second int64) (all []string) {
		until, late := s.StartedAt.UnixMicro()+second*1_000_000, time.Duration(latest(s))*time.Second
		for _, w := range s.Workers {
			if j.published[w.Process()] < min(until, reportsUntil(w, s.Now(), late)) {
				all = append(all, w.ID)
			}
		}
		return all
	}
	for end = now; end > now-latest(s); end-- {
		if len(silent(end)) == 0 {
			return end, nil, nil
		}
	}
	return end, silent(end), nil
}

// latest returns after how many seconds a second is judged though snapshots are missing.
func latest(s *run.State) int64 {
	return judgeLatest + int64((publishing.Period(s.Members)-1)/time.Second)
}

// reportsUntil returns up to when a worker must publish before all that it did is known, µs. A worker that has left
// publishes its last snapshot at about that time, at most late. A lost one publishes none.
func reportsUntil(w run.Worker, now time.Time, late time.Duration) int64 {
	switch {
	case w.State == "active" || w.State == "silent":
		return math.MaxInt64
	case (w.State == "left" || w.State == "stopped") && now.Sub(w.LastSeen) < late:
		return w.LastSeen.Add(-500 * time.Millisecond).UnixMicro()
	default:
		return 0
	}
}

// lostSince reports whether a worker that was lost without its last snapshot may have sent after t: lasts is how long
// each of its calls let it send.
func lostSince(s *run.State, t time.Time, lasts time.Duration) bool {
	return slices.ContainsFunc(s.Workers, func(w run.Worker) bool {
		return (w.State == "lost" || w.State == "removed" || w.State == "replaced") && w.LastSeen.Add(lasts).After(t)
	})
}

// readNew finds out up to when each worker has published, and was limited by itself, as far as a look needs it. It
// reads what is new since the last look.
func (j *judge) readNew(ctx context.Context, s *run.State) error {
	if j.published == nil {
		back := (latest(s) + judgeAgain + j.span(record.WidthAt(int64(s.Elapsed()/time.Second)))) * int64(time.Second)
		j.published, j.lastID = map[string]int64{}, strconv.FormatInt(max(0, s.Now().Add(-time.Duration(back)).UnixMilli()), 10)
	}
	return snapshots(ctx, j.run, j.lastID, func(id, who string, snapshot *record.Snapshot) {
		j.lastID = id
		if snapshot != nil {
			if !snapshot.Behind {
				j.published[who] = max(j.published[who], snapshot.End)
			}
			if snapshot.GeneratorLimited(j.run.Spec.Max) {
				j.limits = max(j.limits, snapshot.End)
			}
		}
	})
}

// requestsAsked returns how many requests are asked for in a stretch of the run, if each slot has so many on average: the
// series counts requests.
func requestsAsked(s *run.State, steps float64) func(from, to int64) int64 {
	return func(from, to int64) int64 { return int64(math.Round(float64(s.AskedBy(from, to)) * steps)) }
}

// stretch returns what decides whether the run is stopped, or its rate changed, at the end of a second. Nothing is judged in
// the seconds in which workers join their points to wider ones: then ok is false.
func (j *judge) stretch(ctx context.Context, s *run.State, second int64, missing bool) (stretch threshold.Stretch, ok bool, err error) {
	width := record.WidthAt(second)
	if record.WidthAt(max(0, second-2*judgeAgain)) != record.WidthAt(second+2*judgeAgain) {
		return stretch, false, nil
	}
	if width != j.width {
		j.width, j.known = width, read{}
	}
	warmup := int64(j.run.Spec.Warmup / time.Second)
	stretch = threshold.Stretch{Begin: (warmup + width - 1) / width * width, End: second / width * width, Width: width, Asked: requestsAsked(s, j.run.Spec.Target.StepsPerFlow()), Paused: s.Phase == "paused"}
	if j.limits > 0 {
		stretch.Limited = (j.limits-s.StartedAt.UnixMicro())/1_000_000 + 1
	}
	from := max(stretch.Begin, stretch.End-j.span(width))
	if stretch.Points, err = j.points(ctx, s, from/width*width, stretch.End); err != nil {
		return stretch, false, err
	}
	if stretch.Answers, err = j.answers(ctx, from/width*width, stretch.End); err != nil {
		return stretch, false, err
	}
	stretch.Missing = missing || lostSince(s, s.StartedAt.Add(time.Duration(from-latest(s))*time.Second), j.run.Spec.PermitFor)
	return stretch, true, nil
}

// failing returns a threshold for which the run must be stopped at the end of a stretch; nil = none.
func (j *judge) failing(stretch threshold.Stretch) *threshold.Threshold {
	for _, t := range j.thresholds {
		if t.Aborts(stretch) {
			return &t
		}
	}
	return nil
}

// span returns how many seconds of the run must be looked at.
func (j *judge) span(width int64) (longest int64) {
	for _, t := range j.thresholds {
		longest = max(longest, t.Span(width))
	}
	return longest
}

// read is what a judge knows of the series. It does not change while the workers' places in it only grow.
type read struct {
	places map[string]int64 // up to which second the merged points have those of each worker
	upto   int64            // the first of these
	points []record.Point   // the merged points before that, as far as they are needed
}

// points reads the points of all workers in the seconds [from, to), which begin and end with a point of the run's
// width. It reads at one instant all that was not complete at the last look. If Redis has forgotten points, or a
// worker is new, it reads all again.
func (j *judge) points(ctx context.Context, s *run.State, from, to int64) ([]record.Point, error) {
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
	wide := record.Point{Index: from / j.width, Width: j.width} // all are brought to its width
	all = slices.DeleteFunc(append(all, open...), func(p record.Point) bool { return p.Start() < from || p.Start() >= to || p.Width > j.width })
	return record.MergeSeries(all, []record.Point{wide}), nil
}

// before reports whether the places of all workers have only grown.
func (r read) before(places map[string]int64) bool {
	for worker, second := range places {
		if then, known := r.places[worker]; !known || second < then {
			return false
		}
	}
	return len(places) >= len(r.places)
}

// read reads the merged points in the seconds [from, to), the points that are not merged yet, and the workers'
// places.
func (j *judge) read(ctx context.Context, s *run.State, from, to int64) (merged, open []record.Point, places map[string]int64, err error) {
	var metrics []string
	for _, t := range j.thresholds {
		if !slices.Contains(metrics, t.Metric) {
			metrics = append(metrics, t.Metric)
		}
	}
	fields := record.Pages(from, to, j.width, metrics...)
	pages := len(fields)
	for _, w := range s.Workers {
		fields = append(fields, w.Process())
	}
	values, err := j.run.Client.HMGet(ctx, j.run.Keys.Series, fields...).Result()
	if err != nil {
		return nil, nil, nil, err
	}
	var columns record.Columns
	places = map[string]int64{}
	for i, v := range values {
		text, there := v.(string)
		switch {
		case !there:
		case i < pages:
			err = columns.Read(fields[i], []byte(text))
		default:
			var points []record.Point
			places[fields[i]], points, err = parseRecord(text)
			open = append(open, points...)
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	return columns.Points(), open, places, nil
}

// abort stops the run. A second call does nothing.
func (j *judge) abort(ctx context.Context, t threshold.Threshold, second int64, missing []string) error {
	why := t.StopReason(second)
	if len(missing) > 0 {
		why += ", judged without " + strings.Join(missing[:min(len(missing), 5)], ", ")
		if more := len(missing) - 5; more > 0 {
			why += fmt.Sprintf(" and %d more", more)
		}
	}
	if _, err := j.run.Abort(ctx, why); err != nil {
		return err
	}
	j.log.Warn("stopped the run", "why", why)
	return nil
}
