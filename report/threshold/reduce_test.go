package threshold_test

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/threshold"
)

// guards are conditions that lower the rate.
func guards() map[string]threshold.Threshold {
	guard := func(r threshold.Reduce) threshold.Threshold {
		return threshold.Threshold{Metric: "errors", Aggregate: "rate", Op: "<", Limit: 0.01, Over: 10 * time.Second, Reduce: r}
	}
	slow := threshold.Threshold{Metric: "latency", Aggregate: "p", Quantile: 0.99, Op: "<=", Limit: 1e9, Over: 5 * time.Second, Reduce: threshold.Reduce{By: 200_000, After: 1}}
	checks := threshold.Threshold{Metric: "checks", Aggregate: "rate", Op: ">", Limit: 0.9, Over: time.Second, Reduce: threshold.Reduce{By: 200_000, After: 1}}
	return map[string]threshold.Threshold{
		"errors:rate<1% over 10s reduce to 50% after 2":                                             guard(threshold.Reduce{To: 500_000, After: 2}),
		"errors:rate<1% over 10s reduce to 0.5 after 2":                                             guard(threshold.Reduce{To: 500_000, After: 2}),
		"errors:rate<1% over 10s reduce by 20% after 300":                                           guard(threshold.Reduce{By: 200_000, After: 300}),
		"errors:rate<1% over 10s reduce by 33.3333% after 1":                                        guard(threshold.Reduce{By: 333_333, After: 1}),
		"errors:rate<1% over 10s reduce to 1% after 1":                                              guard(threshold.Reduce{To: 10_000, After: 1}),
		"errors:rate<1% over 10s reduce by 99% after 1":                                             guard(threshold.Reduce{By: 990_000, After: 1}),
		"errors:rate<1% over 10s reduce by 20% after 2 down to 100/s":                               guard(threshold.Reduce{By: 200_000, After: 2, Floor: 100}),
		"errors:rate<1% over 10s reduce by 20% after 2 down to 2.5k/s":                              guard(threshold.Reduce{By: 200_000, After: 2, Floor: 2500}),
		"errors:rate<1% over 10s reduce by 20% after 2 down to 30/m":                                guard(threshold.Reduce{By: 200_000, After: 2, Floor: 0.5}),
		"errors:rate<1% over 10s reduce by 20% after 2 restore after 10s":                           guard(threshold.Reduce{By: 200_000, After: 2, Restore: 10 * time.Second}),
		"errors:rate<1% over 10s reduce to 50% after 2 down to 100/s restore after 1h":              guard(threshold.Reduce{To: 500_000, After: 2, Floor: 100, Restore: time.Hour}),
		"\terrors : rate < 1%  over 10s  reduce  by 20%\tafter 2 down  to 1/s restore after 1m30s ": guard(threshold.Reduce{By: 200_000, After: 2, Floor: 1, Restore: 90 * time.Second}),
		"latency:p(99)<=1s over 5s reduce by 20% after 1":                                           slow,
		"checks:rate>90% over 1s reduce by 20% after 1":                                             checks,
	}
}

// badGuards have a reduction that cannot be, or text that does not belong to one.
func badGuards() []badThreshold {
	return []badThreshold{
		{"errors:rate<1% reduce by 20% after 2", 16, "reduce counts windows; say how long they are, such as over 5s reduce by 20% after 2"},
		{"errors{step=a}:rate<1% reduce by 20% after 2", 24, "leave out 'reduce', or the step"},
		{"errors:rate<1% over 5s abort after 2 reduce by 20% after 2", 38, "give a threshold for each"},
		{"errors:rate<1% over 5s reduce by 20% after 2 abort after 2", 46, `"abort after 2" does not belong there; after that there may be "down to 100/s", and then "restore after 60s"`},
		{"errors:rate>1% over 5s reduce by 20% after 2", 24, "a lower rate cannot mend this"},
		{"latency:p(99)>1s over 5s reduce by 20% after 2", 26, "a lower rate cannot mend this"},
		{"checks:count>100 over 5s reduce by 20% after 2", 26, "a lower rate cannot mend this"},
		{"rate:rate>900 over 5s reduce by 20% after 2", 23, "a lower rate cannot mend this"},
		{"rate:rate<900 over 5s reduce by 20% after 2", 23, "a lower rate cannot mend this"},
		{"errors:rate<1% over 6m reduce by 20% after 2", 24, "at most 5m0s long"},
		{"errors:rate<1% over 5s reduce", 30, "write reduce to 50% or reduce by 20%"},
		{"errors:rate<1% over 5s reduce 20% after 2", 31, "write reduce to 50%"},
		{"errors:rate<1% over 5s reduce from 20% after 2", 31, "write reduce to 50%"},
		{"errors:rate<1% over 5s reduce To 20% after 2", 31, "write reduce to 50%"},
		{"errors:rate<1% over 5s reduce by", 33, "give a share from 1% to 99%"},
		{"errors:rate<1% over 5s reduce by after 2", 34, "give a share from 1% to 99%"},
		{"errors:rate<1% over 5s reduce by -20% after 2", 34, "give a share from 1% to 99%"},
		{"errors:rate<1% over 5s reduce by 0% after 2", 34, "give a share from 1% to 99%"},
		{"errors:rate<1% over 5s reduce by 0.5% after 2", 34, "give a share from 1% to 99%"},
		{"errors:rate<1% over 5s reduce by 0.5 % after 2", 38, "write after 2"},
		{"errors:rate<1% over 5s reduce by 100% after 2", 34, "give a share from 1% to 99%"},
		{"errors:rate<1% over 5s reduce to 99.5% after 2", 34, "give a share from 1% to 99%"},
		{"errors:rate<1% over 5s reduce by 20 after 2", 34, "give a share from 1% to 99%; for 20 percent write 20%"},
		{"errors:rate<1% over 5s reduce to 1 after 2", 34, "for 1 percent write 1%"},
		{"errors:rate<1% over 5s reduce to 200/s after 2", 37, `"/s" is not a valid unit here; give a share from 1% to 99%`},
		{"errors:rate<1% over 5s reduce by 20%", 37, "write after 2, the number of windows in a row"},
		{"errors:rate<1% over 5s reduce by 20% 2", 38, "write after 2"},
		{"errors:rate<1% over 5s reduce by 20% after", 43, "the number of windows in a row, 1 to 300"},
		{"errors:rate<1% over 5s reduce by 20% after 0", 44, "1 to 300"},
		{"errors:rate<1% over 5s reduce by 20% after 301", 44, "1 to 300"},
		{"errors:rate<1% over 5s reduce by 20% after two", 44, "1 to 300"},
		{"errors:rate<1% over 5s reduce by 20% after 2s", 45, `"s" does not belong there; after that`},
		{"errors:rate<1% over 5s reduce by 20% after 2 down 100/s", 51, "write down to 100/s"},
		{"errors:rate<1% over 5s reduce by 20% after 2 down to", 53, "give a rate above 0"},
		{"errors:rate<1% over 5s reduce by 20% after 2 down to 0/s", 54, "give a rate above 0"},
		{"errors:rate<1% over 5s reduce by 20% after 2 down to 10%", 56, "give the rate with its unit, such as 100/s, 2.5k/s or 30/m"},
		{"errors:rate<1% over 5s reduce by 20% after 2 down to 100", 57, "give the rate with its unit"},
		{"errors:rate<1% over 5s reduce by 20% after 2 down to 2k", 55, "give the rate with its unit"},
		{"errors:rate<1% over 5s reduce by 20% after 2 down to 100/d", 57, "give the rate with its unit"},
		{"errors:rate<1% over 5s reduce by 20% after 2 down to 100 /s", 57, "give the rate with its unit"},
		{"errors:rate<1% over 5s reduce by 20% after 2 restore", 53, "write restore after 60s"},
		{"errors:rate<1% over 5s reduce by 20% after 2 restore 60s", 54, "write restore after 60s"},
		{"errors:rate<1% over 5s reduce by 20% after 2 restore after 60", 60, "give whole seconds from 5s, the window, to 1h0m0s, such as restore after 60s"},
		{"errors:rate<1% over 5s reduce by 20% after 2 restore after 4s", 60, "give whole seconds from 5s, the window"},
		{"errors:rate<1% over 5s reduce by 20% after 2 restore after 5500ms", 60, "give whole seconds"},
		{"errors:rate<1% over 5s reduce by 20% after 2 restore after 2h", 60, "give whole seconds"},
		{"errors:rate<1% over 5s reduce by 20% after 2 restore after 60s down to 9/s", 64, "does not belong there"},
		{"errors:rate<1% over 5s abort after 2 down to 9/s", 38, "does not belong there"},
		{"errors:rate<1% over 5s abort after 2 restore after 60s", 38, "does not belong there"},
		{"errors:rate<1% over 5s down to 9/s", 24, `and then "abort after 3" or "reduce by 20% after 3"`},
	}
}

// validReduce reports whether what was parsed is none, or in its bounds.
func validReduce(t threshold.Threshold) bool {
	r := t.Reduce
	share := r.To + r.By
	return r == (threshold.Reduce{}) || t.Guards() && t.Abort == 0 && (r.To == 0) != (r.By == 0) && share >= 10_000 && share <= 990_000 && r.After <= 300 &&
		r.Floor >= 0 && (r.Restore == 0 || r.Restore >= t.Over)
}

// TestGuardsAreConditionsOfTheirOwn asserts that two spellings of a guard are the same, and another reaction is another
// condition.
func TestGuardsAreConditionsOfTheirOwn(t *testing.T) {
	parse := func(text string) threshold.Threshold {
		t.Helper()
		got, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	guard := parse("errors:rate<1% over 5s reduce by 20% after 2 restore after 60s")
	if !guard.Same(parse("errors : rate < 0.01 over 5s reduce by 0.2 after 2 restore after 1m")) {
		t.Error("another spelling is another condition")
	}
	for _, other := range []string{
		"errors:rate<1% over 5s", "errors:rate<1% over 5s abort after 2", "errors:rate<1% over 5s reduce to 20% after 2 restore after 60s",
		"errors:rate<1% over 5s reduce by 20% after 2", "errors:rate<1% over 5s reduce by 20% after 2 down to 1/s restore after 60s",
	} {
		if guard.Same(parse(other)) {
			t.Errorf("%s is the same condition", other)
		}
	}
}
