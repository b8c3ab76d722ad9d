package threshold

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// asking is a stretch in which 10 requests a second are sent. answers says what the query cpu answered in each second: a number,
// - where it was not asked, ? where it gave no answer.
func asking(answers string, stale time.Duration) Stretch {
	all := strings.Fields(answers)
	s := Stretch{End: int64(len(all)), Width: 1, Asked: func(from, to int64) int64 { return (to - from) / 100_000 }}
	for i := range s.End {
		s.Points = append(s.Points, record.Point{Index: i, Width: 1, Sent: 10, Completed: 10, Latency: record.NewPoint(0, 1).Latency})
	}
	s.Answers = Answers{Stale: stale, At: func(query string, second int64) record.Value {
		var v float64
		switch text := all[second]; {
		case query != "cpu" || text == "-":
			return record.Value{}
		case text == "?":
			return record.Value{Missed: 1}
		default:
			fmt.Sscan(text, &v)
			return record.Answer(v)
		}
	}}
	return s
}

func must(t *testing.T, text string) Threshold {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestQueryWindows: a window is judged by all answers in it. Without one it is undecided, and it fails once the query was asked in vain for
// too long.
func TestQueryWindows(t *testing.T) {
	const rest = " - - - -"
	for _, c := range []struct {
		condition, answers string
		stale              time.Duration
		want               string // of the last window
		shown              string
	}{
		{"value<1", "0.5 - - - - 0.9" + rest, 30, Passed, "0.9"},
		{"value<1", "1.5 - - - - 0.9" + rest, 30, Failed, "1.5"}, // each has to hold, not the mean or the last
		{"value<1", "0.9 - - - - 1" + rest, 30, Failed, "1"},
		{"value<=1", "0.9 - - - - 1" + rest, 30, Passed, "1"},
		{"value>1", "0.5 - - - - 9" + rest, 30, Failed, "0.5"},
		{"value>=-5", "-4.5 - - - - 9" + rest, 30, Passed, "-4.5"},
		{"value<-5", "-4.5 - - - - -9" + rest, 30, Failed, "-4.5"},
		{"value<0", "-1 - - - - -2" + rest, 30, Passed, "-1"},
		{"value==2", "2 - - - - 2" + rest, 30, Passed, "2"},
		{"value==2", "2 - - - - 1" + rest, 30, Failed, "1"},
		{"value==0", "0 - - - - 1" + rest, 30, Failed, "1"},
		{"value<2.5G", "2000000000 - - - - 1" + rest, 30, Passed, "2000000000"},
		{"value<1", "- - - - - -" + rest, 10, Undecided, ""},                                                  // nobody asked, so nobody is blind
		{"value<1", "? - - - - ?" + rest, 30, Undecided, ""},                                                  // not for so long
		{"value<1", "? - - - - ?" + rest, 10, Failed, "no answer to the query for longer than --query-stale"}, // since the beginning
		{"value<1", "0.5 - - - - ?" + rest, 10, Passed, "0.5"},
		{"value<1", "0.5 - - - - 0.5 - - - - ? - - - - ?" + rest, 10, Failed, "no answer to the query for longer than --query-stale"},
		{"value<1", "0.5 - - - - 0.5 - - - - ? - - - - ?" + rest, 15, Undecided, ""},
		{"value<1", "9 - - - - 9 - - - - - - - - - -" + rest, 10, Undecided, ""}, // the fleet had no judge
		{"value<1", "0.5 - - - - ? - - - - ? - - - - 0.5" + rest, 10, Passed, "0.5"},
		{"value<1", "0.5 - - - - ? - - - - ? - - - - 2" + rest, 10, Failed, "2"},
	} {
		v := must(t, "query{cpu}:"+c.condition+" over 10s").Verdicts(asking(c.answers, c.stale*time.Second), 1)
		if len(v) != 1 || v[0].Result != c.want || v[0].Text != c.shown {
			t.Errorf("%s with %q: %+v, want %s, %q", c.condition, c.answers, v, c.want, c.shown)
		}
	}
}

// TestQueryLongWindow: a window longer than --query-stale fails if there was no answer for so long at its end, whatever it began with.
func TestQueryLongWindow(t *testing.T) {
	const answers = "0.5 - - - - ? - - - - ? - - - - ? - - - -"
	for stale, want := range map[time.Duration]string{15: Failed, 16: Failed, 19: Failed, 20: Passed} {
		if v := must(t, "query{cpu}:value<1 over 20s").Verdicts(asking(answers, stale*time.Second), 1); len(v) != 1 || v[0].Result != want {
			t.Errorf("%d s: %+v, want %s", stale, v, want)
		}
	}
}

// TestQueryAborts: with abort after 1 one bad answer stops a run, and the generator at its limit is no excuse. Other queries and the
// rest of the run do not count.
func TestQueryAborts(t *testing.T) {
	abort := must(t, "query{cpu}:value<1 over 10s abort after 1")
	bad := asking(strings.Repeat("0.5 - - - - ", 3)+"1.5", 30*time.Second)
	if !abort.Aborts(bad) {
		t.Error("a bad answer does not stop the run")
	}
	bad.Limited = bad.End
	if !abort.Aborts(bad) {
		t.Error("somebody else has measured the value, so the generator is no excuse")
	}
	if must(t, "query{ram}:value<1 over 10s abort after 1").Aborts(bad) || abort.Aborts(asking(strings.Repeat("0.5 - - - - ", 3), 30*time.Second)) {
		t.Error("a run is stopped without a bad answer")
	}
	if again := must(t, "query{cpu}:value<1 over 10s abort after 2"); again.Aborts(bad) {
		t.Error("one window is two")
	}
}

// TestQueryWindowsOfAnyWidth: however wide points are, and wherever answers lie, a window fails exactly if one of its answers is bad.
func TestQueryWindowsOfAnyWidth(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var answers []string
		for range 64 {
			answers = append(answers, []string{"-", "-", "-", "0.5", "1.5", "?"}[rng.IntN(6)])
		}
		narrow := asking(strings.Join(answers, " "), 5*time.Minute)
		wide := narrow
		wide.Width, wide.Points = 4, nil
		for i := range int64(16) {
			wide.Points = append(wide.Points, record.Point{Index: i, Width: 4, Sent: 40, Completed: 40, Latency: record.NewPoint(0, 1).Latency})
		}
		wide.Answers.At = func(query string, at int64) (sum record.Value) {
			for second := at; second < at+4; second++ {
				sum.Add(narrow.Answers.At(query, second))
			}
			return sum
		}
		for _, s := range []Stretch{narrow, wide} {
			for _, v := range must(t, "query{cpu}:value<1 over 12s").Verdicts(s, 100) {
				in := answers[v.Begin:v.End]
				want := Undecided
				for _, a := range in {
					if a == "1.5" {
						want = Failed
					} else if a == "0.5" && want == Undecided {
						want = Passed
					}
				}
				if v.Result != want || v.End-v.Begin != 12 {
					t.Fatalf("seed %d, width %d: %v is %+v, want %s", seed, s.Width, in, v, want)
				}
			}
		}
	}
}
