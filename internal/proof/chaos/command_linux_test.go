package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// commandScenarios: the process that gives commands dies.
func commandScenarios() []scenario {
	return []scenario{{name: "set-rate killed, 20 times", when: daily, lasts: 9 * time.Second, play: func(s *stage) {
		s.breaks()
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			p := start(s.t, nil, s.url, "loadctl", "set-rate", name, fmt.Sprint(500+500*rng.IntN(4)))
			s.last(time.Duration(rng.Int64N(int64(40 * time.Millisecond))))
			p.Kill()
			s.last(200 * time.Millisecond)
		}
		s.change("set-rate", name, fmt.Sprint(s.qps)) // any other loadctl can go on
		s.asLawsSay = true
	}}}
}

// obey takes the rate asked for from the laws in Redis, because it is unknown which commands arrived in time.
func (s *stage) obey() {
	s.t.Helper()
	r, err := run.Open(s.t.Context(), s.redis.Client(), name)
	if err != nil {
		s.t.Error(err)
		return
	}
	state, err := r.State(s.t.Context())
	if err != nil {
		s.t.Error(err)
		return
	}
	s.asked = func(from, to int64) float64 {
		return float64(state.AskedAt(time.Unix(0, to)) - state.AskedAt(time.Unix(0, from)))
	}
	s.allow(1, "slots are whole")
}
