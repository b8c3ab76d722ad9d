package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

const aGuard = "errors:rate<1% over 1s reduce by 20% after 1"

// guarded is a run of a minute with a guard, and with these events: seconds, kind and what.
func guarded(t *testing.T, events ...[3]any) report.Report {
	t.Helper()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := report.Input{Run: "x", StartedAt: start, Duration: time.Minute}
	given, err := threshold.Parse(aGuard)
	if err != nil {
		t.Fatal(err)
	}
	in.Thresholds = []threshold.Threshold{given}
	for _, e := range events {
		at := start.Add(time.Duration(e[0].(float64) * float64(time.Second)))
		in.Events = append(in.Events, report.Event{At: at, Kind: e[1].(string), Who: "ann@host", What: e[2].(string)})
		in.Described.Commands = append(in.Described.Commands, report.Command{At: at, Command: e[1].(string), What: e[2].(string)})
	}
	return report.Build(in)
}

// failedAt is the event of a step of the guard.
func failedAt(second float64, factor int64) [3]any {
	return [3]any{second, "scale", report.ScaledText(factor, fmt.Sprintf("threshold %s failed at second %v: 21.3 %%", aGuard, second))}
}

// TestScalings asserts that steps of guards, cuts of budgets and a person's rate are told apart, and for how long the run sent
// less than its plan.
func TestScalings(t *testing.T) {
	held := [3]any{20.0, "scale", report.ScaledText(1_000_000, "all guards held for 4s up to second 19")}
	cut := [3]any{30.0, "cap", report.ScaledText(500_000, "the budget of its endpoint was cut")}
	set := [3]any{35.0, "set-rate", "100 per second"}
	for name, c := range map[string]struct {
		events  [][3]any
		want    string
		seconds float64
	}{
		"none":                     {[][3]any{{10.0, "set-rate", "100 per second"}}, "", 0},
		"down":                     {[][3]any{failedAt(10, 800_000), failedAt(15, 640_000)}, "reduced 0.8, reduced 0.64", 50},
		"down and up":              {[][3]any{failedAt(10, 800_000), held}, "reduced 0.8, restored 1", 10},
		"a cut":                    {[][3]any{cut}, "capped 0.5", 30},
		"a cut below a guard's":    {[][3]any{failedAt(10, 800_000), cut, set}, "reduced 0.8, capped 0.5, set 1", 25},
		"a rate that ends it":      {[][3]any{failedAt(10, 800_000), set, failedAt(50, 800_000)}, "reduced 0.8, set 1, reduced 0.8", 35},
		"words of a newer program": {[][3]any{{10.0, "scale", "anything"}, {11.0, "scale", "0 % of the plan, x"}}, "", 0},
	} {
		r := guarded(t, c.events...)
		var got []string
		for _, x := range r.Scalings {
			got = append(got, fmt.Sprint(x.What, " ", x.Factor))
			if x.Why == "" || strings.Contains(x.Why, " of the plan") {
				t.Errorf("%s: why is %q", name, x.Why)
			}
		}
		if strings.Join(got, ", ") != c.want || r.ScaledS != c.seconds {
			t.Errorf("%s: %v for %v s, want %s for %v s", name, got, r.ScaledS, c.want, c.seconds)
		}
	}
}

// TestReducedIsNotPassed asserts that a guard that lowered the rate has failed, whatever the windows of the report say, and
// that guards may be forgiven.
func TestReducedIsNotPassed(t *testing.T) {
	r := guarded(t, failedAt(10, 800_000), failedAt(15, 640_000))
	got := r.Thresholds[0]
	if got.Result != threshold.Failed || !strings.HasSuffix(got.Text, "; it lowered the rate 2 times, to 64 % of the plan at the least") || r.Outcome() != threshold.Failed {
		t.Errorf("%+v, outcome %s", got, r.Outcome())
	}
	if c := r.Checks()[2]; c.Name != "reduced" || c.Result != threshold.Failed || c.Text != "50s; guards reduced it 2 times, to 64 % at the least" {
		t.Errorf("%+v", c)
	}
	if forgiven := r.GuardsForgiven(); forgiven.Thresholds[0].Result != threshold.Passed || r.Thresholds[0].Result != threshold.Failed {
		t.Errorf("%+v, %+v", forgiven.Thresholds, r.Thresholds)
	}
	quiet := guarded(t, [3]any{30.0, "cap", report.ScaledText(500_000, "the budget of its endpoint was cut")})
	if c := quiet.Checks()[2]; c.Name != "reduced" || c.Result != threshold.Passed || strings.Contains(quiet.Thresholds[0].Text, "lowered") {
		t.Errorf("a cut: %+v, %+v", c, quiet.Thresholds)
	}
	if notes := strings.Join(quiet.Notes, "\n"); !strings.Contains(notes, "the run sent less than its plan for 30s; a cut of its endpoint's budget capped it once, to 50 % at the least") {
		t.Error(notes)
	}
}

// TestFreezeIsNoted asserts that a report tells a pause by a freeze from one by a person.
func TestFreezeIsNoted(t *testing.T) {
	frozen := [3]any{10.0, "pause", "its endpoint is frozen"}
	for want, events := range map[string][][3]any{
		"": {{10.0, "pause", ""}, {15.0, "resume", ""}},
		"the run was paused for 5s, because its endpoint is frozen":  {frozen, {15.0, "resume", "its endpoint is not frozen any more"}, {20.0, "pause", ""}},
		"the run was paused for 50s, because its endpoint is frozen": {frozen},
	} {
		notes := strings.Join(guarded(t, events...).Notes, "\n")
		if want == "" && strings.Contains(notes, "frozen") || !strings.Contains(notes, want) {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

// TestCombinedScalings asserts that the factors of combined runs do not mix.
func TestCombinedScalings(t *testing.T) {
	one := reporttest.Reread(t, guarded(t, failedAt(10, 800_000), [3]any{30.0, "set-rate", "9 per second"}))
	two := reporttest.Reread(t, guarded(t, failedAt(20, 500_000), failedAt(40, 600_000)))
	r, err := report.Combine([]report.Part{{Name: "a", Report: one}, {Name: "b", Report: two}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range r.Scalings {
		got = append(got, fmt.Sprint(x.What, " ", x.Factor))
	}
	if want := "reduced 0.8, reduced 0.5, set 1, restored 0.6"; strings.Join(got, ", ") != want || r.ScaledS != 50 {
		t.Errorf("%v for %v s, want %s for 50 s", got, r.ScaledS, want)
	}
	if c := r.Checks()[2]; c.Name != "reduced" || c.Result != threshold.Failed {
		t.Errorf("%+v", c)
	}
}
