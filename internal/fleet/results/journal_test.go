package results

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/files"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

// lifetimes checks that every key of the run lives for at least `least` and at most `most`.
func (b *bed) lifetimes(when string, least, most time.Duration) {
	b.Helper()
	keys, err := b.client.Keys(b.Context(), "*").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range keys {
		if key == "load:runs" {
			continue
		}
		if !strings.HasPrefix(key, "{load:x}:") {
			b.Errorf("%s: key %s is outside the run's hash tag", when, key)
		}
		if ttl := b.client.PTTL(b.Context(), key).Val(); ttl < least || ttl > most {
			b.Errorf("%s: key %s lives for %v, want %v to %v", when, key, ttl, least, most)
		}
	}
}

// TestEveryKeyExpires: no key stays in Redis for ever, not even if no worker has published to the run.
func TestEveryKeyExpires(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const keep = time.Hour
		spec := constant(100)
		spec.MinWorkers = 2
		r, _ := b.create("x", spec, run.Options{Keep: keep})
		if err := (files.Files{"0": {Name: "a.csv"}}).Store(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		live := func(when string) {
			t.Helper()
			b.lifetimes(when, keep-time.Minute, keep)
		}
		live("created")
		b.must(r.SetRate(t.Context(), pacer.PerSecond(50), 0))
		live("changed before anybody came")
		a := b.member(r, "a")
		a.renew()
		live("joined")
		m := b.member(r, "b").start()
		live("started")
		b.must(r.SetRate(t.Context(), pacer.PerSecond(70), 0))
		b.must(r.Pause(t.Context()))
		b.must(r.Resume(t.Context()))
		m.renew()
		live("changed")
		a.halt()
		m.halt()
		live("left by all") // rich is empty, so it is not there
		b.member(r, "c").renew()
		live("joined again")
		b.publish(r, 1, nil)
		live("reported to")
		if n := b.client.Exists(t.Context(), r.Keys.All()...).Val(); n != 12 { // there is no series yet
			t.Errorf("%d keys exist", n)
		}
		b.publish(r, 2, seriesOf(1))
		if err := storeAnswers(t.Context(), r, 1, map[string]record.Value{"cpu": record.Answer(1)}); err != nil {
			t.Fatal(err)
		}
		live("with answers to queries")
		kept := samples.Set{Samples: []samples.Sample{{Ordinal: 1, Worker: "b"}}}
		if err := NewJournal(r, "b", "incb").PublishSamples(t.Context(), kept, 1, 1); err != nil {
			t.Fatal(err)
		}
		live("with samples")
		for _, key := range r.Keys.All() {
			if !b.client.PExpire(t.Context(), key, time.Minute).Val() {
				t.Errorf("there is no key %s", key)
			}
		}
		b.publish(r, 3, nil)
		live("renewed by a snapshot")
	})
}

// snapshot returns a snapshot of member b with a sequence number.
func snapshot(seq uint64) *record.Snapshot {
	s := record.NewSnapshot("b", "incb")
	s.Seq, s.Start, s.End = seq, 1, 2
	return s
}

func (b *bed) publish(r *run.Run, seq uint64, series *record.Series) {
	b.Helper()
	j := NewJournal(r, "b", "incb")
	if err := j.Publish(b.Context(), snapshot(seq), snapshot(seq), series); err != nil {
		b.Fatal(err)
	}
}

func TestSnapshotIsStoredOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		b.member(r, "b").renew()
		for _, c := range []struct {
			seq           uint64
			entries, gaps int64
		}{{1, 1, 0}, {1, 1, 0}, {2, 2, 0}, {5, 3, 2}, {5, 3, 2}, {3, 3, 2}, {6, 4, 2}, {8, 5, 3}} {
			b.publish(r, c.seq, nil)
			rep, err := Report(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if n := b.client.XLen(t.Context(), r.Keys.Snapshots).Val(); n != c.entries || rep.Workers[0].Gaps != c.gaps {
				t.Errorf("seq %d: %d entries and %d gaps, want %d and %d", c.seq, n, rep.Workers[0].Gaps, c.entries, c.gaps)
			}
		}
	})
}

func TestSnapshotOfARunThatWasRemoved(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		if err := run.Remove(t.Context(), b.client, "x", false); err != nil {
			t.Fatal(err)
		}
		j := NewJournal(r, "b", "incb")
		b.wants(j.Publish(t.Context(), snapshot(1), snapshot(1), nil), run.ErrNoRun, "run x")
		b.client.Del(t.Context(), r.Keys.RemovedOf(r.UID)) // for its workers, where it had any
		if n := b.client.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
		b.create("x", constant(200), run.Options{})
		before := len(b.dump())
		b.wants(j.Publish(t.Context(), snapshot(1), snapshot(1), nil), run.ErrNoRun, "run x")
		if after := len(b.dump()); after != before {
			t.Error("a snapshot of the run that was replaced is in its successor")
		}
	})
}

// seriesOf returns the series of a worker that sent one request in each of this many seconds.
func seriesOf(seconds int64) *record.Series {
	series := new(record.Series)
	for i := range seconds {
		one := record.NewSnapshot("b", "incb")
		one.Counts = record.Counts{Sent: 1, Completed: 1}
		one.Latency.Record(1_000_000 * (i + 1))
		series.Add(i*1_000_000, one)
	}
	return series
}

// TestSeriesIsWhole: whatever part of the series Redis loses, the last snapshot restores all points, once. This holds
// for any number of points.
func TestSeriesIsWhole(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		for _, id := range []string{"b", "c"} {
			b.member(r, id).renew()
		}
		seconds := []int64{3, 4, 150, 151, 1023, 1025, 1500, 2600}
		var before map[string]string
		journals := map[string]*Journal{"b/incb": NewJournal(r, "b", "incb"), "c/incc": NewJournal(r, "c", "incc")}
		for i, n := range seconds {
			for _, j := range journals {
				s := record.NewSnapshot(j.worker, j.incarnation)
				s.Seq, s.Start, s.End, s.Counts, s.Final = uint64(i+1), 1, 2, record.Counts{Sent: n, Completed: n}, i == len(seconds)-1
				if err := j.Publish(t.Context(), s, s, seriesOf(n)); err != nil {
					t.Fatal(err)
				}
			}
			switch n {
			case 4:
				before = b.client.HGetAll(t.Context(), r.Keys.Series).Val()
			case 151:
				b.client.Del(t.Context(), r.Keys.Series) // a failover forgets the last seconds
				if err := b.client.HSet(t.Context(), r.Keys.Series, before).Err(); err != nil {
					t.Fatal(err)
				}
			case 1023:
				b.client.Del(t.Context(), r.Keys.Series)
			case 1500:
				b.client.Del(t.Context(), r.Keys.Totals)
			}
		}
		in, _, err := gather(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, want := record.MergeSeries(in.Series), record.MergeSeries(seriesOf(2600).Points(), seriesOf(2600).Points())
		if len(got) != len(want) {
			t.Fatalf("%d points, want %d", len(got), len(want))
		}
		for i := range got {
			a, _ := got[i].MarshalText()
			b, _ := want[i].MarshalText()
			if string(a) != string(b) {
				t.Fatalf("point %d is %s, want %s", i, a, b)
			}
		}
	})
}

// TestReportWithoutTheStream: the cumulative snapshots carry everything.
func TestReportWithoutTheStream(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(1000)
		spec.Requests = 200
		r, _ := b.create("x", spec, run.Options{})
		m := b.member(r, "b")
		m.over()
		sent := record.NewRecorder()
		for range m.owned() {
			sent.Sent()
			sent.Done(record.Finished{Due: 0, Sent: 1000, Done: 2_000_000, Status: 200})
		}
		total := snapshot(1)
		total.Record(sent)
		total.Final = true
		series := new(record.Series)
		series.Add(0, total)
		if err := NewJournal(r, "b", "incb").Publish(t.Context(), total, total, series); err != nil {
			t.Fatal(err)
		}
		if err := b.client.XTrimMaxLen(t.Context(), r.Keys.Snapshots, 0).Err(); err != nil {
			t.Fatal(err)
		}
		rep, err := FinalReport(t.Context(), r, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Audit.Check(); err != nil {
			t.Error(err)
		}
		if !rep.Complete || rep.Audit.Sent != m.owned() || rep.Asked != 200 || rep.StatusCodes["200"] != m.owned() || len(rep.Series) == 0 {
			t.Errorf("%+v", rep)
		}
	})
}

func TestKeysShareOneTag(t *testing.T) {
	keys := run.KeysOf("a.b-c")
	seen := map[string]bool{}
	for _, key := range append(keys.Make(), keys.Control, keys.Removed, keys.Judge, keys.Keeper) {
		if !strings.HasPrefix(key, "{load:a.b-c}:") || strings.Count(key, "{") != 1 || seen[key] {
			t.Errorf("key %s", key)
		}
		seen[key] = true
	}
	if all := reflect.TypeFor[run.Keys]().NumField(); len(seen) != all {
		t.Errorf("%d keys of %d are looked at", len(seen), all)
	}
}

// TestStreamOfALargeFleet: the stream keeps three snapshots of each member for watchers, and 1,000 of a small fleet.
func TestStreamOfALargeFleet(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		seq := uint64(0)
		kept := func(members, want int64) {
			t.Helper()
			for i := range members {
				b.client.ZAdd(t.Context(), r.Keys.Due, redis.Z{Score: 9e15, Member: fmt.Sprint("w", i)})
			}
			for range want + 200 {
				seq++
				b.publish(r, seq, nil)
			}
			if n := b.client.XLen(t.Context(), r.Keys.Snapshots).Val(); n < want || n > want+150 {
				t.Errorf("%d entries of %d members", n, members)
			}
		}
		kept(1, 1000)
		kept(500, 1500)
	})
}

// TestJudgingALargeFleet: the judge waits for workers that publish every 5 s.
func TestJudgingALargeFleet(t *testing.T) {
	for members, want := range map[int64]int64{1: 3, 2000: 3, 2001: 4, 10_000: 7} {
		if got := latest(&run.State{Members: members}); got != want {
			t.Errorf("of %d members a second is judged after %d s", members, got)
		}
	}
}

// TestPublishLists: when a worker first publishes, a run that is missing in the list is added, unless it was removed.
func TestPublishLists(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(10), run.Options{})
		b.member(r, "w").start()
		listed := func() bool { return b.client.ZScore(t.Context(), "load:runs", "x").Err() == nil }
		publish := func(incarnation string) error {
			first := record.NewSnapshot("w", incarnation)
			first.Seq = 1
			return NewJournal(r, "w", incarnation).Publish(t.Context(), first, first, nil)
		}
		b.client.Del(t.Context(), "load:runs")
		if err := publish("incw"); err != nil || !listed() {
			t.Errorf("%v, listed %v", err, listed())
		}
		if err := run.Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		if err := publish("again"); !errors.Is(err, run.ErrNoRun) || listed() {
			t.Errorf("removed: %v, listed %v", err, listed())
		}
	})
}
