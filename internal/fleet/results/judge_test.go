package results

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// sendSeconds publishes what a worker did in some seconds of the run, all at once, as after an outage. It sends 50
// requests of 1 ms a second, and its clock is at the end of the last second.
func (p *sender) sendSeconds(start time.Time, from, to int64) {
	p.Helper()
	sum := record.NewSnapshot(p.total.Worker, p.total.Incarnation)
	for second := from; second < to; second++ {
		in := record.NewSnapshot(p.total.Worker, p.total.Incarnation)
		in.Start, in.End = start.UnixMicro()+second*1_000_000, start.UnixMicro()+(second+1)*1_000_000+1000
		in.Counts = record.Counts{Sent: 50, Completed: 50}
		for range 50 {
			in.Latency.Record(int64(time.Millisecond))
		}
		p.series.Add(second*1_000_000+500_000, in)
		sum.Merge(in)
	}
	p.total.Merge(sum)
	for again := true; again; again = sum.Behind { // the judge does this each second until all points are there
		p.total.Seq++
		sum.Seq = p.total.Seq
		if err := p.journal.Publish(p.Context(), sum, p.total, &p.series); err != nil {
			p.Fatal(err)
		}
	}
}

// judging returns a run of 100 requests a second that two workers share, and its judge.
func (b *bed) judging(thresholds ...string) (r *run.Run, one, two *sender, j *judge) {
	b.Helper()
	spec := constant(100)
	spec.Thresholds = thresholds
	r, _ = b.create("x", spec, run.Options{})
	b.member(r, "a").start()
	b.member(r, "b").renew()
	all, err := spec.Conditions()
	if err != nil {
		b.Fatal(err)
	}
	return r, b.sender(r, "a", "inca"), b.sender(r, "b", "incb"), &judge{own: r, run: r, aside: func(context.Context) (*run.Run, error) { return r, nil }, me: "a/inca", thresholds: all, guards: guardsOf(spec, all), log: slog.New(slog.DiscardHandler)}
}

// judges returns the threshold that stops the run at the end of a second, "" = none.
func (j *judge) judges(t *testing.T, s *run.State, second int64, missing bool) string {
	t.Helper()
	if err := j.readNew(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	stretch, ok, err := j.stretch(t.Context(), s, second, missing)
	if err != nil {
		t.Fatal(err)
	}
	if failed := j.failing(stretch); ok && failed != nil {
		return failed.Text
	}
	return ""
}

// TestWhoComesBackCounts: a worker that was cut off publishes all that it did at once. Until then the judge must not
// count it as idle.
func TestWhoComesBackCounts(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const right, wrong = "rate:rate>90 over 10s abort after 2", "rate:rate>110 over 10s abort after 2"
		r, one, two, j := b.judging(right, wrong)
		s := b.state(r)
		two.sendSeconds(s.StartedAt, 0, 4)
		for second := int64(1); second <= 20; second++ {
			one.sendSeconds(s.StartedAt, second-1, second)
			if got := j.judges(t, s, second, second > 4); got != "" && (got != wrong || second < 11) {
				t.Fatalf("second %d, without b: %s", second, got)
			}
		}
		two.sendSeconds(s.StartedAt, 4, 21)
		one.sendSeconds(s.StartedAt, 20, 21)
		j.thresholds = j.thresholds[:1]
		if got := j.judges(t, s, 21, false); got != "" {
			t.Errorf("b is back with all its requests, and the run is stopped: %s", got)
		}
	})
}

// TestPointsThatGrow: a judge reads points that are not complete yet, and points that were complete before their width
// doubled.
func TestPointsThatGrow(t *testing.T) {
	b := newBed(t)
	r, one, _, j := b.judging("latency:p(50)>90ms over 10s abort after 1")
	s := b.state(r)
	for _, row := range []struct{ from, to, width, begin, end, sent int64 }{
		{0, 1, 1, 0, 10, 50}, {1, 10, 1, 0, 10, 500}, {10, 11, 1, 5, 11, 300}, // one second after another
		{1010, 1024, 1, 1010, 1024, 700}, {1024, 1025, 2, 1010, 1026, 750}, {1025, 1030, 2, 1010, 1030, 1000},
		{4096, 4100, 8, 4088, 4104, 200},
	} {
		one.sendSeconds(s.StartedAt, row.from, row.to)
		j.width = row.width
		points, err := j.points(t.Context(), s, row.begin, row.end)
		var sent, ended int64
		for _, p := range points {
			sent, ended = sent+p.Sent, ended+p.Latency.Count()
			if p.Width != row.width {
				t.Errorf("until %d s: a point of %d s", row.to, p.Width)
			}
		}
		if err != nil || sent != row.sent || ended != row.sent {
			t.Errorf("until %d s: %d requests, %d latencies, %v, want %d", row.to, sent, ended, err, row.sent)
		}
	}
}

// farAway delays each call, or makes it fail.
type farAway struct {
	delay func(cmd string) time.Duration
	fails func(cmd string) error
}

func (f farAway) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f farAway) call(ctx context.Context, name string) error {
	if f.fails != nil {
		return f.fails(name)
	}
	select {
	case <-time.After(f.delay(name)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f farAway) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := f.call(ctx, cmd.Name()); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (f farAway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		if err := f.call(ctx, "pipeline"); err != nil {
			return err
		}
		return next(ctx, all)
	}
}

// judgedBy runs Judge until the test ends, with a client of its own that has a hook.
func (b *bed) judgedBy(r *run.Run, me string, log *slog.Logger, hook redis.Hook) {
	other := b.hooked(r, hook)
	ctx, cancel := context.WithCancel(b.Context())
	var judging sync.WaitGroup
	judging.Go(func() {
		Judge(ctx, other, me, func(context.Context) (*run.Run, error) { return other, nil }, log)
	})
	b.Cleanup(func() {
		cancel()
		judging.Wait()
	})
}

// TestAbortFarAway: a run is stopped even if calls take 200 ms each. Of two judges only one judges.
func TestAbortFarAway(t *testing.T) {
	b := newBed(t)
	r, _, _, _ := b.judging("rate:rate>110 over 1s abort after 1") // above the rate asked for, so it always fails
	hook := farAway{delay: func(string) time.Duration { return 200 * time.Millisecond }}
	for _, me := range []string{"a/inca", "b/incb"} {
		b.judgedBy(r, me, slog.New(slog.DiscardHandler), hook)
	}
	await.True(b, "the stop", func() bool { return b.state(r).Phase == "stopped" })
	if events := b.events(r); strings.Count(events, "stop") != 1 {
		t.Error(events)
	}
}

// TestJudgeLogsTroubleOnce: a judge logs trouble once, and logs when it is over.
func TestJudgeLogsTroubleOnce(t *testing.T) {
	b := newBed(t)
	r, _, _, _ := b.judging("rate:rate>110 over 1s abort after 1")
	var away atomic.Bool
	var looks atomic.Int64
	away.Store(true)
	var logged lockedText
	b.judgedBy(r, "a/inca", slog.New(slog.NewTextHandler(&logged, nil)), farAway{fails: func(cmd string) error {
		if cmd == "xrange" && away.Load() {
			looks.Add(1)
			return context.DeadlineExceeded
		}
		return nil
	}})
	await.True(b, "three looks", func() bool { return looks.Load() >= 3 })
	if got := logged.String(); strings.Count(got, "cannot judge the run") != 1 || strings.Count(got, "\n") != 1 {
		t.Errorf("logged: %s", got)
	}
	away.Store(false)
	await.True(b, "the stop", func() bool { return b.state(r).Phase == "stopped" })
	await.True(b, "the end of the trouble", func() bool { return strings.Contains(logged.String(), "the run is judged again") })
}

// TestAJudgeOutlivesALostRun: workers restore a run that Redis has lost, and it is judged again.
func TestAJudgeOutlivesALostRun(t *testing.T) {
	b := newBed(t)
	r, _, _, _ := b.judging("rate:rate>110 over 1s abort after 1")
	move := func(from, to string) {
		t.Helper()
		if err := b.client.Rename(t.Context(), from, to).Err(); err != nil {
			t.Fatal(err)
		}
	}
	lost := r.Keys.Budget + ":lost"
	move(r.Keys.Budget, lost)
	var logged lockedText
	b.judgedBy(r, "a/inca", slog.New(slog.NewTextHandler(&logged, nil)), farAway{fails: func(string) error { return nil }})
	await.True(b, "a look that finds no run", func() bool { return strings.Contains(logged.String(), "cannot judge the run") })
	move(lost, r.Keys.Budget)
	await.True(b, "the stop", func() bool { return b.state(r).Phase == "stopped" })
}

// lockedText collects what was logged.
type lockedText struct {
	sync.Mutex
	strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Builder.Write(p)
}

func (l *lockedText) String() string {
	l.Lock()
	defer l.Unlock()
	return l.Builder.String()
}

// TestALookReadsWhatIsNew: a look reads only what is new in the stream and the series. It adds up all workers' results
// once, whatever the number of thresholds.
func TestALookReadsWhatIsNew(t *testing.T) {
	b := newBed(t)
	r, one, two, j := b.judging("rate:rate>1 over 300s abort after 299")
	s := b.state(r)
	one.sendSeconds(s.StartedAt, 0, 400)
	two.sendSeconds(s.StartedAt, 0, 400)
	asked := map[string]int{}
	j.run = b.hooked(r, seen(func(cmd redis.Cmder) {
		switch cmd := cmd.(type) {
		case *redis.SliceCmd:
			asked["points"] += len(cmd.Val())
		case *redis.XMessageSliceCmd:
			asked["snapshots"] += len(cmd.Val())
		}
	}))
	j.width = 1
	look := func(to int64) []record.Point {
		t.Helper()
		if err := j.readNew(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		points, err := j.points(t.Context(), s, 0, to)
		if err != nil {
			t.Fatal(err)
		}
		return points
	}
	look(400)
	if asked["points"] != 402 || asked["snapshots"] != 26 {
		t.Errorf("the first look: %v", asked)
	}
	one.sendSeconds(s.StartedAt, 400, 401)
	two.sendSeconds(s.StartedAt, 400, 401)
	clear(asked)
	points := look(401)
	if asked["points"] != 5 || asked["snapshots"] != 2 { // three points that were not complete, and each worker's own
		t.Errorf("the second look: %v", asked)
	}
	if len(points) != 401 {
		t.Errorf("%d points, want one a second", len(points))
	}
	for i, p := range points {
		if p.Index != int64(i) || p.Sent != 100 || p.Completed != 100 {
			t.Fatalf("second %d: %+v", i, p)
		}
	}
	b.client.Del(t.Context(), r.Keys.Series)
	for _, want := range []int64{0, 50} { // all is lost; one worker has published again
		for i, p := range look(401) {
			if p.Index != int64(i) || p.Sent != want {
				t.Fatalf("second %d after a loss: %+v, want %d", i, p, want)
			}
		}
		one.sendSeconds(s.StartedAt, 401, 402)
	}
}

// TestJudgeReadsLimits: the snapshot of an interval reports that the worker itself was late. Then no threshold on
// the rate stops the run, but one on errors does.
func TestJudgeReadsLimits(t *testing.T) {
	b := newBed(t)
	const rate, shares = "rate:rate>110 over 2s abort after 2", "checks:rate>100% over 2s abort after 2"
	r, one, two, j := b.judging(rate)
	s := b.state(r)
	one.sendSeconds(s.StartedAt, 0, 10)
	two.sendSeconds(s.StartedAt, 0, 9)
	late := two.interval(50)
	late.Start, late.End = s.StartedAt.UnixMicro()+9_000_000, s.StartedAt.UnixMicro()+9_990_000
	late.Self.Wall, late.Counts.SeenLate = int64(time.Second), 25
	late.JudgeBeat()
	two.series.Add(9_500_000, late)
	if got := j.judges(t, s, 9, false); got != rate {
		t.Errorf("before: %q", got)
	}
	if err := two.journal.Publish(t.Context(), late, two.total, &two.series); err != nil {
		t.Fatal(err)
	}
	if got := j.judges(t, s, 10, false); got != "" {
		t.Errorf("stopped for %s, though b was late", got)
	}
	believed, err := threshold.Parse(shares)
	if err != nil {
		t.Fatal(err)
	}
	j.thresholds = append(j.thresholds, believed)
	if got := j.judges(t, s, 10, false); got != shares {
		t.Errorf("not stopped: %q", got)
	}
}

// TestLostSince: a worker that is cut off from Redis sends until its lease ends. What it sends is not known, and must not
// count as unsent.
func TestLostSince(t *testing.T) {
	called := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		state string
		after time.Duration // from when on, after the worker last called
		may   bool
	}{
		{"lost", 0, true}, {"lost", 9 * time.Second, true}, {"lost", 10 * time.Second, false},
		{"removed", 9 * time.Second, true}, {"replaced", 9 * time.Second, true},
		{"active", 0, false}, {"left", 0, false}, {"stopped", 0, false},
	} {
		s := &run.State{Workers: []run.Worker{{State: c.state, LastSeen: called}}}
		if may := lostSince(s, called.Add(c.after), 10*time.Second); may != c.may {
			t.Errorf("%+v: %v", c, may)
		}
	}
}
