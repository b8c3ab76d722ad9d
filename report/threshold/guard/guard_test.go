package guard_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/threshold/guard"
)

// A bench has guards and the state of a run. Each window of it is 2 s long, and the reaction time is 3 s.
type bench struct {
	*testing.T
	guards *guard.Guards
	state  guard.State
	second int64 // the end of the last window
}

func parse(t *testing.T, texts ...string) (all []threshold.Threshold) {
	t.Helper()
	for _, text := range texts {
		condition, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, condition)
	}
	return all
}

func newBench(t *testing.T, texts ...string) *bench {
	t.Helper()
	return &bench{T: t, guards: guard.New(parse(t, texts...), 3*time.Second), state: guard.State{Peak: 1000}, second: 100}
}

// look judges the next second: a result for each guard. F is failed, P passed, U undecided, and - idle.
func (b *bench) look(results string) (guard.Step, bool) {
	b.second++
	var all [][]threshold.Verdict
	for _, c := range results {
		v := threshold.Verdict{Begin: b.second - 2, End: b.second, Value: 0.25, Text: "25.00 %"}
		v.Result = map[rune]string{'F': threshold.Failed, 'P': threshold.Passed, 'U': threshold.Undecided}[c]
		all = append(all, []threshold.Verdict{v})
	}
	return b.guards.Next(b.state, all)
}

// steps judges a second for each word, and returns the factors of the steps, 0 where there is none. Each step comes into
// force at the end of its second.
func (b *bench) steps(words string) (factors []int64) {
	for word := range strings.FieldsSeq(words) {
		step, ok := b.look(word)
		if !ok {
			factors = append(factors, 0)
			continue
		}
		factors = append(factors, step.To)
		b.state.Factor, b.state.Since = step.To, time.Duration(b.second)*time.Second
	}
	return factors
}

// settle lets the windows pass that began before the last step could be seen: 3 s of reaction and 1 s of the window.
func (b *bench) settle(word string) {
	b.Helper()
	if got := b.steps(strings.Repeat(word+" ", 4)); slices.Max(got) > 0 {
		b.Errorf("a window from before the effect of a step counts: %v", got)
	}
}

// rise holds until the rate goes up, and returns for how long.
func (b *bench) rise() (seconds int) {
	b.Helper()
	for seconds = 1; b.steps("P")[0] == 0; seconds++ {
		if seconds > 200 {
			b.Fatalf("no step up from %d", b.state.Factor)
		}
	}
	return seconds + 1 // the first window is 2 s long
}

const byTwenty = "errors:rate<1% over 2s reduce by 20% after 2"

// TestStepsDown asserts that as many failed windows in a row as the guard says lower the rate, by its share, to its floor.
func TestStepsDown(t *testing.T) {
	for name, c := range map[string]struct {
		guards []string
		words  string
		want   []int64
	}{
		"in a row":         {[]string{byTwenty}, "F P F U F - F F", []int64{0, 0, 0, 0, 0, 0, 0, 800_000}},
		"after one":        {[]string{"errors:rate<1% over 2s reduce by 20% after 1"}, "P F", []int64{0, 800_000}},
		"to half":          {[]string{"errors:rate<1% over 2s reduce to 50% after 1"}, "F", []int64{500_000}},
		"the lowest":       {[]string{byTwenty, "checks:rate>90% over 2s reduce to 30% after 2"}, "FF FF", []int64{0, 300_000}},
		"the lowest first": {[]string{"checks:rate>90% over 2s reduce to 30% after 2", byTwenty}, "FF FF", []int64{0, 300_000}},
		"the one in a row": {[]string{byTwenty, "checks:rate>90% over 2s reduce to 30% after 3"}, "FF FF", []int64{0, 800_000}},
		"floor":            {[]string{"errors:rate<1% over 2s reduce to 10% after 1 down to 250/s"}, "F", []int64{250_000}},
		"floor at peak":    {[]string{"errors:rate<1% over 2s reduce to 10% after 1 down to 1k/s"}, "F F", []int64{0, 0}},
		"others":           {[]string{"errors:rate<1% over 2s", "errors:rate<1% over 2s abort after 1", byTwenty}, "F F", []int64{0, 800_000}},
	} {
		b := newBench(t, c.guards...)
		if got := b.steps(c.words); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	b := newBench(t, "errors:rate<1% over 2s reduce by 30% after 2 down to 400/s")
	for _, want := range []int64{700_000, 490_000, 400_000, 0} {
		if got := b.steps("F F"); !slices.Equal(got, []int64{0, want}) {
			t.Errorf("%v, want %d", got, want)
		}
		if want > 0 {
			b.settle("F")
		}
	}
	once := newBench(t, "errors:rate<1% over 2s reduce to 50% after 1")
	once.steps("F")
	once.settle("F")
	if got := once.steps("F F F"); slices.Max(got) > 0 {
		t.Errorf("reduce to 50%% lowers a second time: %v", got)
	}
}

// TestStepSaysWhy asserts that a step has the condition, the second and the value, and is repeated until it is in force.
func TestStepSaysWhy(t *testing.T) {
	b := newBench(t, byTwenty)
	b.look("F")
	for range 3 {
		got, _ := b.look("F")
		want := guard.Step{From: guard.One, To: 800_000, Threshold: byTwenty, Second: b.second, Value: 0.25, Reason: got.Reason}
		if got != want || !strings.HasPrefix(got.Reason, "threshold "+byTwenty+" failed at second 10") || !strings.HasSuffix(got.Reason, ": 25.00 %") {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	again := newBench(t, byTwenty) // a new judge, which is given the same windows
	last, _ := b.look("F")
	twice := newBench(t, byTwenty)
	twice.look("F")
	twice.second--
	if got, ok := twice.look("F"); ok {
		t.Errorf("one window counts twice: %+v", got)
	}
	again.second = b.second - 2
	again.look("F")
	if got, _ := again.look("F"); got != last {
		t.Errorf("a new judge steps %+v, want %+v", got, last)
	}
}

// TestStepsUp asserts that the rate goes up by a step of the same size when all guards have held for their time, and not else.
func TestStepsUp(t *testing.T) {
	hold := func(n int) string { return strings.Repeat("P ", n) }
	for name, c := range map[string]struct {
		guard  string
		factor int64
		words  string
		want   int64 // of the last word, the only step
	}{
		"by":              {byTwenty + " restore after 5s", 512_000, hold(4), 640_000},
		"by, to the top":  {byTwenty + " restore after 5s", 900_000, hold(4), guard.One},
		"to":              {"errors:rate<1% over 2s reduce to 50% after 2 restore after 5s", 500_000, hold(4), guard.One},
		"too early":       {byTwenty + " restore after 6s", 512_000, hold(4), 0},
		"without restore": {byTwenty, 512_000, hold(9), 0},
		"at the top":      {byTwenty + " restore after 5s", guard.One, hold(9), 0},
		"failed once":     {byTwenty + " restore after 5s", 512_000, "P P P F P P P P", 0},
		"held again":      {byTwenty + " restore after 5s", 512_000, "P P P F P P P P P", 640_000},
		"undecided":       {byTwenty + " restore after 5s", 512_000, "P P P U P P P P", 0},
		"idle":            {byTwenty + " restore after 5s", 512_000, "P P - P - P", 640_000},
		"only idle":       {byTwenty + " restore after 5s", 512_000, "- - - - - - -", 0},
	} {
		b := newBench(t, c.guard)
		b.state.Factor, b.state.Since = c.factor, 90*time.Second
		got := b.steps(c.words)
		if last := len(got) - 1; got[last] != c.want || slices.Max(got[:last]) > 0 {
			t.Errorf("%s: %v, want %d last", name, got, c.want)
		}
	}
	for others, want := range map[string]int64{ // beside byTwenty, and before it
		"checks:rate>90% over 2s reduce to 50% after 2 restore after 9s": 640_000, // the smallest step, after the longest time
		"checks:rate>90% over 2s reduce by 10% after 2 restore after 9s": 568_889,
		"checks:rate>90% over 2s reduce to 50% after 2":                  0, // it keeps the rate down
	} {
		own := byTwenty + " restore after 5s"
		for _, guards := range [][]string{{own, others}, {others, own}} {
			b := newBench(t, guards...)
			b.state.Factor, b.state.Since = 512_000, 90*time.Second
			if got := b.steps("PP PP PP PP PP PP PP PP"); got[7] != want || slices.Max(got[:7]) > 0 {
				t.Errorf("%q: %v, want %d", guards, got, want)
			}
		}
	}
	for _, one := range []string{"FP ", "PF ", "UP ", "PU "} {
		b := newBench(t, byTwenty+" restore after 5s", "checks:rate>90% over 2s reduce to 50% after 9 restore after 5s")
		b.state.Factor, b.state.Since = 512_000, 90*time.Second
		if got := b.steps(strings.Repeat("PP PP PP "+one, 4)); slices.Max(got) > 0 {
			t.Errorf("a step up though one of two guards does not hold: %q: %v", one, got)
		}
	}
}

// TestNoMoreStepsLeadBack asserts that from any depth no more steps lead up to the whole rate than there were down.
func TestNoMoreStepsLeadBack(t *testing.T) {
	for _, share := range []string{"1%", "7%", "20%", "33.3333%", "50%", "99%"} {
		b := newBench(t, "errors:rate<1% over 2s reduce by "+share+" after 2 restore after 5s")
		var factors []int64
		for len(factors) < 300 {
			step := b.steps("F F")[1]
			if step == 0 {
				break
			}
			factors = append(factors, step)
			b.settle("F")
		}
		if last := factors[len(factors)-1]; last == 0 || len(factors) < 300 && last != 1 {
			t.Errorf("by %s: the last of %d factors is %d", share, len(factors), last)
		}
		for range factors {
			if b.state.Factor < guard.One {
				b.rise()
				b.settle("P")
			}
		}
		if b.state.Factor != guard.One {
			t.Errorf("by %s: %d steps lead back to %d", share, len(factors), b.state.Factor)
		}
	}
}

// TestFailedStepUpWaitsLonger asserts that a factor that failed after a step up waits twice as long each time, up to 16 times,
// and that others do not. One that has held is like any other.
func TestFailedStepUpWaitsLonger(t *testing.T) {
	b := newBench(t, byTwenty+" restore after 5s")
	fall := func() {
		b.settle("F")
		b.steps("F F")
	}
	b.steps("F F")
	for _, want := range []int{5, 10, 20, 40, 80, 80} {
		b.settle("P")
		if got := b.rise(); got != want {
			t.Errorf("a step up after %d s, want %d", got, want)
		}
		fall()
	}
	fall() // to 640,000
	b.settle("P")
	if got := b.rise(); got != 5 || b.state.Factor != 800_000 {
		t.Errorf("a step up to %d, below what failed, after %d s, want 5", b.state.Factor, got)
	}
	b.settle("P")
	if got := b.rise(); got != 80 {
		t.Errorf("a step up to what failed after %d s, want 80", got)
	}
	b.settle("P")
	b.steps(strings.Repeat("P ", 79) + "F F") // it has held for its time
	b.settle("P")
	if got := b.rise(); got != 5 {
		t.Errorf("a step up after %d s though the last one has held, want 5", got)
	}
	fall()                                                                                           // it has failed again
	b.state = guard.State{Factor: guard.One, Set: time.Duration(b.second) * time.Second, Peak: 1000} // set-rate
	b.settle("F")
	b.steps("F F")
	b.settle("P")
	if got := b.rise(); got != 5 {
		t.Errorf("a step up after %d s though the rate was set, want 5", got)
	}
}

// TestPersonWins asserts that windows from before somebody set the rate count no more.
func TestPersonWins(t *testing.T) {
	b := newBench(t, byTwenty)
	b.look("F")
	b.state.Set = time.Duration(b.second) * time.Second
	b.settle("F")
	if got := b.steps("F F"); !slices.Equal(got, []int64{0, 800_000}) {
		t.Errorf("%v, want a step after two windows of the rate that was set", got)
	}
}

// TestCutBoundsStepsUp asserts that no step up goes above what a cut of a budget has left, and that a cut starts anew.
func TestCutBoundsStepsUp(t *testing.T) {
	b := newBench(t, "errors:rate<1% over 2s reduce by 50% after 1 restore after 2s")
	b.steps("P P P F")
	b.state.Most = 600_000
	if got := b.steps("P P P P P P P P P P P P P P P P"); slices.Max(got) != 600_000 || b.state.Factor != 600_000 {
		t.Errorf("steps to %v, at last %d", got, b.state.Factor)
	}
}
