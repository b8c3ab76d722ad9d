package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// simulated is two workers that fire evenly, in virtual time, at a service of c servers with one queue, each busy for d
// per request.
type simulated struct {
	c  int
	d  time.Duration
	on time.Time // when it began

	first time.Duration // the first event of an answer comes so long after a server begins with it; 0 = answers come in one piece
	goal  time.Duration // an answer is good if its first event came within this

	pause time.Duration // each request is followed by another one, this long after its answer; 0 = by none
	later []time.Time   // when these are due

	rate  float64
	since time.Time
	due   time.Time // the next request
	fired int
	free  []time.Time // when each server is free, in turns
	ends  []end       // of requests that have not ended

	seq     uint64
	beats   []*record.Snapshot
	now     *[2]*record.Snapshot // the interval that goes on
	flying  int64
	skipped int64
	rates   []float64
	reasons []string

	spoil func(s *simulated, beat *record.Snapshot) bool // changes an interval before it is published; false = it is lost
	sight func(*Sight)
	fail  func() error
}

type end struct {
	at, due, begin time.Time
	worker         int
}

func newSimulated(c int, d time.Duration) *simulated {
	now := time.Now()
	return &simulated{c: c, d: d, on: now, since: now, due: now, free: make([]time.Time, c), now: blank()}
}

func blank() *[2]*record.Snapshot {
	return &[2]*record.Snapshot{record.NewSnapshot("w1", "a"), record.NewSnapshot("w2", "b")}
}

func (s *simulated) SetRate(_ context.Context, rate float64, why string) (time.Time, error) {
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return time.Time{}, err
		}
	}
	s.run()
	s.rate, s.since, s.due = rate, time.Now(), time.Now()
	s.rates, s.reasons = append(s.rates, rate), append(s.reasons, why)
	return time.Now(), nil
}

func (s *simulated) Look(context.Context) (Sight, error) {
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return Sight{}, err
		}
	}
	s.run()
	out := Sight{Now: time.Now(), Started: s.on, Rate: s.rate, Workers: []string{"w1/a", "w2/b"}, Beats: s.beats, InFlight: s.flying, Skipped: 7 + s.skipped}
	s.beats = nil
	if s.sight != nil {
		s.sight(&out)
	}
	return out, nil
}

// run catches up with the time, second by second.
func (s *simulated) run() {
	for {
		second := s.on.Add(time.Duration(s.seq+1) * time.Second)
		if time.Now().Before(second) {
			s.fire(time.Now())
			return
		}
		s.fire(second)
		s.publish(second)
	}
}

// next returns when the next request is due, and takes it. follows says that it follows another one.
func (s *simulated) next(until time.Time) (due time.Time, follows, ok bool) {
	switch first := s.rate > 0 && s.due.Before(until); {
	case len(s.later) > 0 && s.later[0].Before(until) && (!first || s.later[0].Before(s.due)):
		due, s.later = s.later[0], s.later[1:]
		return due, true, true
	case first:
		due = s.due
		s.due = s.due.Add(time.Duration(float64(time.Second) / s.rate * s.requests()))
		return due, false, true
	}
	return due, false, false
}

// requests returns how many requests a slot has.
func (s *simulated) requests() float64 {
	if s.pause > 0 {
		return 2
	}
	return 1
}

// fire sends what is due before a time, and ends what has ended.
func (s *simulated) fire(until time.Time) {
	for due, follows, ok := s.next(until); ok; due, follows, ok = s.next(until) {
		server, worker := s.fired%s.c, s.fired%2
		s.fired++
		begin := due
		if s.free[server].After(begin) {
			begin = s.free[server]
		}
		s.free[server] = begin.Add(s.d)
		s.ends = append(s.ends, end{s.free[server], due, begin, worker})
		if follows {
			s.now[worker].Counts.Followed++
		} else {
			s.now[worker].Counts.Sent++
		}
		if s.pause > 0 && !follows {
			s.later = append(s.later, s.free[server].Add(s.pause))
		}
		s.now[worker].Lag.Record(int64(time.Millisecond))
	}
	var left []end
	for _, e := range s.ends {
		if e.at.After(until) {
			left = append(left, e)
			continue
		}
		in := s.now[e.worker]
		in.Counts.Completed++
		in.Latency.Record(int64(e.at.Sub(e.due)))
		in.Service.Record(int64(e.at.Sub(e.due)))
		s.stream(in, e)
	}
	s.ends = left
}

// stream records the events of an answer that ended, if there are any: one at its begin and one at its end.
func (s *simulated) stream(in *record.Snapshot, e end) {
	if s.first == 0 {
		return
	}
	first := e.begin.Add(s.first)
	in.Streams.Answers++
	in.Streams.Events += 2
	in.Streams.FirstEvent.Record(int64(first.Sub(e.due)))
	in.Streams.Service.Record(int64(first.Sub(e.due)))
	in.Streams.Gap.Record(int64(e.at.Sub(first)))
	in.Streams.Stream.Record(int64(e.at.Sub(e.due)))
	in.Counts.Judged++
	if first.Sub(e.due) <= s.goal {
		in.Counts.Good++
	}
}

// publish ends the interval.
func (s *simulated) publish(at time.Time) {
	s.seq++
	s.flying = int64(len(s.ends))
	for _, in := range s.now {
		in.Start, in.End, in.Seq = at.Add(-time.Second).UnixMicro(), at.UnixMicro(), s.seq
		if s.spoil == nil || s.spoil(s, in) {
			s.beats = append(s.beats, in)
		}
	}
	s.now = blank()
}

// limited changes an interval to one of a generator that was too slow.
func limited(in *record.Snapshot) {
	in.Self = record.Self{Wall: 1e9, Cores: 1, CPU: record.NewLoad(95e7, 1e9)}
	in.JudgeBeat()
}

// search plays a search against the service.
func (s *simulated) search(t *testing.T, length time.Duration, plan Plan, slos ...string) (Result, error) {
	t.Helper()
	return s.searchFor(t, length, plan, append([]string{"latency:p(99)<50ms"}, slos...)...)
}

// searchFor is search with only these objectives.
func (s *simulated) searchFor(t *testing.T, length time.Duration, plan Plan, slos ...string) (Result, error) {
	t.Helper()
	d := Driver{Fleet: s, Length: length, Settle: 500*time.Millisecond + s.pause, Drain: 30 * time.Second, Steps: s.requests(), Pause: s.pause}
	for _, text := range slos {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		d.Objectives = append(d.Objectives, threshold)
	}
	machine, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	d.Show = func(p Probe) { t.Logf("%v: %s/s %s %v", time.Since(s.on), Rate(p.Rate), p.Phase, p.Measured) }
	err = d.Run(t.Context(), machine)
	return machine.Result(), err
}

// usual is the default plan.
func usual() Plan { return Plan{From: 100, To: 50_000} }

// TestDriverFindsCapacity: 8 servers with 10 ms each have 800/s. The search takes less than 90 s with windows of 3 s,
// and the length of the window does not change the result.
func TestDriverFindsCapacity(t *testing.T) {
	for _, length := range []time.Duration{2 * time.Second, 3 * time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated(8, 10*time.Millisecond)
			r, err := s.search(t, length, usual(), "errors:rate<0.1%")
			if err != nil || r.End != Found || math.Abs(r.Rate-800) > 40 || r.Failed < r.Rate || r.Failed > 840 {
				t.Errorf("%v: %v, %+v", length, err, r)
			}
			if took := time.Since(s.on); length == 3*time.Second && took > 80*time.Second {
				t.Errorf("it took %v", took)
			}
			if last := s.reasons[len(s.reasons)-1]; s.rate != 0 || !strings.HasPrefix(last, "end of a search: the highest that passed is ") {
				t.Errorf("at the end %v: %s", s.rate, last)
			}
			for i, rate := range s.rates[:len(s.rates)-1] {
				if (i%2 == 1) != (rate == 0) {
					t.Fatalf("rates %v", s.rates)
				}
			}
		})
	}
}

// TestDriverFindsCapacityOfStreams asserts that a search by thresholds on answers in pieces, or by goals, finds how many a server can
// write: 40 at a time, of half a second each, are 80 a second. What a queue may add in a probe before the limit is missed is part
// of the bound.
func TestDriverFindsCapacityOfStreams(t *testing.T) {
	for _, slo := range []string{"first_event:p(95)<150ms", "ttft:p(99)<150ms", "stream:p(95)<550ms", "goodput:rate>=95%"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated(40, 500*time.Millisecond)
			s.first, s.goal = 100*time.Millisecond, 150*time.Millisecond
			r, err := s.searchFor(t, 5*time.Second, Plan{From: 25, To: 1000}, slo)
			if err != nil || r.End != Found || r.Rate < 80/1.03 || r.Rate > 80*1.03*1.02 || r.Failed < 80 {
				t.Errorf("%s: %v, %+v", slo, err, r)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // gaps are the same at any rate: no rate misses them
		s := newSimulated(40, 500*time.Millisecond)
		s.first = 100 * time.Millisecond
		r, err := s.searchFor(t, 5*time.Second, Plan{From: 25, To: 60}, "event_gap:max<410ms", "events:rate>1/s")
		if err != nil || r.End != AboveTo || r.Rate != 60 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestDriverOfFlows: with two requests in each flow, the rates are still those of requests. No probe begins while flows of
// the one before are between two requests, and requests that follow are counted.
func TestDriverOfFlows(t *testing.T) {
	for _, pause := range []time.Duration{10 * time.Millisecond, 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated(8, 10*time.Millisecond)
			s.pause = pause
			s.sight = func(*Sight) {
				if s.rate > 0 && time.Since(s.since) == 0 && len(s.ends)+len(s.later) > 0 {
					t.Errorf("%d requests in flight and %d to follow when %v/s begins", len(s.ends), len(s.later), s.rate)
				}
			}
			r, err := s.search(t, 5*time.Second, usual(), "errors:rate<0.1%")
			if err != nil || r.End != Found || math.Abs(r.Rate-800) > 40 || r.Failed < r.Rate || r.Failed > 840 {
				t.Errorf("%v: %v, %+v", pause, err, r)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // both kinds of requests pile up
		s := newSimulated(8, 10*time.Millisecond)
		s.pause = time.Second
		r, err := s.search(t, 20*time.Second, Plan{From: 1200, To: 1200})
		if p := r.Probes[0]; err != nil || p.Outcome != Failed || p.Length > 4*time.Second || !strings.Contains(p.Why, "more requests were in flight; ended early") {
			t.Errorf("%v, %+v", err, p)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a tenth of those that follow come too late
		s := newSimulated(8, 10*time.Millisecond)
		s.pause = time.Second
		s.spoil = func(_ *simulated, in *record.Snapshot) bool {
			late := in.Counts.Followed / 10
			in.Counts.Followed, in.Counts.Completed, in.Counts.FollowedLate = in.Counts.Followed-late, in.Counts.Completed-late, late
			return true
		}
		r, err := s.search(t, 3*time.Second, Plan{From: 400, To: 400}, "errors:rate<1%")
		if p := r.Probes[0]; err != nil || p.Outcome != Failed || !strings.Contains(p.Why, " of 1200 requests were not sent, because no connection was free in time") {
			t.Errorf("%v, %+v", err, p)
		}
	})
}

// TestDriverEndsAFailingProbe: at one and a half times the capacity, two seconds of a window of 20 s suffice; a slow
// service without a growing queue is measured to the end.
func TestDriverEndsAFailingProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		r, err := s.search(t, 20*time.Second, Plan{From: 1200, To: 1200})
		p := r.Probes[0]
		if err != nil || p.Outcome != Failed || p.Length != 2*time.Second || !strings.Contains(p.Why, "each second 400 more requests were in flight") {
			t.Errorf("%v, %+v", err, p)
		}
		if took := r.Probes[1].At.Sub(p.At); took > 7*time.Second { // of which 2 for the queue
			t.Errorf("the next one after %v", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(100, 60*time.Millisecond)
		r, err := s.search(t, 20*time.Second, Plan{From: 100, To: 100})
		if p := r.Probes[0]; err != nil || r.End != BelowFrom || p.Outcome != Failed || p.Length != 20*time.Second || p.Why != "latency:p(99)<50ms: 60.0ms" {
			t.Errorf("%v, %+v", err, p)
		}
	})
}

// TestDriverWaitsForAnEmptyQueue: no probe begins before everything has been answered. A queue that does not drain in
// time ends the search.
func TestDriverWaitsForAnEmptyQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		s.sight = func(seen *Sight) {
			if s.rate > 0 && time.Since(s.since) == 0 && len(s.ends) > 0 {
				t.Errorf("%d requests of before when %v/s begins", len(s.ends), s.rate)
			}
			_ = seen
		}
		if r, err := s.search(t, 3*time.Second, usual()); err != nil || r.End != Found {
			t.Errorf("%v, %+v", err, r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		s.sight = func(seen *Sight) {
			if len(s.rates) > 2 {
				seen.InFlight++ // it is never answered
			}
		}
		r, err := s.search(t, 3*time.Second, usual())
		if last := r.Probes[len(r.Probes)-1]; err != nil || r.End != Unknown || len(r.Probes) != 2 || last.Why != "requests were still in flight 30s after it" {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestDriverSetsALostRateAgain: Redis loses the command that set the rate to 0, and the fleet would go on sending to a
// service that has just failed.
func TestDriverSetsALostRateAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lost := newSimulated(8, 10*time.Millisecond), false
		s.sight = func(*Sight) {
			if n := len(s.rates); !lost && n > 1 && s.rate == 0 && s.rates[n-2] == 1600 {
				s.rate, s.due, lost = 1600, time.Now(), true
			}
		}
		r, err := s.search(t, 3*time.Second, usual())
		zeros := 0
		for i := range s.rates[1:] {
			if s.rates[i] == 0 && s.rates[i+1] == 0 {
				zeros++
			}
		}
		if err != nil || r.End != Found || !lost || zeros != 2 { // the second is the end of the search
			t.Errorf("%v, %+v, rates %v", err, r, s.rates)
		}
	})
	synctest.Test(t, func(t *testing.T) { // somebody else fires for ever
		s := newSimulated(8, 10*time.Millisecond)
		s.sight = func(*Sight) {
			if n := len(s.rates); n > 1 && s.rate == 0 {
				s.rate, s.due = 1600, time.Now()
			}
		}
		r, err := s.search(t, 3*time.Second, usual())
		if p := r.Probes[0]; err != nil || r.End != Unknown || !strings.Contains(p.Why, "requests were still in flight 30s after it") {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestDriverWithoutAnswer: if the generator was the limit, a snapshot or a worker is missing, or not all was sent,
// there is no answer. The probe is repeated. Finally the search ends without an answer, and never with a failure.
func TestDriverWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *simulated, in *record.Snapshot) bool
		why   string
	}{
		"limit": {func(_ *simulated, in *record.Snapshot) bool { limited(in); return true }, "the generator was the limit: worker w1 (cpu) and 1 more"},
		"gap":   {func(_ *simulated, in *record.Snapshot) bool { return in.Worker != "w2" || in.Seq%2 == 0 }, "a snapshot of worker w2 is missing"},
		"dead":  {func(_ *simulated, in *record.Snapshot) bool { return in.Worker != "w2" }, "no snapshot came from w2/b"},
		"stretched": {func(_ *simulated, in *record.Snapshot) bool {
			if in.Worker == "w2" {
				in.Start -= 2_000_000
			}
			return true
		}, "worker w2 did not publish each second"},
		"idle": {func(s *simulated, in *record.Snapshot) bool {
			lost := in.Counts.Sent / 10
			in.Counts.Sent, in.Counts.Completed, s.skipped = in.Counts.Sent-lost, in.Counts.Completed-lost, s.skipped+lost
			return true
		}, "due requests: a worker is missing"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated(8, 10*time.Millisecond)
			s.spoil = func(s *simulated, in *record.Snapshot) bool { return s.rate <= 1000 && s.rate > 0 || c.spoil(s, in) }
			r, err := s.search(t, 3*time.Second, usual())
			n := len(r.Probes)
			if err != nil || r.End != Unknown || r.Rate != 800 || !math.IsInf(r.Failed, 1) || n != 8 || !strings.Contains(r.Probes[n-1].Why, c.why) {
				t.Errorf("%s: %v, %+v", name, err, r)
			}
			s = newSimulated(8, 10*time.Millisecond)
			spoiled := 0
			s.spoil = func(s *simulated, in *record.Snapshot) bool { // now and then only
				if s.rate > 1500 && spoiled < 8 {
					spoiled++
					return c.spoil(s, in)
				}
				return true
			}
			if r, err := s.search(t, 3*time.Second, usual()); err != nil || r.End != Found || math.Abs(r.Rate-800) > 40 || len(r.Probes) < 12 {
				t.Errorf("%s: %v, %+v", name, err, r)
			}
		})
	}
}

// TestDriverWithoutWorkers: the driver does not wait for workers that have gone.
func TestDriverWithoutWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		s.sight = func(seen *Sight) { seen.Workers, seen.Beats = nil, nil }
		r, err := s.search(t, 3*time.Second, Plan{From: 100, To: 100})
		if p := r.Probes[0]; err != nil || r.End != Unknown || p.Why != "there are no workers" || len(r.Probes) != 4 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestDriverPassesWhatTheGeneratorDelays: delays of a generator count as latency. So if all was sent and every
// objective is met, the probe passed.
func TestDriverPassesWhatTheGeneratorDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		s.spoil = func(_ *simulated, in *record.Snapshot) bool { limited(in); return true }
		r, err := s.search(t, 3*time.Second, Plan{From: 100, To: 400})
		if err != nil || r.End != AboveTo || r.Rate != 400 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestDriverDoesNotPassWhatHidesDelays: service times and errors do not get worse if the generator sends late, so then
// they prove nothing.
func TestDriverDoesNotPassWhatHidesDelays(t *testing.T) {
	for slo, passes := range map[string]bool{"service:p(99)<50ms": false, "errors:rate<1%": false, "latency:p(99)<50ms": true} {
		for _, late := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(8, 10*time.Millisecond)
				s.spoil = func(_ *simulated, in *record.Snapshot) bool {
					if late {
						limited(in)
					}
					return true
				}
				r, err := s.searchFor(t, 3*time.Second, Plan{From: 400, To: 400}, slo)
				if p := r.Probes[0]; err != nil || (p.Outcome == Passed) != (passes || !late) || p.Outcome == Failed {
					t.Errorf("%s, late %v: %v, %+v", slo, late, err, p)
				}
			})
		}
	}
}

// TestDriverShowsWhoseQueueItIs: the maximum number of requests is in flight. If the service is slow, that is its
// limit; else it is the generator's.
func TestDriverShowsWhoseQueueItIs(t *testing.T) {
	for d, outcome := range map[time.Duration]Outcome{10 * time.Millisecond: NoAnswer, 100 * time.Millisecond: Failed} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated(1000, d)
			s.spoil = func(_ *simulated, in *record.Snapshot) bool {
				dropped := in.Counts.Sent / 3
				in.Counts.Sent, in.Counts.Completed = in.Counts.Sent-dropped, in.Counts.Completed-dropped
				in.Counts.LateDropped, in.Counts.NoRoom = dropped, dropped
				in.Self = record.Self{Wall: 1e9, Cores: 1, CPU: record.NewLoad(1e7, 1e9)}
				in.JudgeBeat()
				return true
			}
			r, err := s.search(t, 3*time.Second, Plan{From: 400, To: 400})
			if p := r.Probes[0]; err != nil || p.Outcome != outcome {
				t.Errorf("%v: %v, %+v", d, err, p)
			}
		})
	}
}

// TestDriverOfAServiceThatIsNotThere: nothing ends, or all is dropped for lack of a connection. The probe fails, at
// every rate.
func TestDriverOfAServiceThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(1000, 5*time.Second)
		r, err := s.search(t, 3*time.Second, Plan{From: 100, To: 400})
		if p := r.Probes[0]; err != nil || r.End != BelowFrom || !strings.Contains(p.Why, "latency:p(99)<50ms: nothing was measured") {
			t.Errorf("%v, %+v", err, r)
		}
	})
	for name, of := range map[string]int64{"dropped": 50, "waiting": 10} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated(8, 10*time.Millisecond)
			s.spoil = func(_ *simulated, in *record.Snapshot) bool {
				unsent := in.Counts.Sent / of
				in.Counts.Sent, in.Counts.Completed = in.Counts.Sent-unsent, in.Counts.Completed-unsent
				if name == "dropped" {
					in.Counts.LateDropped = unsent
				}
				return true
			}
			r, err := s.search(t, 3*time.Second, Plan{From: 400, To: 400}, "errors:rate<1%")
			if p := r.Probes[0]; err != nil || p.Outcome != Failed || !strings.Contains(p.Why, "requests were not sent, because no connection was free in time") {
				t.Errorf("%s: %v, %+v", name, err, r)
			}
		})
	}
}

// TestDriverNeedsTheRunForItself: a rate set by another command ends the search; failed calls to the fleet are repeated
// for a while.
func TestDriverNeedsTheRunForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		s.sight = func(seen *Sight) {
			if s.rate == 400 {
				seen.Rate = 401
			}
		}
		r, err := s.search(t, 3*time.Second, usual())
		if !errors.Is(err, ErrTaken) || len(r.Probes) != 2 || r.End != "" || r.Rate != 200 {
			t.Errorf("%v, %+v", err, r)
		}
	})
	for length, found := range map[time.Duration]bool{2 * time.Second: true, time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated(8, 10*time.Millisecond)
			away := errors.New("no answer")
			s.fail = func() error {
				if since := time.Since(s.on); since > 20*time.Second && since < 20*time.Second+length {
					return away
				}
				return nil
			}
			r, err := s.search(t, 3*time.Second, usual())
			if found && (err != nil || r.End != Found) || !found && (!errors.Is(err, away) || time.Since(s.on) > 31*time.Second) {
				t.Errorf("away for %v: after %v: %v, %+v", length, time.Since(s.on), err, r)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		gone := errors.New("there is no such run")
		s.fail = func() error { return FinalError{gone} }
		if _, err := s.search(t, 3*time.Second, usual()); !errors.Is(err, gone) || time.Since(s.on) > 0 {
			t.Errorf("%v after %v", err, time.Since(s.on))
		}
	})
}

// TestDriverEndsWithItsContext: at once, with the cause.
func TestDriverEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(8, 10*time.Millisecond)
		why := errors.New("a signal")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 17*time.Second, why)
		defer cancel()
		machine, err := New(usual())
		if err != nil {
			t.Fatal(err)
		}
		d := Driver{Fleet: s, Length: 3 * time.Second, Drain: time.Second}
		if err := d.Run(ctx, machine); !errors.Is(err, why) || time.Since(s.on) != 17*time.Second || len(machine.Result().Probes) == 0 {
			t.Errorf("%v after %v", err, time.Since(s.on))
		}
	})
}

// TestObjective: objectives that a probe cannot judge are refused.
func TestObjective(t *testing.T) {
	for text, says := range map[string]string{
		"latency:p(99)<50ms": "", "errors:rate<0.1%": "", "service:avg<=1s": "", "lag:p(99)<10ms": "", "dropped:count<1": "", "status{code=5xx}:count==0": "",
		"latency:p(99)<50ms over 10s":               "leave out 'over'",
		"latency:p(99)<50ms over 10s abort after 3": "leave out 'over'",
		"rate:rate>500":                             "the search sets the rate",
		"latency:max<3s":                            "within --step-for 3s no request can miss it",
	} {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := Objective(threshold, 3*time.Second); fmt.Sprint(err) == "<nil>" != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
