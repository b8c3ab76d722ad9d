package worker

import (
	"testing"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// refusing is a client that refuses requests on some of its connections at once.
type refusing struct {
	stepClient
	connections, refused int
	tried                int // requests that were refused
	class                string
	written              int64
}

func (c *refusing) Send(now, due int64, call targets.Call) bool {
	return len(c.flight) < c.connections && c.stepClient.Send(now, due, call)
}

func (c *refusing) Poll(_ int64, done func(targets.Result)) error {
	for i, r := range c.flight {
		r.Done, r.Outcome = c.now, targets.Outcome{Status: 200, BytesOut: 1}
		// The client uses good connections first, so the refusing ones are at the end.
		if i >= c.connections-c.refused {
			r.Outcome = targets.Outcome{Class: c.class, BytesOut: c.written}
			c.tried++
		}
		done(r)
	}
	c.flight = c.flight[:0]
	return nil
}

// TestClosedLoopRests: a closed loop tries one refused connection each ms. The other connections go on at full speed,
// and so do all once none is refused. Any answer counts as not refused.
func TestClosedLoopRests(t *testing.T) {
	const connections, turns = 20, 100_000 // of 10 µs: a second
	for _, c := range []struct {
		name    string
		refused int
		class   string
		written int64
		tries   [2]int // attempts: at least, at most
		good    int    // requests that succeed in each turn
	}{
		{"none", 0, "", 0, [2]int{0, 0}, connections},
		{"all", connections, targets.ClassConnect, 0, [2]int{900, 1100}, 0},
		{"some", 5, targets.ClassConnect, 0, [2]int{0, 1100}, connections - 5},
		{"bad answers", connections, targets.ClassStatus, 100, [2]int{turns * connections, turns * connections}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &refusing{connections: connections, refused: c.refused, class: c.class, written: c.written}
			client.now = 1000 * ms
			s := looped(client, 0, 1, testLimits())
			turn := func() {
				if until, _ := s.turn(client.now); until <= client.now {
					t.Fatalf("the next turn would be %d ns ago: the shard would spin", client.now-until)
				}
				client.now += 10_000
				if err := client.Poll(0, s.done); err != nil {
					t.Fatal(err)
				}
			}
			for range turns {
				turn()
			}
			n := counts(s, record.NewSnapshot("w", "1"))
			if client.tried < c.tries[0] || client.tried > c.tries[1] || int(n.Completed) < c.good*turns {
				t.Errorf("%d attempts were refused, want %v; %d completed, want %d", client.tried, c.tries, n.Completed, c.good*turns)
			}
			client.refused = 0
			for range 100 * connections { // a ms for each
				turn()
			}
			if s.turn(client.now); s.inFlight != connections {
				t.Errorf("when nothing is refused any more: %d of %d connections in use", s.inFlight, connections)
			}
		})
	}
}
