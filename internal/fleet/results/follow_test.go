package results

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
)

// sender publishes as a worker does. Each request that it counts as sent took 1 ms.
type sender struct {
	*bed
	run     *run.Run
	worker  *member // the member of pair
	journal *Journal
	total   *record.Snapshot
	series  record.Series
}

func (b *bed) sender(r *run.Run, worker, incarnation string) *sender {
	return &sender{bed: b, run: r, journal: NewJournal(r, worker, incarnation), total: record.NewSnapshot(worker, incarnation)}
}

// interval is the next interval, counted in the total.
func (p *sender) interval(sent int64) *record.Snapshot {
	in := record.NewSnapshot(p.total.Worker, p.total.Incarnation)
	in.Start, in.End = max(1, p.total.End), time.Now().UnixMicro()
	in.Counts = record.Counts{Sent: sent, Completed: sent}
	for range sent {
		in.Latency.Record(int64(time.Millisecond))
	}
	p.total.Merge(in)
	p.total.Seq++
	in.Seq, in.Final = p.total.Seq, p.total.Final
	return in
}

func (p *sender) send(sent int64) {
	p.Helper()
	if err := p.journal.Publish(p.Context(), p.interval(sent), p.total, nil); err != nil {
		p.Error(err)
	}
}

// last is the last snapshot of a worker.
func (p *sender) last(sent int64) {
	p.Helper()
	p.total.Final = true
	p.send(sent)
}

func (b *bed) follow(r *run.Run) *Follower {
	b.Helper()
	f, err := Follow(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

func (b *bed) progress(f *Follower) Progress {
	b.Helper()
	p, err := f.Progress(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// trim empties the stream of snapshots.
func (b *bed) trim(r *run.Run) {
	b.Helper()
	if err := b.client.XTrimMaxLen(b.Context(), r.Keys.Snapshots, 0).Err(); err != nil {
		b.Fatal(err)
	}
}

// equalsReport checks that the follower has counted the same as the report, which does not read the stream.
func (b *bed) equalsReport(when string, p Progress, r *run.Run) {
	b.Helper()
	rep, err := Report(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	if c := p.Counts; c.Sent != rep.Audit.Sent || c.Completed != rep.Audit.Completed || c.Failed != rep.Audit.Failed {
		b.Errorf("%s: the follower has %+v, the report %+v", when, c, rep.Audit)
	}
}

// pair returns a run with the members a and b, and a sender for each.
func (b *bed) pair() (r *run.Run, one, two *sender) {
	b.Helper()
	r, _ = b.create("x", constant(100), run.Options{})
	one, two = b.sender(r, "a", "inca"), b.sender(r, "b", "incb")
	one.worker, two.worker = b.member(r, "a").start(), b.member(r, "b")
	two.worker.renew()
	return r, one, two
}

// TestFollowerCountsEachIntervalOnce: this holds whenever the follower begins.
func TestFollowerCountsEachIntervalOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two := b.pair()
		begun := time.Now().UnixMicro()
		first := b.follow(r)
		if p := b.progress(first); p.Counts != (record.Counts{}) || !p.At.IsZero() || p.AskedAt != 0 || p.Latency.Count() != 0 {
			t.Errorf("nothing was published, and the follower has %+v", p)
		}
		one.send(3)
		two.send(4)
		middle := b.follow(r)
		one.send(5)
		for name, c := range map[string]struct {
			f      *Follower
			before int64 // published before the follower begins
		}{"first": {first, 0}, "middle": {middle, 7}} {
			p := b.progress(c.f)
			b.equalsReport(name, p, r)
			if p.Counts.Sent != 12 || p.Latency.Count() != 12-c.before {
				t.Errorf("%s: %+v with %d latencies", name, p.Counts, p.Latency.Count())
			}
			if us := p.At.UnixMicro(); us < begun || p.AskedAt != p.State.AskedAt(p.At) {
				t.Errorf("%s: asked %d up to %v", name, p.AskedAt, p.At)
			}
			if again := b.progress(c.f); again.Counts != p.Counts || again.Latency.Count() != 0 {
				t.Errorf("%s, again: %+v with %d latencies", name, again.Counts, again.Latency.Count())
			}
		}
		two.send(6)
		if p := b.progress(first); p.Counts.Sent != 18 || p.Latency.Count() != 6 {
			t.Errorf("%+v with %d latencies", p.Counts, p.Latency.Count())
		}
	})
}

// TestProgressBrings: a Progress brings each published interval once, and the requests in flight at present workers.
func TestProgressBrings(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two := b.pair()
		one.send(5) // before the follower begins
		f := b.follow(r)
		one.send(10)
		two.send(20)
		one.send(30)
		var seen []string
		p := b.progress(f)
		for _, beat := range p.Beats {
			seen = append(seen, fmt.Sprint(beat.Worker, beat.Seq, " ", beat.Counts.Sent))
		}
		if got := strings.Join(seen, ", "); got != "a2 10, b1 20, a3 30" || p.InFlight != 0 {
			t.Errorf("%s, %d in flight", got, p.InFlight)
		}
		in := two.interval(7)
		in.Counts.Completed -= 3
		two.total.Counts.Completed -= 3
		if err := two.journal.Publish(t.Context(), in, two.total, nil); err != nil {
			t.Fatal(err)
		}
		if p = b.progress(f); len(p.Beats) != 1 || p.InFlight != 3 {
			t.Errorf("%d intervals, %d in flight", len(p.Beats), p.InFlight)
		}
		if p = b.progress(f); len(p.Beats) != 0 || p.InFlight != 3 || p.Now().IsZero() || p.Workers[0].Process() != p.Workers[0].ID+"/"+p.Workers[0].Incarnation {
			t.Errorf("%+v", p)
		}
	})
}

// TestFollowWhileWorkersPublish: followers begin at any time. Each gets every interval, and none twice.
func TestFollowWhileWorkersPublish(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two := b.pair()
		const intervals = 100
		var publishing sync.WaitGroup
		defer publishing.Wait() // before the test ends, also where it fails
		for _, p := range []*sender{one, two} {
			publishing.Go(func() {
				for range intervals {
					p.send(1)
				}
			})
		}
		var followers []*Follower
		for sent := int64(0); sent < 2*intervals; {
			f := b.follow(r)
			now := b.progress(f).Counts.Sent
			if now < sent {
				t.Fatalf("a follower that began later has %d, the one before had %d", now, sent)
			}
			followers, sent = append(followers, f), now
			if t.Failed() {
				return
			}
		}
		publishing.Wait()
		for i, f := range followers {
			b.equalsReport(fmt.Sprintf("follower %d of %d", i, len(followers)), b.progress(f), r)
		}
	})
}

// TestFollowerOfALongStream reads more entries than one call brings.
func TestFollowerOfALongStream(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, _ := b.pair()
		f := b.follow(r)
		const entries = 2*streamLength + 7
		_, err := b.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range entries {
				text, err := one.interval(1).MarshalBinary()
				if err != nil {
					return err
				}
				pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: r.Keys.Snapshots, Values: []any{"w", "a/inca", "s", text}})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if p := b.progress(f); p.Counts.Sent != entries || p.Latency.Count() != entries {
			t.Errorf("%d counted of %d, %d latencies", p.Counts.Sent, entries, p.Latency.Count())
		}
	})
}

// TestFollowerOfATrimmedStream: a follower lacks what was trimmed, but only until the worker publishes again.
func TestFollowerOfATrimmedStream(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two := b.pair()
		f := b.follow(r)
		one.send(1)
		two.send(1)
		b.progress(f)
		one.send(10)
		two.send(100)
		b.trim(r)
		if p := b.progress(f); p.Counts.Sent != 2 {
			t.Errorf("%+v", p.Counts)
		}
		one.send(5)
		p := b.progress(f)
		if p.Counts.Sent != 17 || p.Latency.Count() != 5 {
			t.Errorf("one has published again: %+v with %d latencies", p.Counts, p.Latency.Count())
		}
		two.send(5)
		b.equalsReport("both have published again", b.progress(f), r)
		one.send(7)
		b.trim(r)
		b.equalsReport("a new follower", b.progress(b.follow(r)), r)
		one.last(20)
		two.last(30)
		b.trim(r)
		b.stop(r, one.worker, two.worker)
		p = b.progress(f)
		b.equalsReport("over", p, r)
		if !p.Settled || p.Counts.Sent != 179 {
			t.Errorf("settled %v, %+v", p.Settled, p.Counts)
		}
	})
}

// TestFollowerPassesOverWhatIsDamaged: the cumulative snapshot of the same worker makes up for a damaged interval. If
// that snapshot is damaged too, there is no report either.
func TestFollowerPassesOverWhatIsDamaged(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two := b.pair()
		f := b.follow(r)
		one.send(3)
		for _, values := range [][]any{{"w", "a/inca", "s", "nonsense"}, {"w", "a/inca"}, {"s", "nonsense"}, {"other", "field"}} {
			if err := b.client.XAdd(t.Context(), &redis.XAddArgs{Stream: r.Keys.Snapshots, Values: values}).Err(); err != nil {
				t.Fatal(err)
			}
			b.equalsReport(fmt.Sprint(values), b.progress(f), r)
		}
		one.send(4)
		b.equalsReport("afterwards", b.progress(f), r)
		b.client.HSet(t.Context(), r.Keys.Totals, "a/inca:counts", `{"seq":9,"counts":{"sent":-1}}`)
		_, err := Follow(t.Context(), r)
		b.wants(err, spec.ErrBroken, "follow run x", "read snapshot of worker a")
		b.stop(r, one.worker, two.worker)
		_, err = f.Progress(t.Context())
		b.wants(err, spec.ErrBroken, "read snapshot of worker a")
	})
}

// TestFollowerOfAReplacedWorker: both incarnations of a worker count.
func TestFollowerOfAReplacedWorker(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two := b.pair()
		f := b.follow(r)
		one.send(3)
		next := b.member(r, "a")
		next.holder = lease.NewHolder("a", "inc2", 1)
		next.renew()
		again := b.sender(r, "a", "inc2")
		again.send(4)
		one.last(5) // it publishes what it has done, although it was replaced
		for name, f := range map[string]*Follower{"from the beginning": f, "afterwards": b.follow(r)} {
			next.renew() // a silent worker does not count
			two.worker.renew()
			p := b.progress(f)
			b.equalsReport(name, p, r)
			if p.Counts.Sent != 12 || p.Members != 2 {
				t.Errorf("%s: %+v, %d members", name, p.Counts, p.Members)
			}
		}
	})
}

// TestProgressSettles: progress settles once the last snapshots are there, or cannot come any more.
func TestProgressSettles(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two := b.pair()
		f := b.follow(r)
		one.send(1)
		two.send(2)
		if p := b.progress(f); p.Settled || p.Next <= 0 || p.Next > time.Second {
			t.Errorf("a run that goes on: settled %v, next %v", p.Settled, p.Next)
		}
		b.stop(r, one.worker) // and b never calls again
		if p := b.progress(f); p.Settled || p.EndedAt.IsZero() || p.Next > settling {
			t.Errorf("stopped: %+v", p)
		}
		one.last(3)
		if p := b.progress(f); p.Settled || p.Counts.Sent != 6 {
			t.Errorf("one is there: %+v", p)
		}
		await.True(b, "that b is given up", func() bool { return b.progress(f).Settled })
		p := b.progress(f)
		b.equalsReport("settled", p, r)
		if rep, err := FinalReport(t.Context(), r, 0); err != nil || rep.Audit.Sent != 6 {
			t.Errorf("%+v, %v", rep.Audit, err)
		}
		b.equalsReport("a follower of a run that is over", b.progress(b.follow(r)), r)
	})
}

// TestAskedOfARunWhoseWorkerDied: slots asked for after its last snapshot count too.
func TestAskedOfARunWhoseWorkerDied(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(100)
		spec.Duration = time.Second
		r, _ := b.create("x", spec, run.Options{})
		b.member(r, "a").start()
		b.sender(r, "a", "inca").send(1)
		f := b.follow(r)
		await.True(b, "the end", func() bool { return b.progress(f).Settled })
		p := b.progress(f)
		b.equalsReport("over", p, r)
		if p.Phase != "ended" || p.AskedAt != 100 || p.Counts.Sent != 1 || p.Members != 0 {
			t.Errorf("%s, asked %d, %+v, %d members", p.Phase, p.AskedAt, p.Counts, p.Members)
		}
	})
}

// TestProgressOfARunNobodyJoined: such a run can be stopped too.
func TestProgressOfARunNobodyJoined(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(100)
		spec.MinWorkers, spec.Duration = 0, time.Minute
		r, _ := b.create("x", spec, run.Options{})
		f := b.follow(r)
		if p := b.progress(f); p.Phase != "waiting" || p.Settled || p.Elapsed() != 0 || p.Left() != 0 || p.Next != time.Second {
			t.Errorf("%+v, elapsed %v, left %v", p, p.Elapsed(), p.Left())
		}
		b.stop(r)
		if p := b.progress(f); p.Phase != "stopped" || !p.Settled || p.AskedAt != 0 {
			t.Errorf("%+v", p)
		}
	})
}

// TestProgressShowsTheTimeLeft: a pause delays the end, so the time left is unknown.
func TestProgressShowsTheTimeLeft(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(100)
		spec.Duration = time.Hour
		r, _ := b.create("x", spec, run.Options{})
		m := b.member(r, "a").start()
		f := b.follow(r)
		await.True(b, "some time to have passed", func() bool { return b.progress(f).Elapsed() > 50*time.Millisecond })
		if p := b.progress(f); p.Elapsed()+p.Left() != time.Hour {
			t.Errorf("elapsed %v, left %v", p.Elapsed(), p.Left())
		}
		b.must(r.Pause(t.Context()))
		if p := b.progress(f); p.Phase != "paused" || p.Left() != 0 {
			t.Errorf("%s, left %v", p.Phase, p.Left())
		}
		resumed := b.must(r.Resume(t.Context()))
		await.True(b, "the resumption", func() bool { return b.state(r).Now().After(resumed.At) })
		if p := b.progress(f); p.Left() < 59*time.Minute {
			t.Errorf("left %v", p.Left())
		}
		b.stop(r, m)
		if p := b.progress(f); p.Left() != 0 {
			t.Errorf("left %v", p.Left())
		}
	})
}

// TestMembersWhoDied: a dead last member does not count as present, although no call notices its death. After an
// outage of Redis nobody has called for a while, and yet the members count as present.
func TestMembersWhoDied(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		m := b.member(r, "a").start()
		f := b.follow(r)
		if p := b.progress(f); p.Members != 1 || p.Present() != 1 {
			t.Errorf("%d members, %d present", p.Members, p.Present())
		}
		await.True(b, "its silence to be noticed", func() bool { return b.state(r).Present() == 0 })
		if p := b.progress(f); p.Members != 1 {
			t.Errorf("%d members at the first look", p.Members)
		}
		m.renew()
		if p := b.progress(f); p.Members != 1 {
			t.Errorf("%d members, and it is back", p.Members)
		}
		await.True(b, "its silence to be noticed", func() bool { return b.state(r).Present() == 0 })
		b.progress(f)
		if p := b.progress(f); p.Members != 0 || p.Phase != "running" {
			t.Errorf("%s, %d members at the second look", p.Phase, p.Members)
		}
	})
}

// TestFollowerOfARunThatIsGone: the run was removed, or replaced by one of the same name.
func TestFollowerOfARunThatIsGone(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, _ := b.pair()
		f := b.follow(r)
		one.send(1)
		if err := run.Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		_, err := f.Progress(t.Context())
		b.wants(err, run.ErrNoRun, "run x")
		b.create("x", constant(100), run.Options{})
		_, err = f.Progress(t.Context())
		b.wants(err, run.ErrNoRun, "run x")
		b.client.Del(t.Context(), r.Keys.Snapshots)
		b.client.Set(t.Context(), r.Keys.Snapshots, "text", 0)
		_, err = Follow(t.Context(), r)
		b.wants(err, spec.ErrBroken, "run x")
		if _, err = f.Progress(t.Context()); err == nil || !strings.Contains(err.Error(), "run x") {
			t.Errorf("%v", err)
		}
	})
}
