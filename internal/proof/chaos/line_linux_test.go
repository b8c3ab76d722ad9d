package chaos

import (
	"time"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// lineScenarios: the network to Redis is bad.
func lineScenarios() []scenario {
	const least, most = 50 * time.Millisecond, 150 * time.Millisecond
	return []scenario{
		{name: "5 % of packets lost, 3 of 8", cut: 3, lasts: 9 * time.Second, play: func(s *stage) {
			s.breaks()
			s.network.lose(s.port(), percent, percent)
			s.last(5 * time.Second)
			s.network.lose(s.port(), "", "")
		}},
		{
			name: "round trips of 100 to 300 ms", lasts: 10 * time.Second,
			place: func(s *stage) {
				s.redis = redistest.Start(s.t)
				s.url = "redis://" + newProxy(s.t, s.redis.Addr(), least, most).addr()
				s.line = 65 * time.Millisecond // half of the shortest round trip on this line
			},
			play: func(s *stage) { s.breaks() },
		},
	}
}
