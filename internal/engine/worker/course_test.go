package worker

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/program"
)

// polling is a flow that asks until a job is done, at most five times, and then takes one of two ways.
func polling() targets.Flow {
	type blocks = []*program.Block
	state, none := []targets.Take{{Name: "state", From: "json state"}}, new(time.Duration)
	f := targets.Flow{Name: "poll", Steps: []targets.Step{{Name: "create", URL: "http://a/", Takes: state}, {Name: "status", URL: "http://a/", After: pause100(), Takes: state},
		{Name: "big", URL: "http://a/", After: none}, {Name: "small", URL: "http://a/", After: none}, {Name: "end", URL: "http://a/", After: none}},
		Body: blocks{{}, {While: `${state} == "running" && ${loop} < 5`, Then: blocks{{Step: 1}}}, {If: `${state} == "running"`, Then: blocks{{Fail: "not done"}}},
			{If: `${state} > 5`, Then: blocks{{Step: 2}}, Else: blocks{{Step: 3}, {Pause: "50ms"}}}, {Step: 4}}}
	p, err := f.Program()
	if err != nil {
		panic(err)
	}
	f.Least, f.Most = p.Least, p.Most
	return f
}

// steps5 returns what was recorded of the steps of polling.
func steps5(t *testing.T, b *walkBed) (all [5]record.Step) {
	t.Helper()
	got := b.steps()
	for i, name := range []string{"create", "status", "big", "small", "end"} {
		if got[name] != nil {
			all[i] = *got[name]
		}
	}
	return all
}

// TestCourse asserts when a flow with a loop and a branch sends its steps, and what is counted of each.
func TestCourse(t *testing.T) {
	for _, c := range []struct {
		states []string // of the answers to create and status
		want   []int    // steps
		class  string
		counts [5]record.Step // Reached, Followed, Bypassed and Ended
	}{
		{[]string{"9"}, []int{0, 2, 4}, "", [5]record.Step{{}, {Reached: 1, Bypassed: 1}, {Reached: 1, Followed: 1}, {Reached: 1, Bypassed: 1}, {Reached: 1, Followed: 1}}},
		{[]string{"running", "running", "3"}, []int{0, 1, 1, 3, 4}, "",
			[5]record.Step{{}, {Reached: 2, Followed: 2}, {Reached: 1, Bypassed: 1}, {Reached: 1, Followed: 1}, {Reached: 1, Followed: 1}}},
		{[]string{"running", "running", "running", "running", "running", "running"}, []int{0, 1, 1, 1, 1, 1}, "flow not done",
			[5]record.Step{{}, {Reached: 5, Followed: 5}, {Reached: 1, Ended: 1}, {Reached: 1, Ended: 1}, {Reached: 1, Ended: 1}}},
		{[]string{"x"}, []int{0}, "flow not a number", [5]record.Step{{}, {Reached: 1, Bypassed: 1}, {Reached: 1, Ended: 1}, {Reached: 1, Ended: 1}, {Reached: 1, Ended: 1}}},
	} {
		b := newWalkBed(t, []targets.Flow{polling()}, 10)
		n := 0
		b.client.answer = func(r *targets.Result) int64 {
			if r.Call.Step < 2 {
				r.Call.Session.Keep(0, c.states[n])
				n++
			}
			return 10 * msec
		}
		b.start(0)
		b.pass(3 * time.Second)
		var steps []int
		for i, r := range b.client.sent {
			if steps = append(steps, r.Call.Step); i == 0 {
				continue
			}
			due := b.client.sent[i-1].Done
			switch r.Call.Step {
			case 1:
				due += 100 * msec
			case 4:
				if steps[i-1] == 3 {
					due += 50 * msec
				}
			}
			if r.Due != due {
				t.Errorf("%v: request %d was due %v after the answer before it", c.states, i, time.Duration(r.Due-b.client.sent[i-1].Done))
			}
		}
		if !slices.Equal(steps, c.want) || b.walks.n != 0 {
			t.Fatalf("%v: sent %v, want %v; %d on their way", c.states, steps, c.want, b.walks.n)
		}
		for i, got := range steps5(t, b) {
			want := c.counts[i]
			if got.Reached != want.Reached || got.Followed != want.Followed || got.Bypassed != want.Bypassed || got.Ended != want.Ended {
				t.Errorf("%v: step %d: %+v, want %+v", c.states, i, got, want)
			}
		}
		failed := map[string]int64{}
		for _, s := range steps5(t, b) {
			for class, n := range s.Errors {
				failed[class] += n
			}
		}
		if len(failed) > 1 || (failed[c.class] == 1) != (c.class != "") {
			t.Errorf("%v: failed %v, want %q", c.states, failed, c.class)
		}
	}
}

// TestCoursesAddUp asserts that whatever happens, each step accounts for all flows: sent, late, bypassed or ended before.
func TestCoursesAddUp(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newWalkBed(t, append(shopping(), polling()), 3+rng.IntN(20))
		b.client.answer = func(r *targets.Result) int64 {
			switch s := r.Call.Session; {
			case rng.IntN(10) == 0:
				r.Outcome.Class = "eof"
			case s != nil && r.Call.Step >= 3:
				s.Keep(0, []string{"running", "running", "9", "2", "x"}[rng.IntN(5)])
			}
			return rng.Int64N(1500 * msec)
		}
		for k := range int64(500) {
			b.start(k)
			b.pass(time.Duration(rng.IntN(5)) * time.Millisecond)
		}
		b.pass(time.Duration(rng.IntN(4)) * time.Second)
		b.setMode(stopping)
		b.halt()
		b.pass(5 * time.Second)
		total := record.NewSnapshot("w", "1")
		total.Record(b.recorder)
		if b.walks.n > 0 || b.walks.opened != 0 {
			t.Errorf("seed %d: %d flows left", seed, b.walks.n)
		}
		requests, bypassed := int64(0), int64(0)
		for name, s := range total.Steps {
			requests, bypassed = requests+s.Sent, bypassed+s.Bypassed
			if s.Reached != s.Followed+s.FollowedLate+s.Ended+s.Bypassed || s.Sent != s.Completed+s.Failed {
				t.Errorf("seed %d: %s: %+v", seed, name, s)
			}
		}
		if c := total.Counts; requests != int64(len(b.client.sent)) || c.Requests() != requests || c.Slots() != 500 || bypassed == 0 {
			t.Errorf("seed %d: %d sent, %d by steps, %d bypassed, %+v", seed, len(b.client.sent), requests, bypassed, c)
		}
	}
}

// TestFlowsOvertake asserts that flows which come to a step late, because of loops, hold back no others: on an idle machine each
// step leaves when it is due, and where the machine often stands still, no backlog grows.
func TestFlowsOvertake(t *testing.T) {
	for _, stalls := range []bool{false, true} {
		b := newWalkBed(t, []targets.Flow{polling()}, 100_000)
		rng, polls := rand.New(rand.NewPCG(1, 1)), map[uint64]uint64{}
		b.client.answer = func(r *targets.Result) int64 {
			state := "running"
			if polls[r.Call.Number]++; polls[r.Call.Number] > r.Call.Number%4 {
				state = "9"
			}
			if r.Call.Step < 2 {
				r.Call.Session.Keep(0, state)
			}
			return msec
		}
		for k := range int64(5000) {
			b.start(k)
			if b.pass(4 * time.Millisecond); stalls && rng.IntN(10) == 0 {
				b.client.now += rng.Int64N(60) * msec
			}
		}
		b.pass(5 * time.Second)
		var late int64
		for _, r := range b.client.sent {
			late = max(late, r.Sent-r.Due)
		}
		if got := steps5(t, b); late > 1000*msec || !stalls && late > msec || got[1].Sent != 7500 || got[4].Sent != 5000 {
			t.Errorf("stalls %v: a request was %v late; %d questions, %d ends", stalls, time.Duration(late), got[1].Sent, got[4].Sent)
		}
	}
}

// TestLoopsAfterAStall asserts that what a stall of the endpoint let pile up in loops leaves at no more than twice its usual pace.
func TestLoopsAfterAStall(t *testing.T) {
	b := newWalkBed(t, []targets.Flow{polling()}, 100_000)
	begin, back := b.client.now, b.client.now+4000*msec
	rng := rand.New(rand.NewPCG(1, 1))
	b.client.answer = func(r *targets.Result) int64 {
		if r.Call.Step < 2 {
			r.Call.Session.Keep(0, "running")
		}
		if r.Sent < begin+2000*msec {
			return msec
		}
		return max(0, back-r.Sent) + rng.Int64N(5*msec) // from 2 s to 4 s no answer comes
	}
	for k := range int64(6000) { // 1,000 a second
		b.start(k)
		b.pass(time.Millisecond)
	}
	b.pass(20 * time.Second)
	window := map[int64]int{}
	for _, r := range b.client.sent {
		if r.Call.Step == 1 {
			window[(r.Sent-begin)/(100*msec)]++
		}
	}
	most := 0
	for w, n := range window {
		if most = max(most, n); n > 2*500+50 { // 5 questions a flow: 500 in each window
			t.Errorf("%d questions in 100 ms, %d ms after the begin", n, w*100)
		}
	}
	if got := steps5(t, b); got[1].Sent != 30_000 || most < 600 {
		t.Errorf("%d questions, at most %d in 100 ms", got[1].Sent, most)
	}
}
