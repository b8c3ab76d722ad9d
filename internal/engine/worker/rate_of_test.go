package worker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// eachSlotted returns a mix in which each request has a slot: flows of three, two and one step, with pauses and without.
func eachSlotted(t *testing.T) *targets.Mix {
	t.Helper()
	flows := append(shopping(),
		targets.Flow{Name: "look", Weight: 3, Steps: []targets.Step{{Name: "list", URL: "http://a/"}}},
		targets.Flow{Name: "twice", Weight: 2, Steps: []targets.Step{{Name: "a", URL: "http://a/"}, {Name: "b", URL: "http://a/", After: new(time.Duration)}}})
	return slotted(t, flows).Mix()
}

// slotted returns a spec of flows in which each request has a slot.
func slotted(t *testing.T, flows []targets.Flow) targets.Spec {
	t.Helper()
	s := targets.Spec{Flows: flows, RateOf: targets.RateOfRequests}
	if err := wire.Validate(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// newSlottedBed is newWalkBed with a slot for each request.
func newSlottedBed(t *testing.T, flows []targets.Flow, connections int) *walkBed {
	b := newWalkBed(t, flows, connections)
	b.countSteps(slotted(t, flows).Mix())
	return b
}

// due lets the slot k be due at now, after the answers that came in d.
func (b *walkBed) due(k int64, d time.Duration) {
	b.pass(d)
	b.start(k)
}

// TestSlotGoesToTheFlowThatIsReadyLongest: a slot is used by the step that is ready longest, and else begins a flow. Latency
// counts from the slot. The number of a flow is that of the slot that began it, and rows go by the count of flows.
func TestSlotGoesToTheFlowThatIsReadyLongest(t *testing.T) {
	b := newSlottedBed(t, []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a/"}, {Name: "b", URL: "http://a/", After: pause100()}}}}, 100)
	var got []string
	b.client.answer = func(r *targets.Result) int64 {
		got = append(got, fmt.Sprintf("%d/%d row %d", r.Call.Number, r.Call.Step, r.Call.Row()))
		if r.Due != r.Sent {
			t.Errorf("%+v: the slot was due at %d", r, r.Sent)
		}
		return []int64{0: 200, 1: 20, 5: 1}[r.Call.Number] * msec
	}
	for _, slot := range []struct {
		after time.Duration
		k     int64
	}{{0, 0}, {10 * time.Millisecond, 1}, {80 * time.Millisecond, 5}, {260 * time.Millisecond, 6}, {time.Millisecond, 7}, {time.Millisecond, 8}} {
		b.due(slot.k, slot.after)
	}
	// Flow 1 is ready at 130 ms, flow 5 at 191 ms, flow 0 at 300 ms.
	want := []string{"0/0 row 0", "1/0 row 1", "5/0 row 2", "1/1 row 1", "5/1 row 2", "0/1 row 0"}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if c := b.counts(); c.Sent != 6 || c.Followed != 0 {
		t.Errorf("%+v", c)
	}
}

// counts returns what was recorded.
func (b *walkBed) counts() record.Counts {
	s := record.NewSnapshot("w", "1")
	s.Record(b.recorder)
	return s.Counts
}

// TestFlowsKeepTheirSharesIfRequestsHaveSlots: of the flows that begin, each has the share of the mix, whichever slots these are.
func TestFlowsKeepTheirSharesIfRequestsHaveSlots(t *testing.T) {
	for _, latency := range []int64{0, 3 * msec, 57 * msec} {
		b := newWalkBed(t, shopping(), 1000)
		b.countSteps(eachSlotted(t))
		b.client.answer = func(*targets.Result) int64 { return latency }
		for k := range int64(9000) {
			b.due(k, time.Millisecond)
		}
		begun := map[string]int64{}
		for name, s := range b.steps() {
			begun[name] = s.Sent - s.Followed
		}
		all := begun["login"] + begun["list"] + begun["a"]
		for name, weight := range map[string]int64{"login": 1, "list": 3, "a": 2} {
			if d := begun[name]*6 - all*weight; d <= -6 || d >= 6 {
				t.Errorf("latency %v: %d flows begin with %s, of %d", time.Duration(latency), begun[name], name, all)
			}
		}
		if sent := len(b.client.sent); sent != 9000 || all == int64(sent) {
			t.Errorf("%d requests, %d flows", sent, all)
		}
	}
}

// TestFixedPausesMakeWaves: after a fixed pause all slots go to the flows that waited, and no flow begins. Where only answers take
// time, and vary, each step has its share of every second.
func TestFixedPausesMakeWaves(t *testing.T) {
	const rate, seconds = 1000, 12
	begins := func(flows []targets.Flow, answer func() int64) (perSecond [seconds]int) {
		b := newSlottedBed(t, flows, 100_000)
		b.client.answer = func(*targets.Result) int64 { return answer() }
		begin := b.client.now
		for k := range int64(rate * seconds) {
			b.start(k)
			b.pass(time.Second / rate)
		}
		for _, r := range b.client.sent {
			if r.Call.Step == 0 {
				perSecond[(r.Sent-begin)/int64(time.Second)]++
			}
		}
		return perSecond
	}
	rng := rand.New(rand.NewPCG(1, 1))
	waves := begins(shopping(), func() int64 { return 5*msec + rng.Int64N(20*msec) })
	for i, n := range waves {
		if whole := i%6 < 2; whole && n < 990 || !whole && n > 10 {
			t.Errorf("%v flows begin each second, want all of %d in two of six, and none in the others", waves, rate)
			break
		}
	}
	flows := shopping()
	for i := range flows[0].Steps[1:] {
		flows[0].Steps[1+i].At, flows[0].Steps[1+i].After = 0, new(time.Duration)
	}
	even := begins(flows, func() int64 { return 5*msec + rng.Int64N(45*msec) })
	for _, n := range even {
		if n < rate/3*95/100 || n > rate/3*105/100 {
			t.Errorf("%v flows begin each second, want a third of %d", even, rate)
			break
		}
	}
}

// TestSlottedWalksAddUp: whatever happens, each request has a slot, and each step accounts for all flows that reach it: sent,
// ended before because a request failed, or unfinished.
func TestSlottedWalksAddUp(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newWalkBed(t, shopping(), 1+rng.IntN(40))
		b.countSteps(eachSlotted(t))
		failed := map[int]int64{} // by step
		b.client.answer = func(r *targets.Result) int64 {
			if rng.IntN(10) == 0 {
				r.Outcome.Class = "eof"
				failed[r.Call.Step]++
			}
			return rng.Int64N(1500 * msec)
		}
		for k := range int64(3000) {
			b.due(k, time.Duration(rng.IntN(4))*time.Millisecond)
		}
		b.setMode([]mode{draining, stopping}[seed%2])
		for over := false; !over; b.pass(10 * time.Millisecond) {
			_, over = b.turn(b.client.now)
		}
		b.halt()
		steps, c := b.steps(), b.counts()
		if b.walks.n != 0 || b.walks.timed.Len() != 0 || b.inFlight != 0 {
			t.Errorf("seed %d: %d flows and %d requests are left", seed, b.walks.n, b.inFlight)
		}
		if c.Sent != int64(len(b.client.sent)) || c.Followed != 0 || c.Slots() != 3000 {
			t.Errorf("seed %d: %d requests, %+v", seed, len(b.client.sent), c)
		}
		for name, before := range map[string]int64{"cart": failed[0], "pay": failed[0] + failed[1], "b": failed[4]} {
			s := steps[name]
			if unfinished := s.Reached - s.Followed - s.Ended; s.Ended != before || s.FollowedLate != 0 || unfinished < 0 || s.Sent != s.Followed {
				t.Errorf("seed %d: %s: %+v, before it failed %d", seed, name, s, before)
			}
		}
	}
}

// TestFlowsEndWithTheSlots: at the end of a run nothing waits for flows that no slot comes for.
func TestFlowsEndWithTheSlots(t *testing.T) {
	b := newSlottedBed(t, shopping(), 100)
	b.start(0)
	b.pass(50 * time.Millisecond)
	b.setMode(draining)
	if _, over := b.turn(b.client.now); !over {
		t.Error("it waits for the flow")
	}
	if s := b.steps()["pay"]; s.Reached != 1 || s.Ended != 0 || s.Sent != 0 {
		t.Errorf("%+v", s)
	}
}

// TestAReadyFlowNeedsNoRoom: if as many flows as allowed are on their way, slots still go to those that are ready.
func TestAReadyFlowNeedsNoRoom(t *testing.T) {
	b := newSlottedBed(t, shopping(), 100)
	b.walks.n = mostWalks
	if !b.walks.full(b.client.now) {
		t.Error("one more flow may begin")
	}
	b.walks.wait(&targets.Result{Call: targets.Call{Session: &targets.Session{Start: b.client.now}}, Done: b.client.now}, 1, 0)
	if at := b.client.now + 2000*msec; b.walks.full(at) || !b.walks.full(at-msec) {
		t.Error("the flow that is ready, and only that, may use a slot")
	}
}

// playSlots puts a fleet under changes of the rate, a worker that joins and one that leaves, by a seed, and may kill one. Each
// worker's count is that of its requests. It returns how many these were, and the counts.
func playSlots(t *testing.T, seed uint64, mix *targets.Mix) (sent int64, total *record.Snapshot) {
	simulate(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 53))
		some := func(from, n int) time.Duration { return time.Duration(from+r.IntN(n)) * time.Millisecond }
		s := newSim(t, 150, model.Options{Span: 6 * second, Min: 3, Hold: 1_500_000})
		for i := range 4 {
			m := s.add(fmt.Sprintf("w%d", i))
			m.Mix, m.Shards, m.client.latency = mix, 1+r.IntN(2), some(1, 300)
		}
		if r.IntN(2) == 0 {
			s.members[0].crashed = some(1000, 3000)
		}
		for _, m := range s.members[:3] {
			m.start()
		}
		time.AfterFunc(some(0, 4000), s.members[3].start)
		time.AfterFunc(some(1000, 3000), s.members[1].cancel)
		for range 1 + r.IntN(3) {
			time.Sleep(some(1000, 500))
			s.order("set-rate", pieces(t, int64(20+r.IntN(300))))
		}
		s.wait()
		s.audit()
		total = record.NewSnapshot("", "")
		for _, m := range s.members {
			if sent := s.sent(m.ID, 0, time.Hour); sent != m.total.Counts.Sent {
				t.Errorf("%s sent %d requests, and counts %d", m.ID, sent, m.total.Counts.Sent)
			}
			total.Merge(m.total)
		}
		sent = int64(len(s.sends))
	})
	return sent, total
}

// TestRequestsOfFlowsAreTheSlots: where each request has a slot, the requests of a fleet are exactly the slots that were sent,
// while the rate changes, a worker may be killed, and others join and leave. The audit of each run says that these are all slots
// that were asked for, but for those of a worker that was killed.
func TestRequestsOfFlowsAreTheSlots(t *testing.T) {
	mix := eachSlotted(t)
	for seed := range uint64(setting(t, "LOADCTL_SEEDS", 500)) {
		flows, total := playSlots(t, seed, mix)
		var steps, followed int64
		for name, s := range total.Steps {
			steps, followed = steps+s.Sent, followed+s.Followed
			if s.FollowedLate != 0 || s.Followed+s.Ended > s.Reached {
				t.Errorf("seed %d: %s: %+v", seed, name, s)
			}
		}
		if c := total.Counts; c.Followed != 0 || c.Sent != flows || steps != c.Sent || followed == 0 {
			t.Errorf("seed %d: %d requests, %d by steps, %d of them followed others, %+v", seed, flows, steps, followed, c)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestRequestsOfFlowsLieLikeSingleOnes: where each request has a slot, requests of flows lie as evenly in time as single ones,
// whatever steps the flows take.
func TestRequestsOfFlowsLieLikeSingleOnes(t *testing.T) {
	const rate = 500
	for _, workers := range []int{1, 3} {
		var variation []float64
		for _, mix := range []*targets.Mix{nil, eachSlotted(t)} {
			simulate(t, func(t *testing.T) {
				s := newSim(t, rate, model.Options{Span: 10 * second, Min: workers})
				s.fleet(workers)
				for _, m := range s.members {
					m.Mix, m.Shards, m.client.latency = mix, 2, 37*time.Millisecond
				}
				s.run()
				exactly(t, s.audit(), 10*rate)
				s.even(rate)
				variation = append(variation, s.variation(""))
			})
		}
		t.Logf("%d workers: gaps vary by %.4g and %.4g", workers, variation[0], variation[1])
		if d := math.Abs(variation[0] - variation[1]); d > 1e-4 || variation[1] == 0 {
			t.Errorf("%d workers: gaps of single requests vary by %v, those of flows by %v", workers, variation[0], variation[1])
		}
	}
}

// TestLimiterGrantsRequestsOfFlows: where each request has a slot, a limiter grants as many slots as requests are sent.
func TestLimiterGrantsRequestsOfFlows(t *testing.T) {
	mix := eachSlotted(t)
	simulate(t, func(t *testing.T) {
		l := &simLimiter{burst: 300}
		s := granting(t, 500, l, model.Options{Min: 2, Span: 6_000_000})
		s.add("a").Mix, s.add("b").Mix = mix, mix
		s.run()
		asked, ungranted := s.settled()
		if asked != 3000 || ungranted != 0 || int64(len(s.sends)) != asked || l.granted() != asked {
			t.Errorf("asked %d, ungranted %d, sent %d, granted %d", asked, ungranted, len(s.sends), l.granted())
		}
		if cart := s.members[0].total.Steps["cart"]; cart == nil || cart.Followed == 0 {
			t.Errorf("no flow came to a second step: %+v", cart)
		}
	})
}
