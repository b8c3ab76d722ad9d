package chaos

import (
	"fmt"
	"time"
)

// A way is what does not get through when a worker is cut off from Redis. The endpoint is reached all the time.
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
	if w.calls == "" {
		s.allow(s.phi()*float64(repliesOnly)/1e9, "replies only: a third of Ts at the rate of those cut off")
	}
}

// repliesOnly is for how long the server goes on granting to a member whose replies are lost: Ts/3, with Ts = 0.6·H.
const repliesOnly = 100 * time.Millisecond

// heard is how long after a cut a worker may need until a call gets through: it gives up an attempt after 250 ms, waits for as long, and
// its first answer only says that it must ask again.
const heard = 600 * time.Millisecond

// phi is the rate of those that can be cut off: what their promises are for.
func (s *stage) phi() float64 { return float64(s.qps) * float64(s.cut) / float64(s.workers) }

// heal ends the cut.
func (s *stage) heal() {
	s.t.Helper()
	s.network.lose(s.port(), "", "")
}

// share is how much of the rate each second has while 3 of 8 are cut off, before and after: the others fire on, and those cut off up to their promises.
const share = 0.9

// cutScenarios: some workers cannot reach Redis, and the others can.
func cutScenarios() []scenario {
	var list []scenario
	for i, w := range ways() {
		list = append(list, scenario{
			name: "3 of 8 cut off for 3 s: " + w.name, short: i == 1, cut: 3, lasts: 9 * time.Second,
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
			name: "1 of 8 cut off for 7 s, beyond its promise: " + w.name, cut: 1, lasts: 12 * time.Second,
			play: func(s *stage) {
				s.cutOff(w)
				s.last(7 * time.Second)
				s.heal()
			},
		})
	}
	return append(list, duringCut("rate up", share, setRate(3000)), duringCut("rate down", share, setRate(1000)), duringCut("rate down below their share, and half up", share, func(s *stage) {
		// As long as they do not hear of it, they fire on: the rate is not lower than that.
		s.rate(s.change("set-rate", name, "500"), s.phi())
		s.last(150 * time.Millisecond)
		setRate(1000)(s)
	}), duringCut("pause and resume", 0, func(s *stage) {
		// Those cut off do not hear of the pause: they fire on, until they do or their promises end.
		s.rate(s.change("pause", name), s.phi())
		s.last(1500 * time.Millisecond)
		s.heal()
		s.last(heard)
		s.rate(s.web.Now(), 0)
		s.last(time.Second)
		s.rate(s.change("resume", name), float64(s.qps))
	}), scenario{
		name: "stop while 1 of 8 is cut off", cut: 1, lasts: 20 * time.Second, play: func(s *stage) {
			s.cutOff(ways()[2])
			s.last(time.Second)
			s.stopped = true
			s.rate(s.change("stop", name), s.phi()) // it returns when the promise has run out: the one that is cut off hears nothing
			s.silent(s.web.Now())
			s.heal()
		},
	})
}

func setRate(perSecond int64) func(s *stage) {
	return func(s *stage) { s.rate(s.change("set-rate", name, fmt.Sprint(perSecond)), float64(perSecond)) }
}

// duringCut is a command in the middle of a cut of 3 of 8, and the share of the rate that no second falls below.
func duringCut(what string, share float64, command func(s *stage)) scenario {
	return scenario{name: what + " while 3 of 8 are cut off", cut: 3, lasts: 11 * time.Second, play: func(s *stage) {
		s.cutOff(ways()[2])
		s.promise(s.fault-int64(time.Second), s.ends(), share)
		s.last(1500 * time.Millisecond)
		command(s)
		s.last(1500 * time.Millisecond)
		s.heal()
	}}
}
