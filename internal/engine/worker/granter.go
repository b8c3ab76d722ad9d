package worker

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Grants asks the limiter of a run. A call that fails may have been granted slots; they are lost.
type Grants interface {
	// Grant asks for permission to send n slots of a law with this rate. With n = 0 it only asks whether there is an
	// answer.
	Grant(ctx context.Context, n int64, rate pacer.Rate) (lease.Grant, error)
}

// The times of a granter, µs of the Redis clock.
const (
	askAhead = 250_000 // how long before it is due a slot is asked for,
	// Plus up to this for the time of a call. The sum is less than releaseLead − minLead (pacer/lease).
	askTrip      = 100_000
	askMinGap    = 5_000   // between two calls, at least
	askMaxGap    = 90_000  // between two calls, at most, while there are slots to ask for
	aloneLead    = 20_000  // how long before it is due a shard gets a slot without a grant
	drainTime    = 250_000 // after the last slot; then what is left is dropped
	unknownBurst = 500_000 // how much is made up for until the limiter has reported its burst
)

// Bounds of the calls of a granter.
const (
	awayAfter  = int64(500 * time.Millisecond) // without an answer for this long Redis counts as away, ns
	askTimeout = 3 * time.Second
	// Calls at a time while Redis is away, so that no call waits for the end of another.
	maxCalls        = 5
	maxSlotsPerCall = 1 << 16                       // slots in a call
	maxLine         = 1 << 20                       // slots that wait for a grant
	askJitter       = int64(200 * time.Microsecond) // random part of the time between two calls, ns
	firstRetry      = int64(250 * time.Millisecond)
	maxRetry        = int64(time.Second)
)

// A granter asks the run's limiter for permission to send the worker's slots, and gives granted slots to the shards.
// Only the granter walks the slots, so it is the lease.Sink for all shards. A refused slot stays first in line until
// it is granted, or is too old to be made up for. While Redis is away the granter lets slots pass as they fall due,
// unless the terms are Strict: they are the worker's own share of the rate.
//
// Each slot that it has walked is always in its line, granted, ungranted or recalled. Only the goroutine of run calls
// its methods, except start, wake, drain, quit and taken.
type granter struct {
	grants Grants
	terms  lease.Terms
	clock  *pacer.Clock
	feed   *feed
	shards []*shard
	log    *slog.Logger

	slots  *lease.Slots
	line   line
	walked int64      // all slots due before this are walked, and no others, µs
	last   int64      // when the last walked slot is due, µs
	out    []delivery // for each shard, not posted yet
	turn   int        // the shard that gets the next slot
	beyond int64      // the part of slots.Beyond that the shards know

	calling  int           // calls that have not come back
	calls    int           // made so far
	waits    bool          // neither the last of them has come back nor an earlier one with an answer
	answers  chan answerOf // has room for all of them
	next     int64         // when to ask again, ns of the local clock
	retry    int64         // time to the next call if there is no answer, ns
	silent   int64         // when the first call since the last answer was made, ns; 0 = all are answered
	away     bool          // Redis is away
	failure  error         // of the last call that has ended
	since    int64         // slots due before this are not made up for, µs
	burst    int64         // of the limiter; 0 = not known yet
	trip     int64         // mean time of a call, ns
	draining bool

	drained              sync.Once
	woken, drains, quits chan struct{}
	exited               chan struct{}
	version, reached     atomic.Int64
}

// answerOf is the result of a call.
type answerOf struct {
	call           int // 1, 2, …
	n              int64
	sent, received int64
	grant          lease.Grant
	err            error
}

// start begins to grant, until drain or quit.
func (g *granter) start() {
	g.prepare()
	go g.run()
}

func (g *granter) prepare() {
	g.slots = lease.NewSlots(0, 1)
	g.out = make([]delivery, len(g.shards))
	g.answers = make(chan answerOf, maxCalls)
	g.woken, g.drains, g.quits, g.exited = make(chan struct{}, 1), make(chan struct{}), make(chan struct{}), make(chan struct{})
	g.retry = firstRetry
}

// wake signals a new View.
func (g *granter) wake() {
	select {
	case g.woken <- struct{}{}:
	default: // it is signalled already
	}
}

// drain returns when nothing is left that can still be granted. No later View brings slots.
func (g *granter) drain() {
	g.drained.Do(func() { close(g.drains) })
	<-g.exited
}

// quit ends the granting at once.
func (g *granter) quit() {
	close(g.quits)
	<-g.exited
}

// taken implements lease.Sink.Taken. After quit the shards report how far the worker came.
func (g *granter) taken() (version int, reached int64) {
	return int(g.version.Load()), g.reached.Load()
}

func (g *granter) run() {
	defer close(g.exited)
	calls, cancel := context.WithCancel(context.Background())
	defer cancel()
	drains := g.drains
	for {
		local := g.clock.Now()
		wait, over := g.step(calls, local, g.clock.Redis(local)/1000)
		if over {
			return
		}
		select {
		case <-time.After(wait):
		case <-g.woken:
		case a := <-g.answers:
			g.handleAnswer(a)
		case <-drains:
			drains, g.draining = nil, true
		case <-g.quits:
			g.reached.Store(0) // the shards send no more slots
			return
		}
	}
}

// step does everything due at now. It returns when to look again, and whether the granter is done.
func (g *granter) step(calls context.Context, local, now int64) (wait time.Duration, over bool) {
	g.adopt(now)
	g.walk(now + g.ahead())
	if !g.away && g.silent > 0 && local-g.silent >= awayAfter {
		g.redisAway(now)
	}
	g.drop(now)
	if g.away && !g.terms.Strict {
		for g.line.len() > 0 && g.line.at(0).Due/1000 <= now+aloneLead {
			g.give(g.line.pop())
		}
	}
	if local >= g.next && g.mayAsk() {
		g.ask(calls, local)
	}
	g.flush()
	var x pacer.Slot
	more := g.slots.Next(&x)
	if g.draining && !more && g.line.len() == 0 {
		g.reached.Store(g.walked)
		return 0, true
	}
	return g.untilNext(local, now, more, x.Due/1000), false
}

// redisAway notes that Redis does not answer.
func (g *granter) redisAway(now int64) {
	g.away, g.since = true, now
	then := "sending this worker's share of the rate"
	if g.terms.Strict {
		then = "sending nothing"
	}
	g.log.Warn("the run's limiter does not answer; "+then+", and trying again", "err", g.failure)
}

// ahead returns how long before they are due slots are asked for, µs.
func (g *granter) ahead() int64 {
	if g.terms.Together {
		return 0
	}
	if g.trip == 0 { // not known yet
		return askAhead + askTrip
	}
	return askAhead + min(g.trip/1000, askTrip)
}

// untilNext returns how long to wait for the next step if nothing happens. more: a slot is not walked yet; due is its
// time.
func (g *granter) untilNext(local, now int64, more bool, due int64) time.Duration {
	next := int64(math.MaxInt64) // ns from now on
	at := func(us int64) { next = min(next, max(1, us-now)*1000) }
	if g.line.len() > 0 {
		if g.away && !g.terms.Strict {
			at(g.line.at(0).Due/1000 - aloneLead)
		}
		if g.draining {
			at(g.last + drainTime + 1)
		}
	}
	if more && g.line.len() == 0 {
		at(due - g.ahead() + 1)
	}
	if g.silent > 0 && !g.away {
		next = min(next, g.silent+awayAfter-local)
	}
	if g.mayAsk() {
		next = min(next, g.next-local)
	}
	return time.Duration(max(0, min(next, int64(time.Second))))
}

// adopt takes up the newest View. What is due by the View before is walked first.
func (g *granter) adopt(now int64) {
	v, before := g.feed.newest.Load(), g.slots.View()
	if v == nil || v.Version == before.Version {
		return
	}
	g.walk(now)
	if v.ClockEpoch == before.ClockEpoch {
		g.slots.Learn(v)
		g.walk(now)
	}
	g.slots.Take(v)
	if v.ClockEpoch != before.ClockEpoch { // times of the clock before mean nothing now
		g.walked, g.since, g.last = now, 0, 0
		g.reached.Store(0)
	}
	recalled := g.line.filter(func(x *pacer.Slot) bool { return !v.Laws.Recalled(position(x)) })
	g.out[0].recalled += recalled
	g.reached.Store(max(g.reached.Load(), g.walked))
	g.version.Store(int64(v.Version))
	g.feed.taken()
}

// walk puts slots that are due before a time in the line.
func (g *granter) walk(until int64) {
	var x pacer.Slot
	for g.slots.Next(&x) && x.Due/1000 < until {
		g.slots.Pop()
		g.line.push(x)
		g.last = max(g.last, x.Due/1000)
		if g.line.len() > maxLine {
			g.line.pop()
			g.out[0].ungranted++
		}
	}
	g.walked = max(g.walked, until)
}

// drop removes slots that must not be granted any more from the head of the line.
func (g *granter) drop(now int64) {
	for g.line.len() > 0 && g.stale(g.line.at(0), now) {
		g.line.pop()
		g.out[0].ungranted++
	}
}

// stale reports whether a slot is past, and the limiter would not have let it pass at once with all later ones.
// Nothing is made up for after a change of the rate or a pause. After the planned end there is a short time to ask
// once more.
func (g *granter) stale(x *pacer.Slot, now int64) bool {
	v, law := g.slots.View(), g.law(x)
	if law == nil || law.ClockEpoch != v.ClockEpoch {
		return true
	}
	due := x.Due / 1000
	if due >= now {
		return false
	}
	switch in := &v.Laws.All()[v.Laws.At(now)]; {
	case g.terms.Even, due < g.since, now-due > g.savedFor(law):
		return true
	case g.draining && now > g.last+drainTime:
		return true
	default:
		return in.ID != law.ID && due < in.T0 && in.Phase != lease.Ended
	}
}

// savedFor returns for how long the limiter saves up what it has not granted, µs: its burst at the rate of a law.
func (g *granter) savedFor(l *lease.Law) int64 {
	if g.burst == 0 || l.R0 == 0 {
		return unknownBurst
	}
	return int64(min(float64(g.burst)*float64(l.Den)/float64(l.R0)*1e6, math.MaxInt64/4))
}

// head returns the law of the first slot in the line; nil if there is none.
func (g *granter) head() *lease.Law {
	if g.line.len() == 0 {
		return nil
	}
	return g.law(g.line.at(0))
}

// law returns the law of a slot; nil if it is not known any more.
func (g *granter) law(x *pacer.Slot) *lease.Law {
	laws := g.slots.View().Laws
	if i, known := laws.Index(x.Law); known {
		return &laws.All()[i]
	}
	return nil
}

// mayAsk reports whether a call may be made when its time has come.
func (g *granter) mayAsk() bool {
	return g.calling < maxCalls && (g.away || !g.waits && g.line.len() > 0)
}

// ask makes a call for the first slots in the line that have one law. While Redis is away it asks for none: if the
// answer comes too late, a grant is lost.
func (g *granter) ask(ctx context.Context, local int64) {
	g.calls++
	a, rate := answerOf{call: g.calls, sent: local}, pacer.PerSecond(1)
	if l := g.head(); l != nil && !g.away {
		rate = pacer.Rate{Num: l.R0, Den: l.Den}
		for a.n < min(int64(g.line.len()), maxSlotsPerCall) && g.line.at(int(a.n)).Law == l.ID {
			a.n++
		}
	}
	if g.silent == 0 {
		g.silent = local
	}
	g.calling, g.waits = g.calling+1, true
	g.next = local + g.retry // an answer changes it
	if g.away {
		g.retry = min(2*g.retry, maxRetry)
	}
	go func() {
		limit, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		a.grant, a.err = g.grants.Grant(limit, a.n, rate)
		a.received = g.clock.Now()
		g.answers <- a
	}()
}

// handleAnswer handles the end of a call. A grant is for the slots that are first in the line now. If such a slot was
// past at the time of the grant, it is due when the answer usually comes. So a slower answer makes it late.
func (g *granter) handleAnswer(a answerOf) {
	g.calling--
	g.waits, g.failure = g.waits && a.err != nil && a.call != g.calls, a.err
	if a.err != nil {
		return // the call is made again, and after a while Redis counts as away
	}
	now := g.clock.Redis(a.received) / 1000
	if g.away {
		g.away, g.since = false, now
		g.log.Info("the run's limiter answers again")
	}
	g.silent, g.retry = 0, firstRetry
	if a.n > 0 {
		g.burst = a.grant.Burst
	}
	// A longer call was an outage, and says nothing about the distance.
	if trip := a.received - a.sent; trip < awayAfter {
		if g.trip == 0 {
			g.trip = trip
		}
		g.trip += (trip - g.trip) / 8
	}
	g.adopt(now)
	g.drop(now)
	usual := a.grant.Now*1000 + 2*g.trip
	for n := a.grant.N; n > 0 && g.line.len() > 0; n-- {
		x := g.line.pop()
		if x.Due < a.grant.Now*1000 {
			x.Due = usual
		}
		g.give(x)
	}
	at := g.clock.Local((a.grant.Now + g.pause(a.grant, now)) * 1000)
	// Random: a worker that always comes second would get nothing when grants are short.
	g.next = max(at, a.sent+askMinGap*1000) + rand.Int64N(askJitter)
}

// pause returns when to call again, µs. That is often enough that the limiter never has more than its burst to grant.
// After a refusal it is when the limiter lets one more slot pass and one is due.
func (g *granter) pause(r lease.Grant, now int64) int64 {
	wait, l := int64(askMaxGap), g.head()
	if laws := g.slots.View().Laws; l == nil && g.terms.Together { // what falls due until then is asked for at once
		l = &laws.All()[laws.At(now)]
	}
	if l != nil {
		wait = min(wait, g.savedFor(l)/2)
	}
	if r.Retry > 0 && g.line.len() > 0 {
		wait = max(r.Retry, min(wait, g.line.at(0).Due/1000-now))
	}
	return min(wait, askMaxGap)
}

// give gives a slot to the shards in turn.
func (g *granter) give(x pacer.Slot) {
	g.out[g.turn].slots = append(g.out[g.turn].slots, x)
	g.turn = (g.turn + 1) % len(g.shards)
}

// flush hands deliveries to the shards.
func (g *granter) flush() {
	g.out[0].beyond, g.beyond = g.slots.Beyond()-g.beyond, g.slots.Beyond()
	for i, s := range g.shards {
		if d := &g.out[i]; !d.empty() {
			s.granted.post(*d)
			s.client.Wake()
			*d = delivery{slots: d.slots[:0]}
		}
	}
}

// countUnsent counts all slots that were due before reached, µs of the Redis clock, and were not sent. Slots due
// later go back to the server, granted or not. Call it when neither run nor a shard is running.
func (g *granter) countUnsent(reached int64) {
	for _, v := range []*lease.View{g.feed.newest.Load(), g.feed.refused.Load()} {
		if v != nil && v.Version > g.slots.Version() {
			g.slots.Take(v) // its laws may end before what is walked
		}
	}
	g.walk(reached)
	laws := g.slots.View().Laws
	end := laws.Pos(reached)
	first := g.shards[0].recorder
	first.Beyond(g.slots.Beyond() - g.beyond)
	g.beyond = g.slots.Beyond()
	empty := func(l *line) (due line) {
		first.Recalled(l.filter(func(x *pacer.Slot) bool { return !laws.Recalled(position(x)) }))
		l.filter(func(x *pacer.Slot) bool { return position(x).Less(end) })
		due, *l = *l, line{}
		return due
	}
	rest := empty(&g.line)
	first.Ungranted(g.out[0].ungranted + int64(rest.len())) // the line may have been too long
	for _, s := range g.shards {
		s.accept()
		due := empty(&s.granted.line)
		for i := range due.len() {
			s.dropLate(due.at(i))
		}
	}
}

// position returns the position of a slot.
func position(x *pacer.Slot) lease.Pos { return lease.Pos{Law: x.Law, K: x.Number} }
