package guard_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/threshold"
)

// A setting is a play with what was drawn for it.
type setting struct {
	play
	by, over, after int64   // of each guard: %, s, windows
	backlog         float64 // s, what has to be served before a full line meets the guards
	shortest        float64 // requests, the shortest line at which a guard fails
	restore         int64   // s; 0 = none
}

// draw returns a server that is asked for 2 to 5 times its capacity, with guards on errors, on latency or on both. A judge is
// replaced every 50 s on average, and one of 20 orders is lost.
func draw(seed uint64, restore bool) setting {
	r := rand.New(rand.NewPCG(seed, 1))
	between := func(low, high float64) float64 { return low + (high-low)*r.Float64() }
	capacity := between(300, 600)
	s := setting{by: 10 * (1 + r.Int64N(3)), over: 1 + r.Int64N(10), after: 1 + r.Int64N(3)}
	s.play = play{seed: seed, asked: capacity * between(2, 5), lost: 0.05, replaced: 0.02}
	s.server = server{capacity: capacity, line: between(0.4, 1.2), timeout: between(0.5, 2)}
	s.reaction = time.Duration(math.Ceil(s.server.timeout)+float64(r.IntN(4))) * time.Second
	end := fmt.Sprintf(" over %ds reduce by %d%% after %d", s.over, s.by, s.after)
	s.length = s.soon() + 300
	if restore {
		s.restore, s.length = s.over+5+r.Int64N(25), 1500
		end += fmt.Sprintf(" restore after %ds", s.restore)
		if seed%2 == 0 {
			s.doubles = 300
		}
		s.replaced = 0 // a new judge forgets how long to wait
	}
	full := min(s.server.line, s.server.timeout)
	limit := full * between(0.4, 0.7)
	kind := r.IntN(3)
	if kind != 1 {
		s.guards = append(s.guards, fmt.Sprintf("errors:rate<%d%%", 1+r.IntN(5))+end)
		s.backlog, s.shortest = s.server.line-full, full*capacity
	}
	if kind != 0 {
		s.guards = append(s.guards, fmt.Sprintf("latency:p(95)<%dms", int(limit*1000))+end)
		s.backlog, s.shortest = s.server.line-limit, limit*capacity
	}
	return s
}

// carries returns the highest rate at which a server meets the guards in time, after its line was full. It lies below the
// capacity C for three reasons:
//
//	backlog / T    the line has to be served before the last window that counts begins, and its last timeouts be over
//	3 / √(C·T)     requests come at random: so many fewer may be served of the line (three standard deviations)
//	4 / length     a line builds up below the capacity too (M/D/1: one longer than n has the probability exp(-2(1-ρ)n))
func (s setting) carries() float64 {
	c, t := s.server.capacity, s.reaction.Seconds()+float64(s.after)-min(s.server.timeout, s.server.line)
	return c * (1 - s.backlog/t - 3/math.Sqrt(c*t) - 4/s.shortest)
}

// failing returns the share of the windows that begin in [from, to) and that a guard fails.
func (s setting) failing(res result, from, to int64) float64 {
	w := &world{play: s.play, result: res}
	failed, all := 0, 0
	for _, text := range s.guards {
		t, _ := threshold.Parse(text)
		for _, v := range t.Verdicts(threshold.Stretch{Begin: from, End: to, Width: 1, Points: res.points, Asked: w.asks}, to) {
			if all++; v.Result == threshold.Failed {
				failed++
			}
		}
	}
	return float64(failed) / float64(max(1, all))
}

// rate returns the mean rate asked for in [from, to).
func (s setting) rate(res result, from, to int64) float64 {
	w := &world{play: s.play, result: res}
	return float64(w.asks(from*1e6, to*1e6)) / float64(to-from)
}

// checkSteps says which two steps are too close together: each needs the reaction time and its windows.
func (s setting) checkSteps(res result) error {
	least := s.reaction.Seconds() + float64(s.over+s.after-1)
	for i, c := range res.changes[1:] {
		if gap := c.at - res.changes[i].at; i > 0 && gap < least {
			return fmt.Errorf("steps at %.0f s and %.0f s: %.0f s are needed between", res.changes[i].at, c.at, least)
		}
	}
	return nil
}

// soon returns when a play without restore has come down. A lost order costs a second or more. The line fills up at a tenth
// above the capacity in line/0.1.
func (s setting) soon() int64 {
	steps := math.Ceil(math.Log(s.server.capacity/s.asked) / math.Log(1-float64(s.by)/100))
	return int64(steps*(s.reaction.Seconds()+float64(s.over+s.after)+5) + s.server.line/0.1)
}

// checkHeld says before which step up a guard did not hold for its time.
func (s setting) checkHeld(res result) error {
	w := &world{play: s.play, result: res}
	for i, c := range res.changes[1:] {
		was := res.changes[i]
		if c.factor < was.factor {
			continue
		}
		settled := int64(math.Ceil(was.at + s.reaction.Seconds()))
		for _, text := range s.guards {
			t, _ := threshold.Parse(text)
			for _, v := range t.Verdicts(threshold.Stretch{Begin: settled, End: c.second, Width: 1, Points: res.points, Asked: w.asks}, c.second) {
				if v.End > c.second-s.restore && v.Result != threshold.Passed {
					return fmt.Errorf("the step up at %.0f s follows a window at %d s that %s: %s", c.at, v.Begin, v.Result, text)
				}
			}
		}
	}
	return nil
}

// checkDown says what is wrong with the rate of a play without restore.
func (s setting) checkDown(res result) error {
	left := 1 - float64(s.by)/100
	soon := s.soon()
	if rate := s.rate(res, soon, soon+1); rate > 1.1*s.server.capacity {
		return fmt.Errorf("at %d s the rate is %.0f/s, of %.0f/s", soon, rate, s.server.capacity)
	}
	rate := s.rate(res, s.length-1, s.length)
	switch {
	case rate > s.server.capacity*1.05:
		return fmt.Errorf("at the end the rate is %.0f/s, of %.0f/s", rate, s.server.capacity)
	case rate < left*s.carries():
		return fmt.Errorf("at the end the rate is %.0f/s: less than one step below %.0f/s, of %.0f/s", rate, s.carries(), s.server.capacity)
	}
	if share := s.failing(res, soon+100, s.length); share > 0.1 { // near the capacity one window may fail now and then
		return fmt.Errorf("%.1f %% of the later windows fail", 100*share)
	}
	return nil
}

// checkUp says what is wrong with a play with restore.
func (s setting) checkUp(res result) error {
	if err := s.checkHeld(res); err != nil {
		return err
	}
	if share := s.failing(res, s.length/2, s.length); share > 0.2 {
		return fmt.Errorf("%.1f %% of the windows in the second half fail", 100*share)
	}
	grown := 1.0
	if s.doubles > 0 {
		grown = 2
	}
	could, most := min(s.asked, grown*s.carries()), 1.05*grown*s.server.capacity
	if rate := s.rate(res, s.length*3/4, s.length); rate < (1-float64(s.by)/100)*could || rate > most {
		return fmt.Errorf("in the last quarter the rate is %.0f/s, of %.0f/s", rate, could)
	}
	return nil
}

// seeds returns the seeds to play: from LOADCTL_SEED on, LOADCTL_SEEDS of them. The short tests play a quarter.
func seeds(t *testing.T, n uint64) (from, to uint64) {
	read := func(name string, def uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return def
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		n = (n + 3) / 4
	}
	from = read("LOADCTL_SEED", 1)
	return from, from + read("LOADCTL_SEEDS", n)
}

// TestGuardsFindTheCapacity asserts that a server is left with windows that hold, and with a rate of one step below what it
// can carry at least. LOADCTL_SEED is the first seed, LOADCTL_SEEDS how many.
func TestGuardsFindTheCapacity(t *testing.T) {
	from, to := seeds(t, 60)
	near, all := 0, 0
	for seed := from; seed < to; seed++ {
		s := draw(seed, false)
		res := s.run()
		if err := errors.Join(s.checkSteps(res), s.checkDown(res)); err != nil {
			t.Errorf("LOADCTL_SEED=%d: %v; %v", seed, err, s.guards)
		}
		if s.by == 20 {
			if all++; s.rate(res, s.length-1, s.length) >= 0.8*s.server.capacity {
				near++
			}
		}
	}
	t.Logf("of %d plays with steps of 20 %%, %d end within 20 %% of the capacity itself", all, near)
}

// TestGuardsFollowTheCapacity asserts that steps up that a server cannot carry become rare, and that the rate follows a
// capacity that doubles, as it does in the plays with even seeds.
func TestGuardsFollowTheCapacity(t *testing.T) {
	from, to := seeds(t, 20)
	for seed := from; seed < to; seed++ {
		s := draw(seed, true)
		res := s.run()
		if err := errors.Join(s.checkSteps(res), s.checkUp(res)); err != nil {
			t.Errorf("LOADCTL_SEED=%d: %v; %v", seed, err, s.guards)
		}
	}
}

// TestOnlyWhatFailedWaitsLonger asserts that steps up that hold do not end the longer wait for one that failed. If they do,
// a quarter of the windows fail with these seeds.
func TestOnlyWhatFailedWaitsLonger(t *testing.T) {
	for _, seed := range []uint64{59, 100} {
		s := draw(seed, true)
		if err := s.checkUp(s.run()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// check says what is wrong with a play.
func (s setting) check(res result) error {
	if s.restore > 0 {
		return s.checkUp(res)
	}
	return s.checkDown(res)
}

// TestRulesOfGuardsAreNeeded asserts that without each rule a play ends with a wrong rate, or with windows that fail.
// LOADCTL_SEEDS is the number of plays without each rule.
func TestRulesOfGuardsAreNeeded(t *testing.T) {
	for _, c := range []struct {
		rule    string
		seed    uint64
		restore bool
	}{
		{"settled", 1, false},   // a window counts only if it began after the last step was in force
		{"reaction", 32, false}, // and only if no answer in it is to a request from before
		{"all hold", 20, true},  // the rate goes up only if all guards hold, not only the one that lowered it
		{"memory", 1, true},     // a factor that failed after a step up needs longer the next time
	} {
		from, to := seeds(t, 1)
		if to-from == 1 {
			from, to = c.seed, c.seed+1
		}
		bad := 0
		for seed := from; seed < to; seed++ {
			s := draw(seed, c.restore)
			s.broken = c.rule
			if err := s.check(s.run()); err != nil {
				if bad++; bad < 4 {
					t.Logf("without %q, seed %d: %v", c.rule, seed, err)
				}
			}
		}
		t.Logf("without %q %d of %d fail", c.rule, bad, to-from)
		if bad == 0 {
			t.Errorf("without %q no play fails", c.rule)
		}
	}
}
