package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

// ledger is a Journal that follows the rules of lua/snapshot.lua, and can fail in all ways that a Journal can.
type ledger struct {
	*simMember // the member that publishes
	fault      func(context.Context, *ledger) error

	attempts  int
	seq       uint64
	gaps      uint64
	intervals map[uint64]*record.Snapshot
	total     *record.Snapshot
	whole     []record.Point // points up to second
	open      []record.Point // points after second
	second    int64
	kept      []rest
}

// rest is what a Keeper got.
type rest struct {
	started   int64
	total     *record.Snapshot
	points    []record.Point
	published bool
}

// ledgerOf makes a ledger the journal of a member.
func ledgerOf(m *simMember, fault func(context.Context, *ledger) error) *ledger {
	l := &ledger{simMember: m, fault: fault, intervals: map[uint64]*record.Snapshot{}}
	l.forget()
	m.Journal = l
	return l
}

// forget loses what a Redis without persistence loses in a restart. Readers of the stream have read it already.
func (l *ledger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq, l.gaps, l.total, l.whole, l.open, l.second = 0, 0, nil, nil, nil, 0
}

func (l *ledger) Publish(ctx context.Context, interval, total *record.Snapshot, series *record.Series) error {
	l.attempts++
	if l.fault != nil {
		if err := l.fault(ctx, l); errors.Is(err, errDeaf) {
			l.write(interval, total, series)
			<-ctx.Done()
			return ctx.Err()
		} else if err != nil {
			return err
		}
	}
	l.write(interval, total, series)
	return nil
}

func (l *ledger) write(interval, total *record.Snapshot, series *record.Series) {
	l.mu.Lock() // some tests read it while the worker goes on
	defer l.mu.Unlock()
	whole, open, next := series.Since(l.second)
	l.whole, l.open, l.second = append(l.whole, whole...), open, next
	switch seq := interval.Seq; {
	case seq != total.Seq:
		l.t.Errorf("interval %d, total %d", seq, total.Seq)
	case seq <= l.seq:
		return
	case l.seq > 0:
		l.gaps += seq - l.seq - 1
	}
	if l.intervals[interval.Seq] != nil {
		l.t.Errorf("interval %d comes twice", interval.Seq)
	}
	l.seq, l.total, l.intervals[interval.Seq] = interval.Seq, clone(total), clone(interval)
}

// points returns the series as it is stored.
func (l *ledger) points() map[int64]record.Point {
	points := map[int64]record.Point{}
	for _, p := range record.MergeSeries(l.whole, l.open) {
		points[p.Index] = p
	}
	return points
}

func (l *ledger) Keep(started int64, total *record.Snapshot, points []record.Point, _ samples.Set, published bool) {
	l.kept = append(l.kept, rest{started, total, points, published})
}

// The faults of a ledger, each from … to.

var errDeaf = errors.New("written, but the answer is lost")

func refuses(context.Context, *ledger) error { return errAway }

func hangs(ctx context.Context, _ *ledger) error {
	<-ctx.Done()
	return ctx.Err()
}

func deaf(context.Context, *ledger) error { return errDeaf }

func during(from, to time.Duration, fault func(context.Context, *ledger) error) func(context.Context, *ledger) error {
	return func(ctx context.Context, l *ledger) error {
		if within(l.since(), [2]time.Duration{from, to}) {
			return fault(ctx, l)
		}
		return nil
	}
}

// audit asserts that the ledger is complete: all is in it once, its intervals have no gaps, and each second is in its
// place.
func (l *ledger) audit(rate int64) {
	l.t.Helper()
	sum := record.NewSnapshot(l.ID, "1")
	for seq := uint64(1); seq <= uint64(len(l.intervals)); seq++ {
		in := l.intervals[seq]
		if in == nil {
			l.t.Fatalf("interval %d is missing", seq)
		}
		if before := l.intervals[seq-1]; before != nil && before.End != in.Start {
			l.t.Errorf("interval %d ends at %d, the next begins at %d", seq-1, before.End, in.Start)
		}
		sum.Merge(in)
	}
	own := l.simMember.total
	if l.total == nil || l.total.Counts != own.Counts || !l.total.Final || sum.Counts != own.Counts || sum.Latency.Count() != own.Latency.Count() {
		l.t.Errorf("the worker counts %+v, its last snapshot %+v, all intervals %+v", own.Counts, l.total, sum.Counts)
	}
	if l.gaps != 0 {
		l.t.Errorf("%d gaps", l.gaps)
	}
	l.even(rate, l.points())
}

// even asserts that the points are those of a run at this rate, from its beginning to its end.
func (l *ledger) even(rate int64, points map[int64]record.Point) {
	l.t.Helper()
	var sent, last int64
	for i, p := range points {
		sent, last = sent+p.Sent, max(last, i)
	}
	if sent != l.simMember.total.Counts.Sent {
		l.t.Errorf("the points have %d requests, sent were %d", sent, l.simMember.total.Counts.Sent)
	}
	for i := range last { // the last one may be shorter
		if p, want := points[i], rate*points[i].Width; p.Sent < want-2 || p.Sent > want+2 {
			l.t.Errorf("point %d has %d requests, want %d", i, p.Sent, want)
		}
	}
}

// TestPublisherKeepsWhatItCannotPublish: a Journal that cannot be reached for a long time gets everything later, once,
// with consecutive numbers. Each second of the outage is in its place. A worker holds at most two intervals, so two
// cover the whole outage.
func TestPublisherKeepsWhatItCannotPublish(t *testing.T) {
	for _, c := range []struct {
		name           string
		before, length time.Duration
		fault          func(context.Context, *ledger) error
	}{
		{"refuses", 20 * time.Second, 2 * time.Minute, refuses},
		{"hangs", 20 * time.Second, 2 * time.Minute, hangs},
		{"deaf", 20 * time.Second, 2 * time.Minute, deaf},
		{"refuses while the points get wider", 1000 * time.Second, time.Minute, refuses},
	} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				const rate, after = 10, 20 * time.Second
				beside := c.before + after
				s := newSim(t, rate, model.Options{Span: (beside + c.length).Microseconds(), Min: 1})
				s.fleet(1)
				l := ledgerOf(s.members[0], during(c.before, c.before+c.length, c.fault))
				s.run()
				l.audit(rate)
				if n := time.Duration(len(l.intervals)) * time.Second; (n - beside).Abs() > 5*time.Second {
					t.Errorf("%d intervals; there were %v beside the outage", len(l.intervals), beside)
				}
				if n := l.simMember.total.Counts; n.Sent != int64(rate*(c.length+beside)/time.Second) || len(l.kept) != 1 || !l.kept[0].published {
					t.Errorf("%+v, kept %+v", n, l.kept)
				}
			})
		})
	}
}

// TestAnswerOfTheJournalIsLost: the first attempt to publish an interval was written, and what later attempts added
// was not.
func TestAnswerOfTheJournalIsLost(t *testing.T) {
	for _, fault := range []time.Duration{1500, 2500, 5500} { // one lost answer, and all answers of some seconds
		simulate(t, func(t *testing.T) {
			s := newSim(t, 100, model.Options{Span: 20 * second, Min: 1})
			s.fleet(1)
			l := ledgerOf(s.members[0], during(5*time.Second, 5*time.Second+fault*time.Millisecond, deaf))
			s.run()
			l.audit(100)
		})
	}
}

// TestJournalForgets: a Journal that forgets everything, or the last seconds, is complete again with the next
// snapshot.
func TestJournalForgets(t *testing.T) {
	t.Run("everything", func(t *testing.T) {
		simulate(t, func(t *testing.T) {
			s := newSim(t, 100, model.Options{Span: 30 * second, Min: 1})
			s.fleet(1)
			forgot := false
			l := ledgerOf(s.members[0], during(12*time.Second, time.Hour, func(_ context.Context, l *ledger) error {
				if !forgot {
					forgot = true
					l.forget()
				}
				return nil
			}))
			s.run()
			l.audit(100)
		})
	})
	t.Run("before the first point", func(t *testing.T) {
		simulate(t, func(t *testing.T) {
			s := newSim(t, 100, model.Options{Span: 10 * second, Min: 2})
			s.fleet(2)
			forgot := false
			l := ledgerOf(s.members[0], during(4*time.Second, time.Hour, func(_ context.Context, l *ledger) error {
				if !forgot {
					forgot = true
					l.forget()
				}
				return nil
			}))
			s.members[0].start()
			time.Sleep(8 * time.Second)
			synctest.Wait()
			l.mu.Lock()
			if l.seq < 7 {
				t.Errorf("snapshot %d in second 8", l.seq)
			}
			l.mu.Unlock()
			s.members[1].start()
			s.wait()
			if l.total == nil || !l.total.Final || l.total.Counts != l.simMember.total.Counts {
				t.Errorf("%+v", l.total)
			}
		})
	})
	t.Run("the last seconds", func(t *testing.T) {
		simulate(t, func(t *testing.T) {
			s := newSim(t, 100, model.Options{Span: 30 * second, Min: 1})
			s.fleet(1)
			var kept *ledger
			back := false
			l := ledgerOf(s.members[0], func(_ context.Context, l *ledger) error {
				switch at := l.since(); {
				case at > 10*time.Second && kept == nil:
					state := *l
					kept = &state
				case at > 14*time.Second && !back:
					back = true
					l.seq, l.total, l.whole, l.open, l.second = kept.seq, kept.total, slices.Clip(kept.whole), kept.open, kept.second
				}
				return nil
			})
			s.run()
			if l.gaps < 3 || l.gaps > 5 {
				t.Errorf("%d gaps, of 4 s", l.gaps)
			}
			l.gaps = 0
			l.audit(100)
		})
	})
}

// TestKeep: at the end the Keeper gets all that the worker did, and whether it was published.
func TestKeep(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 100, model.Options{Span: 20 * second, Min: 1})
		s.fleet(1)
		l := ledgerOf(s.members[0], during(10*time.Second, time.Hour, hangs))
		s.run()
		own := l.simMember.total
		if len(l.kept) != 1 || l.kept[0].published {
			t.Fatalf("kept %d times", len(l.kept))
		}
		r := l.kept[0]
		if !r.total.Final || r.total.Counts != own.Counts || r.total.Counts.Sent != 2000 || r.total.Seq < l.seq || r.started != s.firstSlot() {
			t.Errorf("%+v; the worker counts %+v", r, own.Counts)
		}
		points := map[int64]record.Point{}
		for _, p := range r.points {
			points[p.Index] = p
		}
		l.even(100, points)
	})
	simulate(t, func(t *testing.T) {
		s := newSim(t, 100, model.Options{Span: 20 * second, Min: 1})
		s.fleet(1)
		l := ledgerOf(s.members[0], during(10*time.Second, 22*time.Second, refuses)) // the Journal is back just in time
		s.run()
		l.audit(100)
		if len(l.kept) != 1 || !l.kept[0].published || l.kept[0].total.Counts != l.total.Counts {
			t.Errorf("kept %d times", len(l.kept))
		}
	})
}

// TestFinishOfARunThatIsGone: a worker of a run that is gone still tries once to publish, because the run may be back.
func TestFinishOfARunThatIsGone(t *testing.T) {
	simulate(t, func(t *testing.T) {
		for _, back := range []bool{false, true} {
			l := &ledger{simMember: &simMember{sim: &sim{t: t, began: time.Now()}}, intervals: map[uint64]*record.Snapshot{}}
			if !back {
				l.fault = refuses
			}
			p := publisher{worker: "w", incarnation: "1", journal: l, clock: pacer.NewClock(), started: func() int64 { return 0 }, log: slog.New(slog.DiscardHandler)}
			p.begin()
			began := time.Now()
			p.finish(t.Context(), true)
			if back != (l.total != nil && l.total.Final) || len(l.kept) != 1 || back != l.kept[0].published || l.attempts != 1 || time.Since(began) > publishTimeout {
				t.Errorf("back %v: %d attempts in %v, %+v, kept %d times", back, l.attempts, time.Since(began), l.total, len(l.kept))
			}
		}
	})
}
