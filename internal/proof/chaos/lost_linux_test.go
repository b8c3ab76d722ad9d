package chaos

import (
	"encoding/json"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// inTime is the longest time until a command takes effect, even while the run is being restored.
const inTime = 500 * time.Millisecond

// promptStop bounds a stop that every worker can receive.
const promptStop = 2500 * time.Millisecond

// lostScenarios: Redis has lost the run, and a user gives commands before the earlier leases have ended.
func lostScenarios() []scenario {
	lost := func(what string, when when, lasts time.Duration, command func(s *stage)) scenario {
		return scenario{name: "FLUSHALL, then " + what, when: when, lasts: lasts, play: func(s *stage) {
			s.breaks()
			s.do("FLUSHALL")
			s.last(300 * time.Millisecond)
			s.counted = true
			command(s)
		}}
	}
	return []scenario{
		lost("pause and resume", onlyFull, 12*time.Second, func(s *stage) {
			from := s.changes(0, "pause", name)
			s.last(7 * time.Second)
			s.lasts += time.Duration(s.changes(float64(s.qps), "resume", name) - from)
			s.promise(s.web.Now()+int64(time.Second), s.ends(), enough)
		}),
		lost("rate down", onlyFull, 13*time.Second, func(s *stage) {
			s.changes(1000, "set-rate", name, "1000")
			s.comesBack()
		}),
		lost("rate up", onlyFull, 13*time.Second, func(s *stage) {
			s.changes(3000, "set-rate", name, "3000")
			s.comesBack()
		}),
		lost("stop", daily, 20*time.Second, (*stage).stops),
		{name: "FLUSHALL and stop at once", lasts: 20 * time.Second, play: func(s *stage) {
			s.asleep(func() {
				time.AfterFunc(300*time.Millisecond, s.wake)
				s.overrun = inTime
				s.stops()
			})
		}},
		{name: "FLUSHALL and stop, received 2 s later", lasts: 20 * time.Second, play: func(s *stage) {
			s.asleep(func() {
				s.stopped = true
				if p := start(s.t, nil, s.url, "loadctl", "stop", name); p.ends() != 104 {
					s.t.Errorf("stop of a run that no worker can bring back: %s", p.Stderr.String())
				}
				s.last(500 * time.Millisecond)
				s.rate(s.web.Now(), 0) // from now on nothing is asked for; the workers are asleep
				s.wake()
				s.allow(float64(s.qps)*inTime.Seconds(), "until they have received the stop")
			})
		}},
	}
}

// changes runs a command that must take effect in time. It makes this rate the one asked for from then on, and returns
// it.
func (s *stage) changes(rate float64, command ...string) int64 {
	s.t.Helper()
	given := s.web.Now()
	from := s.change(command...)
	late := time.Duration(from - given)
	s.t.Logf("%v is in force after %v", command, late)
	if full() && late > inTime {
		s.t.Errorf("%v is in force only after %v", command, late)
	}
	s.rate(from, rate)
	return from
}

// stops stops the run, and checks that this is prompt and nothing follows.
func (s *stage) stops() {
	s.t.Helper()
	s.stopped, s.counted = true, true
	given := s.web.Now()
	s.stoppedAt = s.changes(0, "stop", name)
	took := time.Duration(s.web.Now() - given)
	s.t.Logf("stop returned after %v", took)
	if full() && took > promptStop {
		s.t.Errorf("stop returned after %v", took)
	}
	if full() { // the machine may deliver late what was sent before
		s.silent(s.web.Now())
	}
}

// asleep plays while Redis has lost the run and no worker has noticed.
func (s *stage) asleep(play func()) {
	s.t.Helper()
	for _, p := range s.fleet {
		p.freeze()
	}
	s.breaks()
	s.do("FLUSHALL")
	play()
}

// wake lets the workers go on.
func (s *stage) wake() {
	for _, p := range s.fleet {
		p.signal(os.Signal(syscall.SIGCONT))
	}
}

// count compares the slots that the run says were asked for with the real number. They differ by how far the plan
// moved during the restoration.
func (s *stage) count(asked int64) {
	s.t.Helper()
	want := s.asked(s.began, s.began+int64(s.lasts))
	if s.stopped {
		want = s.asked(s.began, s.web.Now())
	}
	if d := float64(asked) - want; math.Abs(d) > 0.2*float64(s.qps) {
		s.t.Errorf("%d were asked for, by the commands it is %.0f", asked, want)
	}
}

// bygone checks that a stopped run is over in Redis, and that nothing is left that could start it again.
func (s *stage) bygone() {
	s.t.Helper()
	r, err := run.Open(s.t.Context(), s.redis.Client(), name)
	if err != nil || r.Phase != "stopped" {
		text, _ := json.Marshal(r)
		s.t.Errorf("the run is %s, %v", text, err)
	}
	if n := s.redis.Client().Exists(s.t.Context(), run.KeysOf(name).Stopped).Val(); n > 0 {
		s.t.Error("the note that it was stopped is left, though it has been read")
	}
}
