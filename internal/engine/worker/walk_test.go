package worker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// walkBed is a shard of flows with a client in virtual time.
type walkBed struct {
	*shard
	client *walkClient
}

// walkClient answers each request after a time that answer chooses.
type walkClient struct {
	now    int64
	max    int
	flight []targets.Result // not yet answered
	sent   []targets.Result
	answer func(r *targets.Result) (after int64) // it may set the outcome
}

func (c *walkClient) Now() int64 { return c.now }
func (c *walkClient) Send(now, due int64, call targets.Call) bool {
	if len(c.flight) >= c.max {
		return false
	}
	r := targets.Result{Call: call, Due: due, Sent: now}
	r.Done = now + c.answer(&r)
	c.flight, c.sent = append(c.flight, r), append(c.sent, r)
	return true
}
func (c *walkClient) Poll(int64, func(targets.Result)) error { return nil }
func (c *walkClient) Wake()                                  {}
func (c *walkClient) Close() error                           { return nil }

const msec = int64(time.Millisecond)

// newWalkBed returns a shard without slots; a test starts its flows.
func newWalkBed(t *testing.T, flows []targets.Flow, connections int) *walkBed {
	t.Helper()
	spec := targets.Spec{Flows: flows}
	if err := wire.Validate(spec); err != nil {
		t.Fatal(err)
	}
	client := &walkClient{now: 1e9, max: connections, answer: func(*targets.Result) int64 { return 10 * msec }}
	s := newShard(0, 1, pacer.NewClock(), client, &feed{}, limits{maxInFlight: 10_000, maxLag: int64(time.Second), catchUp: int64(time.Second), drainTimeout: int64(time.Minute)})
	s.countSteps(spec.Mix())
	return &walkBed{s, client}
}

// start lets the slot k be due at now.
func (b *walkBed) start(k int64) {
	b.waiting.push(slot{pacer.Slot{Ordinal: k}, b.client.now})
	b.send(b.client.now)
}

// pass lets time pass in steps of 1 ms: answers come, and steps are sent.
func (b *walkBed) pass(d time.Duration) {
	for end := b.client.now + int64(d); b.client.now < end; {
		b.client.now += msec
		rest := b.client.flight[:0]
		var ended []targets.Result
		for _, r := range b.client.flight {
			if r.Done <= b.client.now {
				ended = append(ended, r)
			} else {
				rest = append(rest, r)
			}
		}
		b.client.flight = rest
		for _, r := range ended {
			b.completed(r)
		}
		if !b.walks.each {
			b.follow(b.client.now)
		}
	}
}

// steps returns what was recorded of each step.
func (b *walkBed) steps() map[string]*record.Step {
	s := record.NewSnapshot("w", "1")
	s.Record(b.recorder)
	return s.Steps
}

func pause100() *time.Duration { d := 100 * time.Millisecond; return &d }

// shopping is a flow of three steps: one at its slot, one 2 s later, and one 100 ms after the answer before.
func shopping() []targets.Flow {
	return []targets.Flow{{Name: "buy", Steps: []targets.Step{
		{Name: "login", URL: "http://a/"},
		{Name: "cart", URL: "http://a/", At: 2 * time.Second},
		{Name: "pay", URL: "http://a/", After: pause100()},
	}}}
}

// Each step is due when the flow says, and latency counts from there.
func TestWalk(t *testing.T) {
	b := newWalkBed(t, shopping(), 100)
	begin := b.client.now
	b.start(0)
	b.pass(3 * time.Second)
	want := []struct {
		step int
		due  int64
	}{{0, 0}, {1, 2000 * msec}, {2, 2000*msec + 10*msec + 100*msec}}
	for i, w := range want {
		r := b.client.sent[i]
		if r.Call.Step != w.step || r.Due-begin != w.due || r.Sent-r.Due > msec || r.Call.Number != 0 {
			t.Errorf("request %d: %+v, due %v after the slot", i, r, time.Duration(r.Due-begin))
		}
	}
	if len(b.client.sent) != 3 || b.walks.n > 0 {
		t.Errorf("%d requests, %d flows on their way", len(b.client.sent), b.walks.n)
	}
	for name, step := range b.steps() {
		if step.Sent != 1 || step.Completed != 1 || step.Ended != 0 || (step.Reached == 1) == (name == "login") {
			t.Errorf("%s: %+v", name, step)
		}
	}
}

// A late answer delays the next step; its latency counts from when it was due. A failed request ends the flow.
func TestWalkIsLateOrEnds(t *testing.T) {
	b := newWalkBed(t, shopping(), 100)
	b.client.answer = func(r *targets.Result) int64 {
		switch {
		case r.Call.Number == 0 && r.Call.Step == 0:
			return 3000 * msec
		case r.Call.Number == 1 && r.Call.Step == 1:
			r.Outcome.Class = "timeout"
		}
		return 10 * msec
	}
	b.start(0)
	b.start(1)
	b.pass(5 * time.Second)
	for _, r := range b.client.sent {
		if late := r.Sent - r.Due; r.Call.Number == 0 && r.Call.Step == 1 && (late < 1000*msec || late > 1001*msec) {
			t.Errorf("sent %v after it was due", time.Duration(late))
		}
	}
	got := b.steps()
	if p := got["pay"]; p.Reached != 2 || p.Sent != 1 || p.Ended != 1 {
		t.Errorf("pay: %+v", p)
	}
	if c := got["cart"]; c.Sent != 2 || c.Failed != 1 || c.Errors["timeout"] != 1 {
		t.Errorf("cart: %+v", c)
	}
}

// Whatever happens, each step accounts for all flows that reach it: sent, late, ended before, or on its way.
func TestWalksAddUp(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		flows := append(shopping(), targets.Flow{Name: "look", Weight: 3, Steps: []targets.Step{{Name: "list", URL: "http://a/"}}},
			targets.Flow{Name: "twice", Weight: 2, Steps: []targets.Step{{Name: "a", URL: "http://a/"}, {Name: "list", URL: "http://a/"}}})
		b := newWalkBed(t, flows, 3+rng.IntN(20))
		b.client.answer = func(r *targets.Result) int64 {
			if rng.IntN(10) == 0 {
				r.Outcome.Class = "eof"
			}
			return rng.Int64N(1500 * msec)
		}
		total := record.NewSnapshot("w", "1")
		for k := range int64(500) {
			b.start(k)
			b.pass(time.Duration(rng.IntN(5)) * time.Millisecond)
			if rng.IntN(50) == 0 {
				total.Record(b.recorder)
				b.recorder.Reset()
			}
		}
		b.pass(time.Duration(rng.IntN(4)) * time.Second)
		b.setMode(stopping)
		b.halt()
		b.pass(5 * time.Second)
		total.Record(b.recorder)
		if b.walks.n > 0 || b.walks.opened != 0 {
			t.Errorf("seed %d: %d flows left", seed, b.walks.n)
		}
		requests := int64(0)
		for name, s := range total.Steps {
			requests += s.Sent
			if s.Reached != s.Followed+s.FollowedLate+s.Ended || s.Sent != s.Completed+s.Failed {
				t.Errorf("seed %d: %s: %+v", seed, name, s)
			}
		}
		c := total.Counts
		if requests != int64(len(b.client.sent)) || c.Requests() != requests || total.InFlight() != 0 || c.Slots() != 500 {
			t.Errorf("seed %d: %d sent, %d by steps, %+v", seed, len(b.client.sent), requests, c)
		}
	}
}

// Steps that find no connection for longer than the maximum lag are dropped, however many they are. They count as late.
func TestWalksTooLate(t *testing.T) {
	b := newWalkBed(t, []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a/"}, {Name: "b", URL: "http://a/", At: 200 * time.Millisecond}}}}, 100_000)
	for k := range int64(100) {
		b.start(k)
		b.pass(time.Millisecond)
	}
	b.client.max = 0
	b.pass(20 * time.Second)
	b.client.max = 100_000
	at := len(b.client.sent)
	b.pass(10 * time.Second)
	for _, r := range b.client.sent[at:] {
		t.Errorf("step %d of flow %d was sent %v late", r.Call.Step, r.Call.Number, time.Duration(r.Sent-r.Due))
	}
	s := record.NewSnapshot("w", "1")
	s.Record(b.recorder)
	if got := s.Steps["b"]; got.FollowedLate != 100 || got.Reached != got.Followed+got.FollowedLate+got.Ended || s.Counts.FollowedLate != got.FollowedLate || b.walks.n != 0 {
		t.Errorf("%+v, %+v, %d on their way", got, s.Counts, b.walks.n)
	}
}

// At the end of a run, flows on their way go on for walkTime. Then no step begins, and requests on the wire are waited
// for as usual.
func TestWalksAtTheEnd(t *testing.T) {
	b := newWalkBed(t, []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a/"}, {Name: "b", URL: "http://a/", At: 25 * time.Second}, {Name: "c", URL: "http://a/", At: 40 * time.Second}}}}, 100)
	b.client.answer = func(r *targets.Result) int64 { return 500 * msec }
	b.start(0)
	b.setMode(draining)
	over, turns := false, 0
	for end := b.client.now + 2*int64(walkTime); !over && b.client.now < end; turns++ {
		_, over = b.turn(b.client.now)
		b.pass(10 * time.Millisecond)
	}
	b.halt()
	got := b.steps()
	if !over || got["b"].Completed != 1 || got["c"].Sent != 0 || got["c"].Ended != 1 || b.inFlight != 0 || b.walks.n != 0 {
		t.Errorf("over %v, b %+v, c %+v, %d in flight", over, got["b"], got["c"], b.inFlight)
	}
}

// What a stall of the endpoint let pile up leaves at no more than twice the pace at which the flows started.
func TestWalksAfterAStall(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			second := targets.Step{Name: "second", URL: "http://a/", At: 50 * time.Millisecond}
			if after {
				second = targets.Step{Name: "second", URL: "http://a/", After: pause100()}
			}
			b := newWalkBed(t, []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "first", URL: "http://a/"}, second}}}, 100_000)
			begin, back := b.client.now, b.client.now+2000*msec
			rng := rand.New(rand.NewPCG(1, 1))
			b.client.answer = func(r *targets.Result) int64 { return max(0, back-r.Sent) + rng.Int64N(5*msec) } // all answers come at once
			for k := range int64(3000) {                                                                        // 1,000 a second
				b.start(k)
				b.pass(time.Millisecond)
			}
			b.pass(10 * time.Second)
			perWindow := map[int64]int{}
			seconds := 0
			for _, r := range b.client.sent {
				if r.Call.Step == 1 {
					seconds++
					perWindow[(r.Sent-begin)/(100*msec)]++
				}
			}
			if seconds != 3000 {
				t.Errorf("%d second steps", seconds)
			}
			for window, n := range perWindow {
				if n > 2*100+40 { // 1,000 a second: 100 in each window
					t.Errorf("%d second steps in 100 ms, %d ms after the begin", n, window*100)
				}
			}
		})
	}
}
