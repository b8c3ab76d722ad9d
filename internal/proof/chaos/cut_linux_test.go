package chaos

import (
	"fmt"
	"time"
)

// A way is which packets are lost when a worker is cut off from Redis. The endpoint is always reachable.
type way struct {
	name           string
	calls, replies string // what nft does to them; "" = nothing
}

func ways() []way {
	return []way{{"calls are lost", all, ""}, {"replies are lost", "", all}, {"nothing gets through", all, all}}
}

// cut cuts the network off.
func (s *stage) cutOff(w way) {
	s.t.Helper()
	s.breaks()
	s.network.lose(s.port(), w.calls, w.replies)
}

// contactTime is how long a worker may need after a cut until a call succeeds. It gives up an attempt after 250 ms and
// waits for as long. The first answer only says that it must ask again.
const contactTime = 600 * time.Millisecond

// phi is the rate of the workers that can be cut off: their leases are for it.
func (s *stage) phi() float64 { return float64(s.qps) * float64(s.cut) / float64(s.workers) }

// heal ends the cut.
func (s *stage) heal() {
	s.t.Helper()
	s.network.lose(s.port(), "", "")
}

// share is the least share of the rate in each second before, during and after a cut of 3 of 8 workers. The others go
// on, and those cut off send until their leases end.
const share = 0.9

// cutScenarios: some workers cannot reach Redis, and the others can.
func cutScenarios() []scenario {
	var list []scenario
	for i, w := range ways() {
		when := onlyFull
		if i == 1 {
			when = daily
		}
		list = append(list, scenario{
			name: "3 of 8 cut off for 3 s: " + w.name, when: when, cut: 3, lasts: 9 * time.Second,
			play: func(s *stage) {
				s.cutOff(w)
				s.promise(s.fault-int64(time.Second), s.ends(), share)
				s.last(3 * time.Second)
				s.heal()
			},
		})
	}
	for _, w := range ways() {
		list = append(list, scenario{
			name: "1 of 8 cut off for 7 s, beyond its lease: " + w.name, cut: 1, lasts: 12 * time.Second,
			play: func(s *stage) {
				s.cutOff(w)
				s.last(7 * time.Second)
				s.heal()
			},
		})
	}
	return append(list, duringCut("rate up", 3000), duringCut("rate down", 1000), duringCut("rate down below their share, and half up", 500, 1000), scenario{
		name: "pause and resume while 3 of 8 are cut off", cut: 3, lasts: 11 * time.Second, play: func(s *stage) {
			s.cutOff(ways()[2])
			s.last(1500 * time.Millisecond)
			s.rate(s.change("pause", name), s.rateDuringCut(0))
			s.last(1500 * time.Millisecond)
			s.heal()
			s.last(contactTime)
			s.rate(s.web.Now(), 0)
			s.last(time.Second)
			s.rate(s.change("resume", name), float64(s.qps))
		},
	}, scenario{
		name: "stop while 1 of 8 is cut off", cut: 1, lasts: 20 * time.Second, play: func(s *stage) {
			s.cutOff(ways()[2])
			s.last(time.Second)
			s.stopped = true
			s.rate(s.change("stop", name), s.phi()) // it returns when the lease of the cut-off worker has ended
			s.silent(s.web.Now())
			s.heal()
		},
	})
}

// rateDuringCut returns the rate while workers that are cut off do not receive a change. Each of them still sends its
// part of the previous rate.
func (s *stage) rateDuringCut(rate float64) float64 {
	cut := float64(s.cut) / float64(s.workers)
	return (1-cut)*rate + cut*float64(s.qps)
}

// duringCut changes the rate in the middle of a cut of 3 of 8, 150 ms apart. No second falls below a share of what the
// laws known to each worker ask for.
func duringCut(what string, rates ...int64) scenario {
	return scenario{name: what + " while 3 of 8 are cut off", cut: 3, lasts: 11 * time.Second, play: func(s *stage) {
		s.cutOff(ways()[2])
		s.last(1500 * time.Millisecond)
		last := 0.0
		for i, rate := range rates {
			if i > 0 {
				s.last(150 * time.Millisecond)
			}
			last = float64(rate)
			s.rate(s.change("set-rate", name, fmt.Sprint(rate)), s.rateDuringCut(last))
		}
		s.last(1500 * time.Millisecond)
		s.promise(s.fault-int64(time.Second), s.web.Now(), share)
		s.rate(s.web.Now(), max(last, s.rateDuringCut(last)))
		s.heal()
		s.last(contactTime)
		s.rate(s.web.Now(), last)
		s.promise(s.web.Now(), s.ends(), share)
	}}
}
