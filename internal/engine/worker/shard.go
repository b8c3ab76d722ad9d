package worker

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/program"
)

// mode is whether and how a shard is to end. It only grows.
type mode int32

const (
	running  mode = iota
	draining      // send what is held, wait for what is on the wire, end
	stopping      // drop what is not sent, wait for what is on the wire, end
)

// forever is a time that no clock reaches.
const forever = math.MaxInt64

// limits are the bounds of a shard.
type limits struct {
	maxInFlight  int   // slots waiting and requests on the wire together
	maxLag       int64 // L: how long after its due time a slot may still wait for a connection, ns
	catchUp      int64 // how late a slot may be when the shard first sees it, ns
	drainTimeout int64 // how long the last requests may take, ns
	resolution   int64 // how long to wait at least for slots that are not due yet, ns
}

// minRest is the shortest resolution at which answers do not make a shard look for due slots. Answers come one by
// one, and each look that sends a little causes more answers. A shorter rest costs more than it saves, because its
// end is one more wake-up.
const minRest = int64(250_000) // ns

// A shard sends its part of what its worker holds, on time. It has its own client, queue and recorder. So a turn
// takes no lock (but for new grants), allocates nothing and shares nothing with other shards. Each slot that it comes
// to is always in one of these, and moves to the right exactly once:
//
//	waiting + sent + late_dropped + recalled
//
// Only the goroutine of run uses it, unless a method says otherwise.
type shard struct {
	part, parts int
	clock       *pacer.Clock
	client      Client
	limits      limits
	closed      bool    // a shard of a closed loop: it has no slots
	unique      bool    // it sends no ordinal twice
	rest        resting // of a closed loop, after connections that could not be opened
	seats       *seats  // of a closed loop with a concurrency; else nil

	mode     atomic.Int32
	handover handover

	holding  holding
	granted  *granted // of a run with a limiter; nil = it walks its slots itself
	pace     pace
	waiting  waiting
	recorder *record.Recorder
	observer *observer       // nil = no evidence is kept
	goals    [][]events.Goal // by step; nil = there are none
	mix      *targets.Mix    // nil = a workload of one request
	walks    *walks          // nil = no flow has several steps
	log      RequestLog      // nil = nobody hears of single requests
	inFlight int
	request  uint64               // of a closed loop: how many requests were sent
	longest  int64                // time that an answer in pieces took, ns
	giveUp   int64                // when the last requests are abandoned, 0 = there may be more
	done     func(targets.Result) // s.completed or s.answered, made once, as a method value allocates

	halted  bool
	stopped chan struct{} // closed when nothing more will be sent
	exited  chan struct{} // closed when run has returned
	failure error         // why run returned; read it after exited

	next   int64 // when the next slot may leave, as of the last look for due slots
	rested int64 // no such look before this

	tardy int64 // lateness above which a slot counts as seen late, ns
	// Why the last Send was refused: as many connections as allowed are being opened, and not: all are busy. nil = the client
	// does not say.
	opening  func() bool
	connects bool // requests use connections; also if the client does not say
	opens    bool // the client refused the waiting slots because connections are being opened
}

func newShard(part, parts int, clock *pacer.Clock, client Client, f *feed, l limits) *shard {
	s := &shard{
		part: part, parts: parts, clock: clock, client: client, limits: l,
		holding:  holding{feed: f, slots: lease.NewSlots(part, parts)},
		handover: newHandover(),
		waiting:  newWaiting(l.maxInFlight),
		recorder: record.NewRecorder(),
		tardy:    min(grace+l.resolution, l.catchUp),
		stopped:  make(chan struct{}),
		exited:   make(chan struct{}),
	}
	s.done = s.completed
	c, says := client.(interface{ Connects() bool })
	s.connects = !says || c.Connects()
	if c, ok := client.(interface{ Opening() bool }); ok {
		s.opening = c.Opening
	}
	return s
}

// sendOnce makes the shard send no ordinal twice. Call it before run.
func (s *shard) sendOnce() {
	s.unique = true
	s.holding.slots.Unique()
}

// setMode sets the mode, unless a later one was set. The shard sees earlier grants before the mode. Any goroutine may
// call it.
func (s *shard) setMode(m mode) {
	for old := s.mode.Load(); old < int32(m) && !s.mode.CompareAndSwap(old, int32(m)); {
		old = s.mode.Load()
	}
	s.client.Wake()
}

// run sends until its mode says that it ends, and it is done. It returns an error if the client failed.
func (s *shard) run() error {
	defer close(s.exited)
	defer s.halt()
	for {
		until, over := s.turn(s.client.Now())
		if over {
			break
		}
		if err := s.client.Poll(until, s.done); err != nil {
			_ = s.client.Close() // the first error says more
			s.failure = fmt.Errorf("poll client of shard %d: %w", s.part, err)
			return s.failure
		}
	}
	s.abandon()
	if err := s.client.Close(); err != nil {
		s.failure = fmt.Errorf("close client of shard %d: %w", s.part, err)
	}
	return s.failure
}

// abandon ends what is on the wire when the shard waits for it no longer. Those requests have failed.
func (s *shard) abandon() {
	if c, can := s.client.(interface {
		Abandon(done func(targets.Result))
	}); can && s.inFlight > 0 {
		c.Abandon(s.done)
	}
}

// patience is how long the shard waits for its last answers, ns. Each answer in pieces may take long, as only each of its events
// has a timeout. So one may take twice as long as any did.
func (s *shard) patience() int64 { return max(s.limits.drainTimeout, 2*s.longest) }

// turn does everything due at now. It returns when the next turn is due, and whether the shard is done.
func (s *shard) turn(now int64) (until int64, over bool) {
	s.recorder = s.handover.exchange(s.recorder)
	m := mode(s.mode.Load()) // before the mail: grants made before the mode was set are in it
	if s.granted != nil {
		s.accept()
	} else {
		s.adopt(now)
	}
	if m == stopping || s.closed && m == draining { // a worker that leaves a closed loop has nothing left to send
		s.halt()
	}
	if s.closed && m == running {
		return s.sendClosed(now), false
	}
	if now >= s.rested {
		s.next = max(s.release(now), now+s.limits.resolution)
		if s.limits.resolution >= minRest {
			s.rested = now + s.limits.resolution
		}
	}
	until = s.next
	if s.walks != nil && !s.walks.each {
		until = min(until, s.follow(now)) // before new flows: a flow on its way has waited longer
	}
	s.send(now)
	if s.waiting.n > 0 {
		return min(until, s.waiting.first().local+s.limits.maxLag+1), false
	}
	if m == running || !s.empty() {
		return until, false
	}
	if end := s.finishWalks(now); end > now {
		return min(until, end), false
	}
	// Only what is on the wire is left.
	if s.giveUp == 0 {
		s.giveUp = now + s.patience()
	}
	return s.giveUp, s.inFlight == 0 || now >= s.giveUp
}

// release moves due slots from held to waiting. It returns when the next one may leave.
func (s *shard) release(now int64) int64 {
	var x pacer.Slot
	for ; s.first(&x); s.pop() {
		local := s.clock.Local(x.Due)
		if s.granted != nil && s.withdrawn(&x, local-now) {
			continue
		}
		fate := lease.FateOf(now, local, s.limits.catchUp)
		switch {
		case fate == lease.Early:
			return s.pace.at(local)
		case s.again(&x):
			continue
		case fate == lease.Late:
			s.dropLate(&x)
			s.countLate(now, local)
			continue
		}
		switch {
		case s.pace.at(local) > now:
			return s.pace.at(local)
		case s.waiting.n+s.inFlight >= s.limits.maxInFlight || s.walks != nil && s.walks.full(now):
			s.dropLate(&x)
			s.noRoom()
		default:
			s.countLate(now, local)
			s.pace.leave(now, local)
			s.waiting.push(slot{x, local})
		}
	}
	return forever
}

// withdrawn counts a granted slot that is not to be sent, and reports whether it is one. Either nobody asks for it any
// more, or the clock was stepped and it is due much later.
func (s *shard) withdrawn(x *pacer.Slot, ahead int64) bool {
	switch {
	case s.holding.recalled(x):
		s.recorder.Recalled(1)
	case ahead > maxGrantLead:
		s.dropLate(x)
	default:
		return false
	}
	return true
}

// countLate counts a slot that the shard comes to late. What happens to it later is not caused by the shard.
func (s *shard) countLate(now, local int64) {
	if now-local > s.tardy {
		s.recorder.SeenLate(1)
	}
}

// first sets x to the shard's slot that is due first. It returns false if there is none.
func (s *shard) first(x *pacer.Slot) bool {
	switch {
	case s.halted, s.closed:
		return false
	case s.granted == nil:
		return s.holding.slots.Next(x)
	case s.granted.line.len() == 0:
		return false
	}
	*x = *s.granted.line.at(0)
	return true
}

// empty reports whether no slot is left to send, as far as is known.
func (s *shard) empty() bool { return !s.first(new(pacer.Slot)) }

// pop removes the slot that first found.
func (s *shard) pop() {
	if s.granted == nil {
		s.holding.slots.Pop()
		return
	}
	s.granted.line.pop()
}

// send sends what waits, first in first out, while there are connections. A slot that waited for a connection is not
// paced: the endpoint made it late, and its latency shows it.
func (s *shard) send(now int64) {
	for s.waiting.n > 0 {
		first := s.waiting.first()
		switch {
		case s.holding.recalled(&first.Slot):
			s.recall(&first.Slot)
		case now-first.local > s.limits.maxLag:
			s.dropLate(&first.Slot)
		default:
			if !s.use(now, first) {
				s.refused(s.waiting.refuse())
				return
			}
			s.recorder.Sent()
			s.inFlight++
		}
		s.waiting.pop()
	}
}

// completed records the end of a request.
func (s *shard) completed(r targets.Result) {
	s.inFlight--
	if r.Connection > 0 { // clients of all shards count from 1
		r.Connection = (r.Connection-1)*int64(s.parts) + int64(s.part) + 1
	}
	var next program.Turn
	if s.walks != nil {
		next = s.decide(&r)
	}
	f := record.Finished{
		Due: r.Due, Sent: r.Sent, Done: r.Done,
		Status: r.Outcome.Status, Class: r.Outcome.Class,
		BytesIn: r.Outcome.BytesIn, BytesOut: r.Outcome.BytesOut, Messages: r.Outcome.Messages,
		Step: r.Call.Step, First: r.First, Reused: r.Reused,
	}
	s.judge(&f, &r)
	if r.Events != nil {
		s.longest = max(s.longest, r.Done-r.Sent)
	}
	s.recorder.Done(f)
	if s.observer != nil {
		s.observer.keep(&r)
	}
	if s.log != nil {
		s.log.Add(s.part, r)
	}
	if s.walks != nil {
		s.walkOn(&r, next)
	}
}

// halt counts all that waits: as recalled if it is, else as dropped late. After a stop all of it is recalled. It says
// that nothing more will be sent.
func (s *shard) halt() {
	for ; s.waiting.n > 0; s.waiting.pop() {
		s.discard(&s.waiting.first().Slot)
	}
	if s.walks != nil {
		s.abandonWalks()
	}
	if !s.halted {
		s.holding.reach(s.clock.Redis(s.client.Now()))
		s.halted = true
		close(s.stopped)
	}
}

func (s *shard) discard(x *pacer.Slot) {
	if s.holding.recalled(x) {
		s.recall(x)
		return
	}
	s.dropLate(x)
}

// dropLate counts a slot that is too late to send.
func (s *shard) dropLate(x *pacer.Slot) {
	s.recorder.LateDropped(1)
	s.recorder.StepLate(s.step(uint64(x.Ordinal)))
	if s.unique && s.granted == nil {
		s.holding.slots.Dropped(x)
	}
}
