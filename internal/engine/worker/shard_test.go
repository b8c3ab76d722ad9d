package worker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// stepClient is a Client whose time and events the test controls.
type stepClient struct {
	now    int64
	busy   bool
	flight []targets.Result
	sent   []targets.Result
	keep   bool // record requests in sent
}

func (c *stepClient) Now() int64 { return c.now }

func (c *stepClient) Send(now, due int64, call targets.Call) bool {
	if c.busy {
		return false
	}
	r := targets.Result{Call: call, Due: due, Sent: now}
	if c.keep {
		c.sent = append(c.sent, r)
	}
	c.flight = append(c.flight, r)
	return true
}

func (c *stepClient) Poll(_ int64, done func(targets.Result)) error {
	for _, r := range c.flight {
		r.Done = c.now
		done(r)
	}
	c.flight = c.flight[:0]
	return nil
}

func (c *stepClient) Wake()        {}
func (c *stepClient) Close() error { return nil }

// finish ends n of the requests in flight. Their latency is hours: no histogram holds it, and so the test is quick.
func (c *stepClient) finish(n int, done func(targets.Result)) {
	for _, r := range c.flight[:n] {
		r.Sent, r.Done = r.Due+int64(2*time.Hour), r.Due+int64(4*time.Hour)
		done(r)
	}
	c.flight = append(c.flight[:0], c.flight[n:]...)
}

func stepShard(c Client, part, parts int, l limits) *shard {
	return newShard(part, parts, pacer.NewClock(), c, &feed{changed: make(chan struct{}, 1)}, l)
}

// see gives the shard a View, which it takes up at its next turn.
func (s *shard) see(v lease.View) {
	v.Version, v.ClockEpoch = 1, 1
	if before := s.holding.newest.Load(); before != nil {
		v.Version = before.Version + 1
	}
	s.holding.newest.Store(&v)
}

// given gives the worker all slots of these laws, and of the laws that it knows.
func (s *shard) given(laws ...lease.Law) {
	var known *lease.Laws
	if before := s.holding.newest.Load(); before != nil {
		known = before.Laws
	}
	s.see(lease.View{Laws: known.With(laws...), Held: lease.Ranges{{Lo: 0, Hi: circle.Units}}, P: pacer.Endless})
}

func testLimits() limits {
	return limits{maxInFlight: 1000, maxLag: 1000 * ms, catchUp: 100 * ms, drainTimeout: 1000 * ms}
}

// law is a law of k slots at a constant rate from t0, µs.
func law(id, t0, rate, k int64) lease.Law {
	return lease.Law{Law: pacer.Law{ID: id, T0: t0, R0: rate, R1: rate, Den: 1, K: k}, End: pacer.Endless, ClockEpoch: 1}
}

// after makes l the law that follows old, and cuts old after this many slots.
func (s *shard) after(old, l lease.Law, cut int64) lease.Law {
	l.Prev, l.Cut, l.Base = old.ID, cut, old.Base+cut
	return l
}

// counts returns what the shard has recorded since the test began.
func counts(s *shard, sum *record.Snapshot) record.Counts {
	sum.Reset()
	sum.Record(s.recorder)
	return sum.Counts
}

// audit asserts the bounds, and that each slot that the shard has passed is in exactly one count.
func audit(t *testing.T, s *shard, come int64, sum *record.Snapshot) record.Counts {
	t.Helper()
	n := bounded(t, s, sum)
	if got := int64(s.waiting.n) + n.Slots(); got != come {
		t.Fatalf("it has come to %d slots, but waiting %d + %+v = %d", come, s.waiting.n, n, got)
	}
	return n
}

// bounded asserts what must always hold.
func bounded(t *testing.T, s *shard, sum *record.Snapshot) record.Counts {
	t.Helper()
	n := counts(s, sum)
	if n.Sent != n.Completed+n.Failed+int64(s.inFlight) {
		t.Fatalf("sent %d, completed %d, in flight %d", n.Sent, n.Completed, s.inFlight)
	}
	if s.waiting.n+s.inFlight > s.limits.maxInFlight {
		t.Fatalf("waiting %d + in flight %d, at most %d", s.waiting.n, s.inFlight, s.limits.maxInFlight)
	}
	return n
}

// TestShardAccountsEverySlotOnce puts a shard under random changes of the rate, leases, stalls, busy connections and
// ends. No slot is sent early, twice, or after it was known to be recalled; if the run needs that, no ordinal is sent
// twice. Nothing is sent after the stop. At the end each of the worker's slots is counted once.
func TestShardAccountsEverySlotOnce(t *testing.T) {
	var all record.Counts
	for seed := range uint64(400) {
		f := newFuzz(t, rand.New(rand.NewPCG(seed, 7)))
		all = all.Plus(f.run())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if all.Sent == 0 || all.LateDropped == 0 || all.Recalled == 0 || all.Beyond == 0 || all.Deduplicated == 0 {
		t.Errorf("something never happened: %+v", all)
	}
}

// shardFuzz is a shard, with the View that the test has given it.
type shardFuzz struct {
	*testing.T
	*rand.Rand
	*shard
	client  *stepClient
	laws    []lease.Law
	held    lease.Ranges
	until   int64 // µs
	sent    int
	slots   map[[2]int64]bool
	ending  mode
	numbers map[uint64]bool
}

func newFuzz(t *testing.T, r *rand.Rand) *shardFuzz {
	f := &shardFuzz{T: t, Rand: r, client: &stepClient{now: 1000 * ms, keep: true}, until: 1_000_000, slots: map[[2]int64]bool{}, numbers: map[uint64]bool{}}
	parts := 1 + r.IntN(3)
	f.shard = stepShard(f.client, r.IntN(parts), parts, limits{
		maxInFlight: 1 + r.IntN(60), maxLag: int64(1+r.IntN(300)) * ms, catchUp: int64(20+r.IntN(100)) * ms, drainTimeout: 200 * ms,
		resolution: r.Int64N(2) * 5 * ms,
	})
	if r.IntN(2) == 0 {
		f.sendOnce()
	}
	lo := r.Int64N(circle.Units / 2)
	f.held = lease.Ranges{{Lo: lo, Hi: circle.Units - r.Int64N(circle.Units/4), From: lease.Pos{Law: 1}}}
	f.laws = []lease.Law{law(1, 1_000_000, int64(1+r.IntN(2000)), pacer.Endless)}
	f.give()
	return f
}

func (f *shardFuzz) give() {
	f.see(lease.View{Laws: (*lease.Laws)(nil).With(f.laws...), Held: f.held, P: f.until})
}

// change may give the shard a new View.
func (f *shardFuzz) change(step int) {
	now := f.client.now / 1000
	if f.ending == running && f.IntN(6) == 0 {
		f.until = max(f.until, now+f.Int64N(200_000))
		f.give()
	}
	if f.ending == running && f.IntN(40) == 0 {
		old := f.laws[len(f.laws)-1]
		cut := max(old.T0+1, now+f.Int64N(100_000)-20_000) // the shard receives some cuts late
		f.laws = append(f.laws, f.after(old, law(old.ID+1, cut, int64(1+f.IntN(2000)), pacer.Endless), old.Before(cut)))
		f.give()
	}
	if step > 300 && f.IntN(20) == 0 {
		f.ending = max(f.ending, mode(1+f.IntN(2)))
		f.setMode(f.ending)
	}
	f.client.busy = f.IntN(3) == 0
}

// look checks what was sent since the last look.
func (f *shardFuzz) look() {
	for _, x := range f.client.sent[f.sent:] {
		if x.Due > f.client.now || f.client.now-x.Due > max(f.limits.maxLag, f.limits.catchUp) {
			f.Errorf("sent %d ns after it was due", f.client.now-x.Due)
		}
		if f.ending == stopping {
			f.Error("sent after the stop")
		}
		slot := [2]int64{x.Due, int64(x.Call.Number)}
		if f.slots[slot] {
			f.Errorf("what is due at %d is sent twice", x.Due)
		}
		f.slots[slot] = true
		if f.unique && f.numbers[x.Call.Number] {
			f.Errorf("ordinal %d is sent twice", x.Call.Number)
		}
		f.numbers[x.Call.Number] = true
	}
	f.sent = len(f.client.sent)
}

func (f *shardFuzz) run() record.Counts {
	sum := record.NewSnapshot("w", "1")
	for step := range 400 {
		f.change(step)
		until, over := f.turn(f.client.now)
		if n := bounded(f.T, f.shard, sum); n.Sent != int64(len(f.client.sent)) {
			f.Errorf("the client was given %d requests, the recorder says %d", len(f.client.sent), n.Sent)
		}
		f.look()
		if over || f.Failed() {
			break
		}
		if until <= f.client.now {
			f.Errorf("the next turn would be %d ns ago: the shard would spin", f.client.now-until)
		}
		f.client.finish(f.IntN(len(f.client.flight)+1), f.done)
		f.client.now = min(until, f.client.now+f.Int64N(20*ms))
		if f.IntN(30) == 0 {
			f.client.now += f.Int64N(400 * ms)
		}
	}
	f.setMode(stopping)
	f.turn(f.client.now)
	reached := f.holding.reached.Load() + f.Int64N(5000) // another shard may have ended a little later
	f.countUnsent(reached)
	n := bounded(f.T, f.shard, sum)
	if want := f.owned(min(reached, f.until)); n.Slots()-n.Overrun() != want || n.Deduplicated > n.Beyond {
		f.Errorf("%d slots were its own, it accounts for %d of them and %d beyond: %+v", want, n.Slots()-n.Overrun(), n.Overrun(), n)
	}
	if n.Recalled > n.Overrun() {
		f.Errorf("%d recalled, %d beyond: a slot that was not sent has replaced another", n.Recalled, n.Overrun())
	}
	return n
}

// owned returns how many slots of the shard are asked for and due before a time, µs.
func (f *shardFuzz) owned(until int64) (n int64) {
	for i := range f.laws {
		end := f.laws[i].Before(until)
		if i+1 < len(f.laws) {
			end = min(end, f.laws[i+1].Cut)
		}
		for k := range end {
			q := f.laws[i].Base + k
			if at := circle.At(q); at >= f.held[0].Lo && at < f.held[0].Hi && circle.Shard(q, int64(f.parts)) == int64(f.part) {
				n++
			}
		}
	}
	return n
}

// TestRecalled: each slot is sent once. The recalled slots are those after the cut.
func TestRecalled(t *testing.T) {
	client := &stepClient{now: 0, keep: true}
	s := stepShard(client, 0, 1, testLimits())
	old := law(1, 1_000_000, 1000, 100) // due from 1000 ms, every ms
	s.given(old, s.after(old, law(2, 1_050_000, 0, 0), 50))
	client.busy = true
	for client.now = 1000 * ms; client.now < 1045*ms; client.now += ms {
		s.turn(client.now)
	}
	s.given(s.after(old, law(3, 1_040_000, 0, 0), 40))
	client.busy = false
	for ; client.now < 1120*ms; client.now += ms {
		s.turn(client.now)
	}
	if n := audit(t, s, 46, record.NewSnapshot("w", "1")); n.Sent != 40 || n.Recalled != 6 || n.Beyond != 6 {
		t.Errorf("sent %d, recalled %d, beyond %d; want 40, 6 and 6: what waits is recalled too", n.Sent, n.Recalled, n.Beyond)
	}
	for i, x := range client.sent {
		if x.Due != (1000+int64(i))*ms {
			t.Errorf("request %d is due at %d", i, x.Due)
		}
	}
}

// TestResolution: a shard that rarely wakes up sends all slots that have become due since.
func TestResolution(t *testing.T) {
	const rate, slots = 50_000, 5000
	for _, resolution := range []int64{0, ms / 10, ms} {
		client := &stepClient{keep: true}
		l := testLimits()
		l.maxInFlight, l.resolution = slots, resolution
		s := stepShard(client, 0, 1, l)
		s.given(law(1, 0, rate, slots))
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

// TestResolutionWhileAnswersCome: answers wake a shard up, but slots leave at its own pace. Each ms it sends all that
// has become due. It takes up new ranges and a recall at once.
func TestResolutionWhileAnswersCome(t *testing.T) {
	const rate, slots, often = 50_000, 5000, ms / 50
	client := &stepClient{keep: true}
	l := testLimits()
	l.maxInFlight, l.resolution = 2*slots, ms
	s := stepShard(client, 0, 1, l)
	s.given(law(1, 0, rate, slots))
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
	now := client.now / 1000
	first := law(1, 0, rate, slots)
	second := s.after(first, law(2, now-1000, rate, 1000), slots)
	s.given(second)
	if s.turn(client.now + 1); len(client.sent) == slots {
		t.Error("slots that were due were given, and none is sent")
	}
	third := s.after(second, law(3, now+2000, rate, 100), 60)
	if s.given(third); s.empty() {
		t.Fatal("nothing is left to be recalled")
	}
	s.given(s.after(second, law(4, now, 0, 0), 50))
	if s.turn(client.now + 2); !s.empty() {
		t.Error("it still holds what was recalled")
	}
}

// TestRecalledWhileLeaving: a worker that leaves learns at once which slots are recalled.
func TestRecalledWhileLeaving(t *testing.T) {
	client := &stepClient{now: 1000 * ms}
	l := testLimits()
	l.resolution = ms
	s := stepShard(client, 0, 1, l)
	far := law(1, 2_000_000, 1000, 100)
	s.given(far)
	s.setMode(draining)
	if _, over := s.turn(client.now); over || s.empty() {
		t.Error("it does not send what it has")
	}
	s.given(s.after(far, law(2, 1_500_000, 0, 0), 0))
	if _, over := s.turn(client.now + 1); !over {
		t.Error("it leaves, and still holds what was recalled")
	}
}

// abandoning is a stepClient that can abandon requests.
type abandoning struct{ stepClient }

func (c *abandoning) Abandon(done func(targets.Result)) {
	for _, r := range c.flight {
		r.Done, r.Outcome.Class = c.now, targets.ClassCanceled
		done(r)
	}
	c.flight = nil
}

// TestAnswersInPiecesAreAwaited asserts that a shard waits for its last answers twice as long as an answer in pieces took, and at
// least for its drain timeout, and that it counts those that it abandons as canceled.
func TestAnswersInPiecesAreAwaited(t *testing.T) {
	for _, c := range []struct{ took, patience int64 }{{0, 1000 * ms}, {400 * ms, 1000 * ms}, {7000 * ms, 14_000 * ms}} {
		client := &abandoning{stepClient{now: 1000 * ms, keep: true}}
		s := stepShard(client, 0, 1, testLimits())
		s.given(law(1, 1_000_000, 1000, 3))
		for len(client.sent) < 3 {
			s.turn(client.now)
			client.now += ms
		}
		r := client.flight[0]
		client.flight = client.flight[1:]
		if r.Done = r.Sent + c.took; c.took > 0 {
			r.Events = &events.Events{Count: 1, First: r.Done, Last: r.Done}
		}
		s.done(r)
		s.setMode(draining)
		if until, over := s.turn(client.now); over || until != client.now+c.patience {
			t.Errorf("after an answer of %d ms it waits for %d ms, over: %v", c.took/ms, (until-client.now)/ms, over)
		}
		if _, over := s.turn(client.now + c.patience); !over {
			t.Error("it waits on")
		}
		s.abandon()
		if n := audit(t, s, 3, record.NewSnapshot("w", "1")); n.Completed != 1 || n.Failed != 2 || s.inFlight != 0 {
			t.Errorf("%+v, %d in flight", n, s.inFlight)
		}
	}
}

// TestBusyConnections: when all connections are busy, requests wait in order, and their latency includes the wait.
// After maxLag they are dropped.
func TestBusyConnections(t *testing.T) {
	client := &stepClient{busy: true, keep: true}
	s := stepShard(client, 0, 1, testLimits())
	s.given(law(1, 0, 100, 200)) // every 10 ms for 2 s
	for ; client.now < 1500*ms; client.now += ms {
		s.turn(client.now)
	}
	client.busy = false
	s.turn(client.now)
	if n := len(client.sent); n != 101 || client.sent[0].Due != 500*ms {
		t.Errorf("%d requests leave at once when there are connections again, the first due at %d ms; want 101 and 500", n, client.sent[0].Due/ms)
	}
	n := audit(t, s, 151, record.NewSnapshot("w", "1"))
	if n.LateDropped != 50 {
		t.Errorf("%d dropped, want 50", n.LateDropped)
	}
}

// TestMaxInFlight: the sum of waiting slots and requests in flight is bounded. A slot that finds no room is dropped
// itself; no older slot is.
func TestMaxInFlight(t *testing.T) {
	client := &stepClient{busy: true, keep: true}
	l := testLimits()
	l.maxInFlight = 10
	s := stepShard(client, 0, 1, l)
	s.given(law(1, 0, 1000, 50))
	for ; client.now < 49*ms; client.now += ms {
		s.turn(client.now)
	}
	client.busy = false
	s.turn(client.now)
	if n := audit(t, s, 50, record.NewSnapshot("w", "1")); n.Sent != 10 || n.LateDropped != 40 {
		t.Errorf("sent %d, dropped %d; want 10, 40", n.Sent, n.LateDropped)
	}
}

// TestRequestIndices: no two requests have the same index, in all shards.
func TestRequestIndices(t *testing.T) {
	seen := map[uint64]bool{}
	for part := range 3 {
		client := &stepClient{keep: true}
		s := stepShard(client, part, 3, testLimits())
		s.given(law(1, 0, 1000, 99))
		for ; client.now < 110*ms; client.now += ms {
			s.turn(client.now)
		}
		for i, x := range client.sent {
			if seen[x.Call.Number] || i > 0 && x.Call.Number <= client.sent[i-1].Call.Number {
				t.Fatalf("shard %d: request %d again or out of order", part, x.Call.Number)
			}
			seen[x.Call.Number] = true
		}
	}
	if len(seen) != 99 {
		t.Errorf("%d requests, want 99", len(seen))
	}
}

// TestTurnAllocatesNothing: the hot path allocates nothing. It covers slots, sends, results and the exchange of
// recorders.
func TestTurnAllocatesNothing(t *testing.T) {
	client := &stepClient{now: 1000 * ms}
	s := stepShard(client, 0, 2, testLimits())
	s.given(law(5, 1_000_000, 100_000, pacer.Endless))
	turns := func() {
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
		turns() // lets slices grow to their final size
	}
	if n := testing.AllocsPerRun(20, turns); n != 0 {
		t.Errorf("%v allocations in 512 turns", n)
	}
	if n := counts(s, record.NewSnapshot("w", "1")); n.LateDropped+n.Recalled > 0 || n.Sent == 0 {
		t.Errorf("sent %d, late %d, recalled %d", n.Sent, n.LateDropped, n.Recalled)
	}
}

func BenchmarkTurn(b *testing.B) {
	client := &stepClient{now: 1000 * ms}
	s := stepShard(client, 0, 1, testLimits())
	s.given(law(5, 1_000_000, 100_000, pacer.Endless))
	for b.Loop() {
		client.now += 10_000
		until, _ := s.turn(client.now)
		if err := client.Poll(until, s.done); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDrop measures the cost of a slot without room. Far above the reachable rate most slots are of this kind.
func BenchmarkDrop(b *testing.B) {
	client := &stepClient{now: 1000 * ms, busy: true}
	l := testLimits()
	l.maxInFlight = 0
	s := stepShard(client, 0, 1, l)
	fast := law(5, 1_000_000, 400_000, pacer.Endless)
	s.given(fast)
	for b.Loop() {
		client.now += 102_400 // 41 slots
		s.turn(client.now)
	}
	slots := fast.Before(client.now / 1000)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(slots), "ns/slot")
	s.handover.offer.Store(s.handover.spare)
	s.turn(client.now)
	total := record.NewSnapshot("w", "1")
	total.Record(<-s.handover.full)
	if n := total.Counts.LateDropped; n < slots {
		b.Errorf("%d dropped of %d", n, slots)
	}
}

// TestHandover: the publisher gets every sample exactly once, while the shard goes on and after its end.
func TestHandover(t *testing.T) {
	client := &stepClient{keep: true}
	s := stepShard(client, 0, 1, testLimits())
	total := record.NewSnapshot("w", "1")
	s.given(law(1, 0, 1000, 100))
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
	s.countUnsent(60_000) // 10 are due before
	s.collect(total.Record)
	s.collect(total.Record)
	if c := total.Counts; c.Sent != 50 || c.Completed != 50 || c.LateDropped != 10 {
		t.Errorf("%+v", c)
	}
}

// TestNumbersOfAFrozenShard: a shard that stood still while the rate fell drops what was due by the old rate, before it
// receives the new one. The new rate asks for these numbers again, and nobody has sent them: so they are sent.
func TestNumbersOfAFrozenShard(t *testing.T) {
	client := &stepClient{keep: true}
	s := stepShard(client, 0, 1, testLimits())
	s.sendOnce()
	until := func(end int64) {
		for ; client.now < end; client.now += ms {
			s.turn(client.now)
		}
	}
	old := law(1, 0, 1000, 10_000)
	s.given(old)
	until(500 * ms)
	client.now = 3000 * ms
	s.turn(client.now)
	s.given(s.after(old, law(2, 1_000_000, 100, 10_000), 1000))
	until(5000 * ms)
	sent, after := map[uint64]int{}, 0
	for _, x := range client.sent {
		if sent[x.Call.Number]++; sent[x.Call.Number] > 1 {
			t.Errorf("number %d was sent twice", x.Call.Number)
		}
		if x.Due > 3000*ms {
			after++
		}
	}
	if after != 199 {
		t.Errorf("%d were sent in 2 s at 100/s", after)
	}
}
