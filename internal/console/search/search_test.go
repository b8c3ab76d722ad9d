package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// service is c servers that share one queue, each busy for d per request, with a generator that sends evenly or, with
// poisson, at random.
type service struct {
	c       int
	d       time.Duration
	poisson bool
	rng     *rand.Rand
}

// probe plays this many seconds at a rate and returns the 99th percentile of the latency. Request k is done at
// max(arrival, done(k−c)) + d.
func (s service) probe(rate float64, seconds int) time.Duration {
	done, at := make([]float64, s.c), 0.0
	var took []float64
	for k := range int(rate * float64(seconds)) {
		if gap := 1 / rate; s.poisson {
			at += s.rng.ExpFloat64() * gap
		} else {
			at = float64(k)*gap + 0.001*s.rng.Float64()
		}
		end := max(at, done[k%s.c]) + s.d.Seconds()
		done[k%s.c] = end
		took = append(took, end-at)
	}
	slices.Sort(took)
	return time.Duration(took[len(took)*99/100] * float64(time.Second))
}

// play searches until the end.
func play(t *testing.T, p Plan, probe func(rate float64) Outcome) Result {
	t.Helper()
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	for rate, ok := s.Next(); ok; rate, ok = s.Next() {
		if n := len(s.Result().Probes); n > 60 || !(rate > 0) || rate > p.To {
			t.Fatalf("probe %d at %v/s: %+v", n, rate, s.Result())
		}
		s.Record(Measured{Outcome: probe(rate)})
		r := s.Result()
		if r.Rate >= r.Failed {
			t.Fatalf("%v/s passed and %v/s failed: %+v", r.Rate, r.Failed, r.Probes)
		}
	}
	s.Record(Measured{Outcome: Failed}) // after the end nothing counts
	return s.Result()
}

// TestSearchFindsCapacity: 8 servers with 10 ms each have 800/s. They are found within 5 %, ten times out of ten.
func TestSearchFindsCapacity(t *testing.T) {
	for _, poisson := range []bool{false, true} {
		objective := 50 * time.Millisecond
		if poisson {
			objective = 150 * time.Millisecond // at 95 % of the capacity a queue of random arrivals is long already
		}
		for seed := range uint64(10) {
			s := service{8, 10 * time.Millisecond, poisson, rand.New(rand.NewPCG(seed, 3))}
			r := play(t, Plan{From: 100, To: 50_000}, func(rate float64) Outcome {
				if s.probe(rate, 20) < objective {
					return Passed
				}
				return Failed
			})
			if r.End != Found || r.Rate < 0.95*800 || r.Rate > 1.05*800 || len(r.Probes) > 25 {
				t.Errorf("poisson %v, seed %d: %s %.0f/s after %d probes", poisson, seed, r.End, r.Rate, len(r.Probes))
			}
		}
	}
}

// step is a service that meets its objectives up to a rate.
func step(knee float64) func(float64) Outcome {
	return func(rate float64) Outcome {
		if rate <= knee {
			return Passed
		}
		return Failed
	}
}

// TestSearchSteps: the probes that are played, and their phases.
func TestSearchSteps(t *testing.T) {
	r := play(t, Plan{From: 100, To: 50_000}, step(800))
	var phases []string
	for _, p := range r.Probes {
		phases = append(phases, string(p.Phase))
	}
	// 100 to 1600, then 1131, 951.2, 872.3, 835.4 and 817.5, then 800 again
	const want = "double double double double double bisect bisect bisect bisect bisect confirm"
	if got := strings.Join(phases, " "); got != want || r.Rate != 800 || r.Failed > 800*1.03 {
		t.Errorf("%s: %+v", got, r)
	}
	for knee := 40.0; knee < 40_000; knee *= 1.37 {
		r := play(t, Plan{From: 100, To: 50_000}, step(knee))
		if r.End != Found || r.Rate > knee || r.Rate < knee/1.03 || r.Failed <= knee || r.Failed > 1.03*r.Rate {
			t.Errorf("knee %v: %+v", knee, r)
		}
	}
}

// TestSearchEnds: at the highest rate, and below the lowest.
func TestSearchEnds(t *testing.T) {
	if r := play(t, Plan{From: 100, To: 1_500}, step(1e9)); r.End != AboveTo || r.Rate != 1_500 || !math.IsInf(r.Failed, 1) || len(r.Probes) != 6 {
		t.Errorf("%+v", r)
	}
	if r := play(t, Plan{From: 100, To: 100}, step(1e9)); r.End != AboveTo || r.Rate != 100 {
		t.Errorf("%+v", r)
	}
	if r := play(t, Plan{From: 100, To: 1_500}, step(0)); r.End != BelowFrom || r.Rate != 0 || len(r.Probes) != 5 {
		t.Errorf("%+v", r)
	}
}

// TestSearchConfirms: rates that passed by luck are no answer; the search goes on below them and confirms again.
func TestSearchConfirms(t *testing.T) {
	lucky := 0
	r := play(t, Plan{From: 100, To: 10_000}, func(rate float64) Outcome {
		if rate > 800 && rate < 1_000 && lucky < 2 {
			lucky++
			return Passed
		}
		return step(800)(rate)
	})
	if r.End != Found || r.Rate > 800 || r.Rate < 800/1.03 || lucky != 2 {
		t.Errorf("%+v", r)
	}
	var confirmed []Outcome
	for _, p := range r.Probes {
		if p.Phase == Confirming {
			confirmed = append(confirmed, p.Outcome)
		}
	}
	if want := []Outcome{Failed, Failed, Passed}; !slices.Equal(confirmed, want) || r.Probes[len(r.Probes)-1].Rate != r.Rate {
		t.Errorf("confirmed with %v, want %v: %+v", confirmed, want, r.Probes)
	}
}

// TestSearchWithoutAnswer: a probe whose generator was the limit is repeated three times, and never counts as a
// failure.
func TestSearchWithoutAnswer(t *testing.T) {
	r := play(t, Plan{From: 100, To: 50_000}, func(rate float64) Outcome {
		if rate > 500 {
			return NoAnswer
		}
		return Passed
	})
	if r.End != Unknown || r.Rate != 400 || !math.IsInf(r.Failed, 1) || len(r.Probes) != 7 {
		t.Fatalf("%+v", r)
	}
	for _, p := range r.Probes[3:] {
		if p.Rate != 800 {
			t.Errorf("repeated %v/s: %+v", p.Rate, r)
		}
	}
	// Single lost probes do not change the search.
	n := 0
	r = play(t, Plan{From: 100, To: 50_000}, func(rate float64) Outcome {
		if n++; n%3 == 0 {
			return NoAnswer
		}
		return step(800)(rate)
	})
	if r.End != Found || r.Rate != 800 {
		t.Errorf("%+v", r)
	}
}

func TestSearchRefuses(t *testing.T) {
	for _, p := range []Plan{
		{}, {From: 100}, {From: 100, To: 50}, {From: -1, To: 50}, {From: math.NaN(), To: 50}, {From: 1, To: math.NaN()}, {From: 1, To: math.Inf(1)},
	} {
		if _, err := New(p); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

// TestOutcomes have names for the report.
func TestOutcomes(t *testing.T) {
	if Passed.String() != "passed" || Failed.String() != "failed" || NoAnswer.String() != "no answer" {
		t.Error(Passed, Failed, NoAnswer)
	}
}
