package worker

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

// stepClient is a Client whose time and events are moved by the test.
type stepClient struct {
	now    int64
	busy   bool
	flight []Result
	sent   []Result
	keep   bool // remember sent
}

func (c *stepClient) Now() int64 { return c.now }

func (c *stepClient) Send(now, due int64, request uint64) bool {
	if c.busy {
		return false
	}
	r := Result{Request: request, Due: due, Sent: now}
	if c.keep {
		c.sent = append(c.sent, r)
	}
	c.flight = append(c.flight, r)
	return true
}

func (c *stepClient) Poll(_ int64, done func(Result)) error {
	for _, r := range c.flight {
		r.Done = c.now
		done(r)
	}
	c.flight = c.flight[:0]
	return nil
}

func (c *stepClient) Wake()        {}
func (c *stepClient) Close() error { return nil }

// finish ends n of the requests on the wire. They take hours, so that they are in no histogram and the test is quick.
func (c *stepClient) finish(n int, done func(Result)) {
	for _, r := range c.flight[:n] {
		r.Sent, r.Done = r.Due+int64(2*time.Hour), r.Due+int64(4*time.Hour)
		done(r)
	}
	c.flight = append(c.flight[:0], c.flight[n:]...)
}

func stepShard(c Client, part, parts int, notice *atomic.Pointer[pacer.Notice], l limits) *shard {
	return newShard(part, parts, pacer.NewClock(), c, notice, l)
}

func testLimits() limits {
	return limits{maxInFlight: 1000, maxLag: 1000 * ms, catchUp: 100 * ms, drainTimeout: 1000 * ms}
}

// law is a constant rate from t0 µs.
func law(id, t0, rate, f int64) pacer.Law {
	return pacer.Law{ID: id, T0: t0, R0: rate, R1: rate, Den: 1, K: pacer.Endless, F: f}
}

func slots(r pacer.Range, part, parts int) (n int64) {
	for c := r.Cursor(part, parts); c.Ok(); c.Next() {
		n++
	}
	return n
}

// counts is what the shard has recorded since the test began.
func counts(s *shard, sum *report.Snapshot) report.Counts {
	sum.Reset()
	sum.Record(s.recorder)
	return sum.Counts
}

// audit asserts the identity that every slot received is in exactly one place, and what must hold beside it.
func audit(t *testing.T, s *shard, given int64, sum *report.Snapshot) report.Counts {
	t.Helper()
	n := counts(s, sum)
	held := s.slots.Leased()
	var waiting int64 // those with a number: a permit's slots are not missed by anybody
	for i := range s.waiting.n {
		if !s.waiting.ring[(s.waiting.head+i)%len(s.waiting.ring)].Permit {
			waiting++
		}
	}
	if got := held + waiting + accounted(n); got != given {
		t.Fatalf("%d slots received, but held %d + waiting %d + %+v = %d", given, held, waiting, n, got)
	}
	if n.Sent != n.Completed+n.Failed+int64(s.inFlight) {
		t.Fatalf("sent %d, completed %d, in flight %d", n.Sent, n.Completed, s.inFlight)
	}
	if s.waiting.n+s.inFlight > s.limits.maxInFlight {
		t.Fatalf("waiting %d + in flight %d, at most %d", s.waiting.n, s.inFlight, s.limits.maxInFlight)
	}
	return n
}

// accounted is how many leased slots counts tell the fate of.
func accounted(n report.Counts) int64 {
	return n.Sent - n.PermitSent + n.LateDropped + n.Recalled + n.Yielded
}

// A shard under random ranges, recalls, permits, stalls, busy connections and endings. The audit adds up after every step,
// nothing is sent early, twice or recalled, and after the stop nothing at all.
func TestShardAccountsEverySlotOnce(t *testing.T) {
	var all report.Counts
	for seed := range uint64(100) {
		all = all.Plus(fuzzShard(t, rand.New(rand.NewPCG(seed, 7))))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if all.Sent == 0 || all.PermitSent == 0 || all.LateDropped == 0 || all.Recalled == 0 || all.Yielded == 0 {
		t.Errorf("something never happened: %+v", all)
	}
}

func fuzzShard(t *testing.T, r *rand.Rand) (n report.Counts) {
	client := &stepClient{now: 1000 * ms, keep: true}
	var notice atomic.Pointer[pacer.Notice]
	part, parts := 0, 1+r.IntN(3)
	part = r.IntN(parts)
	l := limits{maxInFlight: 1 + r.IntN(60), maxLag: int64(1+r.IntN(300)) * ms, catchUp: int64(20+r.IntN(100)) * ms, drainTimeout: 200 * ms}
	s := stepShard(client, part, parts, &notice, l)
	current := law(1, 1_000_000, int64(1+r.IntN(2000)), []int64{1, 8, 64}[r.IntN(3)])
	var next, given, seen int64
	var known pacer.Recalls
	var permits []pacer.Permit
	sum := report.NewSnapshot("w", "1")
	ending := running
	for step := range 400 {
		if ending == running && r.IntN(6) == 0 {
			x := pacer.Range{Law: current, First: next, N: 1 + r.Int64N(80), Yield: max(0, r.Int64N(2_000_000)-1_000_000)}
			next += x.N + r.Int64N(20)
			s.lease(x)
			given += slots(x, part, parts)
		}
		if ending == running && r.IntN(40) == 0 {
			cut := client.now/1000 + r.Int64N(100_000)
			known = known.Merge(pacer.Recalls{{ID: current.ID + 1, T0: cut, Prev: current.ID, Cut: current.Before(cut)}})
			notice.Store(&pacer.Notice{Recalls: known, Permits: permits})
			current = law(current.ID+1, cut, int64(1+r.IntN(2000)), current.F)
			next = 0
		}
		if r.IntN(30) == 0 {
			permits = nil
			if from := client.now/1000 + r.Int64N(100_000); r.IntN(3) > 0 {
				permits = append(permits, pacer.Permit{Law: law(0, 1_000_000, 1+r.Int64N(500), 1), From: from, Until: from + r.Int64N(200_000)})
			}
			notice.Store(&pacer.Notice{Recalls: known, Permits: permits})
		}
		if step > 300 && r.IntN(20) == 0 {
			ending = max(ending, mode(1+r.IntN(2)))
			s.tell(ending)
		}
		client.busy = r.IntN(3) == 0
		until, over := s.turn(client.now)
		n = audit(t, s, given, sum)
		for _, x := range client.sent[seen:] {
			if x.Due > client.now || client.now-x.Due > max(l.maxLag, l.catchUp) {
				t.Errorf("sent %d ns after it was due", client.now-x.Due)
			}
			if ending == stopping {
				t.Error("sent after the stop")
			}
		}
		seen = int64(len(client.sent))
		if seen != n.Sent {
			t.Errorf("the client was given %d requests, the recorder says %d", seen, n.Sent)
		}
		if over {
			return n
		}
		if until <= client.now {
			t.Errorf("the next turn would be %d ns ago: the shard would spin", client.now-until)
		}
		client.finish(r.IntN(len(client.flight)+1), s.done)
		client.now = min(until, client.now+r.Int64N(20*ms))
		if r.IntN(30) == 0 {
			client.now += r.Int64N(400 * ms)
		}
		if t.Failed() {
			return n
		}
	}
	s.tell(stopping)
	s.turn(client.now)
	n = audit(t, s, given, sum)
	if accounted(n) != given {
		t.Errorf("after the stop something is held")
	}
	return n
}

// A slot is sent once and the recalled ones are those the recall names.
func TestRecalled(t *testing.T) {
	client := &stepClient{now: 0, keep: true}
	var notice atomic.Pointer[pacer.Notice]
	s := stepShard(client, 0, 1, &notice, testLimits())
	s.lease(pacer.Range{Law: law(1, 1_000_000, 1000, 1), First: 0, N: 100}) // due from 1000 ms, every ms
	notice.Store(&pacer.Notice{Recalls: pacer.Recalls{{ID: 2, T0: 1_050_000, Prev: 1, Cut: 50}}})
	client.busy = true
	for client.now = 1000 * ms; client.now < 1045*ms; client.now += ms {
		s.turn(client.now)
	}
	notice.Store(&pacer.Notice{Recalls: pacer.Recalls{{ID: 2, T0: 1_050_000, Prev: 1, Cut: 50}, {ID: 3, T0: 1_040_000, Prev: 2, Cut: 0}}})
	client.busy = false
	for ; client.now < 1120*ms; client.now += ms {
		s.turn(client.now)
	}
	if n := audit(t, s, 100, report.NewSnapshot("w", "1")); n.Sent != 40 || n.Recalled != 60 {
		t.Errorf("sent %d, recalled %d; want 40, 60: what waits is recalled too", n.Sent, n.Recalled)
	}
	for i, x := range client.sent {
		if x.Due != (1000+int64(i))*ms {
			t.Errorf("request %d is due at %d", i, x.Due)
		}
	}
}

// A shard that is to wake up seldom fires what has become due meanwhile, and all of it.
func TestResolution(t *testing.T) {
	const rate, slots = 50_000, 5000
	for _, resolution := range []int64{0, ms / 10, ms} {
		client := &stepClient{keep: true}
		var notice atomic.Pointer[pacer.Notice]
		l := testLimits()
		l.maxInFlight, l.resolution = slots, resolution
		s := stepShard(client, 0, 1, &notice, l)
		s.lease(pacer.Range{Law: law(1, 0, rate, 8), First: 0, N: slots})
		turns, latest := int64(0), int64(0)
		for client.now < 100*ms+resolution {
			until, _ := s.turn(client.now)
			client.now = min(until, 100*ms+resolution)
			turns++
		}
		s.turn(client.now)
		for _, x := range client.sent {
			latest = max(latest, x.Sent-x.Due)
		}
		if most := 100*ms/max(resolution, 1_000_000_000/rate) + 2; len(client.sent) != slots || latest > resolution || turns > most {
			t.Errorf("at %d µs: %d sent, up to %d µs late, in %d turns; want %d, in at most %d", resolution/1000, len(client.sent), latest/1000, turns, slots, most)
		}
	}
}

// Answers wake a shard up, but what is due leaves at its own pace: each ms here, all that has become due. A lease and a recall are seen at once.
func TestResolutionWhileAnswersCome(t *testing.T) {
	const rate, slots, often = 50_000, 5000, ms / 50
	client := &stepClient{keep: true}
	var notice atomic.Pointer[pacer.Notice]
	l := testLimits()
	l.maxInFlight, l.resolution = 2*slots, ms
	s := stepShard(client, 0, 1, &notice, l)
	s.lease(pacer.Range{Law: law(1, 0, rate, 8), First: 0, N: slots})
	latest, instants := int64(0), map[int64]bool{}
	for ; client.now <= 101*ms; client.now += often {
		if until, _ := s.turn(client.now); until < client.now {
			t.Fatalf("at %d the next turn is due at %d", client.now, until)
		}
	}
	for _, x := range client.sent {
		latest, instants[x.Sent] = max(latest, x.Sent-x.Due), true
	}
	if len(client.sent) != slots || latest > ms || len(instants) > 102 {
		t.Errorf("%d sent at %d instants, up to %d µs late", len(client.sent), len(instants), latest/1000)
	}
	s.turn(client.now)
	s.lease(pacer.Range{Law: law(1, 0, rate, 8), First: slots, N: 1000})
	if s.turn(client.now + 1); len(client.sent) == slots {
		t.Error("slots that were due were leased, and none is sent")
	}
	notice.Store(&pacer.Notice{Recalls: pacer.Recalls{{ID: 2, T0: 0, Prev: 1, Cut: 0}}})
	if s.turn(client.now + 2); !s.slots.Empty() {
		t.Error("it still holds what was recalled")
	}
	s.lease(pacer.Range{Law: law(2, 2000, rate, 8), First: 0, N: 100}) // due long after
	s.turn(client.now + 3)
	s.tell(draining)
	notice.Store(&pacer.Notice{Recalls: pacer.Recalls{{ID: 3, T0: 0, Prev: 2, Cut: 0}}})
	if s.turn(client.now + 4); !s.slots.Empty() {
		t.Error("it leaves, and still holds what was recalled")
	}
}

// With all connections busy requests wait, in order, and their latency counts; beyond maxLag they are dropped.
func TestBusyConnections(t *testing.T) {
	client := &stepClient{busy: true, keep: true}
	var notice atomic.Pointer[pacer.Notice]
	s := stepShard(client, 0, 1, &notice, testLimits())
	s.lease(pacer.Range{Law: law(1, 0, 100, 1), First: 0, N: 200}) // every 10 ms for 2 s
	for ; client.now < 1500*ms; client.now += ms {
		s.turn(client.now)
	}
	client.busy = false
	s.turn(client.now)
	if n := len(client.sent); n != 101 || client.sent[0].Due != 500*ms {
		t.Errorf("%d requests leave at once when there are connections again, the first due at %d ms; want 101 and 500", n, client.sent[0].Due/ms)
	}
	n := audit(t, s, 200, report.NewSnapshot("w", "1"))
	if n.LateDropped != 50 {
		t.Errorf("%d dropped, want 50", n.LateDropped)
	}
}

// What waits and what is on the wire is bounded; the slot that finds no room is dropped, not an older one.
func TestMaxInFlight(t *testing.T) {
	client := &stepClient{busy: true, keep: true}
	var notice atomic.Pointer[pacer.Notice]
	l := testLimits()
	l.maxInFlight = 10
	s := stepShard(client, 0, 1, &notice, l)
	s.lease(pacer.Range{Law: law(1, 0, 1000, 1), First: 0, N: 50})
	for ; client.now < 49*ms; client.now += ms {
		s.turn(client.now)
	}
	client.busy = false
	s.turn(client.now)
	if n := audit(t, s, 50, report.NewSnapshot("w", "1")); n.Sent != 10 || n.LateDropped != 40 {
		t.Errorf("sent %d, dropped %d; want 10, 40", n.Sent, n.LateDropped)
	}
}

// The requests of all shards have different indices.
func TestRequestIndices(t *testing.T) {
	seen := map[uint64]bool{}
	for part := range 3 {
		client := &stepClient{keep: true}
		var notice atomic.Pointer[pacer.Notice]
		s := stepShard(client, part, 3, &notice, testLimits())
		s.lease(pacer.Range{Law: law(1, 0, 1000, 8), First: 0, N: 99})
		for ; client.now < 110*ms; client.now += ms {
			s.turn(client.now)
		}
		for i, x := range client.sent {
			if seen[x.Request] || i > 0 && x.Request <= client.sent[i-1].Request {
				t.Fatalf("shard %d: request %d again or out of order", part, x.Request)
			}
			seen[x.Request] = true
		}
	}
	if len(seen) != 99 {
		t.Errorf("%d requests, want 99", len(seen))
	}
}

// The hot path allocates nothing: slots, sends, results, new ranges and the exchange of recorders.
func TestTurnAllocatesNothing(t *testing.T) {
	client := &stepClient{now: 1000 * ms}
	var notice atomic.Pointer[pacer.Notice]
	notice.Store(&pacer.Notice{Recalls: pacer.Recalls{{ID: 1, T0: 1, Prev: 0, Cut: 0}}})
	s := stepShard(client, 0, 2, &notice, testLimits())
	l := law(5, 1_000_000, 100_000, 512)
	var next int64
	turns := func() {
		s.lease(pacer.Range{Law: l, First: next, N: 512})
		next += 512
		for range 512 {
			client.now += 10_000
			until, _ := s.turn(client.now)
			if err := client.Poll(until, s.done); err != nil {
				t.Fatal(err)
			}
		}
		s.handover.offer.Store(s.handover.spare)
		s.turn(client.now)
		s.handover.spare = <-s.handover.full
	}
	for range 10 {
		turns() // slices reach their size
	}
	if n := testing.AllocsPerRun(20, turns); n != 0 {
		t.Errorf("%v allocations in 512 turns", n)
	}
	if n := counts(s, report.NewSnapshot("w", "1")); n.LateDropped+n.Recalled > 0 {
		t.Errorf("late %d, recalled %d", n.LateDropped, n.Recalled)
	}
}

func BenchmarkTurn(b *testing.B) {
	client := &stepClient{now: 1000 * ms}
	var notice atomic.Pointer[pacer.Notice]
	s := stepShard(client, 0, 1, &notice, testLimits())
	l := law(5, 1_000_000, 100_000, 512)
	var next int64
	for i := 0; b.Loop(); i++ {
		if i%512 == 0 {
			s.lease(pacer.Range{Law: l, First: next, N: 512})
			next += 512
		}
		client.now += 10_000
		until, _ := s.turn(client.now)
		if err := client.Poll(until, s.done); err != nil {
			b.Fatal(err)
		}
	}
}

// What a slot costs for which there is no room, as most are of a rate far above what is reachable.
func BenchmarkDrop(b *testing.B) {
	client := &stepClient{now: 1000 * ms, busy: true}
	var notice atomic.Pointer[pacer.Notice]
	notice.Store(&pacer.Notice{
		Recalls: pacer.Recalls{{ID: 5, T0: 1}},
		Permits: []pacer.Permit{{Law: pacer.Law{R0: 400_000e6, R1: 400_000e6, Den: 1e6, K: pacer.Endless, F: 1}, From: 1 << 40, Until: 1 << 41}},
	})
	l := testLimits()
	l.maxInFlight = 0
	s := stepShard(client, 0, 1, &notice, l)
	run := law(5, 1_000_000, 400_000, 4096)
	var next int64
	for b.Loop() {
		s.slots.Lease(pacer.Range{Law: run, First: next, N: 4096})
		s.slots.Lease(pacer.Range{Law: run, First: next + 4096, N: 4096})
		next += 8192
		for range 200 {
			client.now += 102_400 // 41 slots
			s.turn(client.now)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(next), "ns/slot")
	s.handover.offer.Store(s.handover.spare)
	s.turn(client.now)
	total := report.NewSnapshot("w", "1")
	total.Record(<-s.handover.full)
	if n := total.Counts.LateDropped; n < next-8192 {
		b.Errorf("%d dropped of %d", n, next)
	}
}

// The publisher gets every sample exactly once, while the shard goes on and after its end.
func TestHandover(t *testing.T) {
	client := &stepClient{keep: true}
	var notice atomic.Pointer[pacer.Notice]
	s := stepShard(client, 0, 1, &notice, testLimits())
	total := report.NewSnapshot("w", "1")
	s.lease(pacer.Range{Law: law(1, 0, 1000, 1), First: 0, N: 100})
	collected := make(chan struct{})
	asked := func() {
		go func() {
			s.collect(total.Record)
			collected <- struct{}{}
		}()
		for s.handover.offer.Load() == nil {
			time.Sleep(time.Microsecond)
		}
	}
	for i := range 50 {
		if i%10 == 3 {
			asked()
		}
		s.turn(client.now)
		if i%10 == 3 {
			<-collected
		}
		if err := client.Poll(0, s.done); err != nil {
			t.Fatal(err)
		}
		client.now += ms
	}
	s.halt()
	close(s.exited)
	s.lease(pacer.Range{Law: law(1, 0, 1000, 1), First: 100, N: 10}) // too late for the shard
	s.collect(total.Record)
	s.collect(total.Record)
	if c := total.Counts; c.Sent != 50 || c.Completed != 50 || c.LateDropped != 60 {
		t.Errorf("%+v", c)
	}
}
