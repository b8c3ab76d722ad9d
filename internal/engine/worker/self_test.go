package worker

import (
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

// TestWhoMadeItLate: each request that a stalled shard sends late counts as its own lateness. A request that waited
// for a connection does not.
func TestWhoMadeItLate(t *testing.T) {
	for _, c := range []struct {
		name          string
		still, busy   int64 // for how many ms, from 50 ms on
		maxInFlight   int
		late, waiting bool
	}{
		{"neither", 0, 0, 1000, false, false},
		{"too short to count", 10, 0, 1000, false, false},
		{"stood still", 60, 0, 1000, true, false},
		{"stood still for too long", 300, 0, 1000, true, false},
		{"no connection", 0, 60, 1000, false, true},
		{"no room to wait", 0, 60, 10, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &stepClient{keep: true}
			l := testLimits()
			l.maxInFlight = c.maxInFlight
			s := stepShard(client, 0, 1, l)
			s.given(law(1, 0, 1000, 600))
			for ; client.now < 1000*ms; client.now += ms {
				if client.now == 50*ms {
					client.now += c.still * ms
				}
				client.busy = client.now >= 50*ms && client.now < (50+c.busy)*ms
				s.turn(client.now)
				if err := client.Poll(0, s.done); err != nil {
					t.Fatal(err)
				}
			}
			n := audit(t, s, 600, record.NewSnapshot("w", "1"))
			var late, behind int64
			for _, x := range client.sent {
				if x.Sent-x.Due > grace {
					late++
				}
				if x.Sent > x.Due {
					behind++
				}
			}
			if want := late + n.LateDropped; c.late && (n.SeenLate != want || want == 0) || !c.late && n.SeenLate != 0 {
				t.Errorf("seen late %d, sent late %d, dropped %d", n.SeenLate, late, n.LateDropped)
			}
			if want := behind + n.LateDropped; c.waiting && (n.Busy != want || want == 0) || !c.waiting && n.Busy != 0 {
				t.Errorf("busy %d, sent later than due %d, dropped %d", n.Busy, behind, n.LateDropped)
			}
		})
	}
}

// openingClient is a stepClient that says why it refuses.
type openingClient struct {
	stepClient
	opening bool
}

func (c *openingClient) Opening() bool { return c.opening }

// TestWhatWasMissing: the counts distinguish busy connections, connections being opened, and a lack of room.
func TestWhatWasMissing(t *testing.T) {
	for _, c := range []struct {
		name          string
		busy, opening bool
		maxInFlight   int
		what          func(record.Counts) int64
		want          int64
	}{
		{"nothing", false, false, 1000, func(n record.Counts) int64 { return n.Sent }, 0},
		{"connections", true, false, 1000, func(n record.Counts) int64 { return n.Busy }, 100},
		{"connections, then room", true, false, 10, func(n record.Counts) int64 { return n.Busy }, 100},
		{"opened ones", true, true, 1000, func(n record.Counts) int64 { return n.Opening }, 100},
		{"opened ones, then room", true, true, 10, func(n record.Counts) int64 { return n.Opening }, 100},
		{"room", false, false, 10, func(n record.Counts) int64 { return n.NoRoom }, 90},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &openingClient{stepClient: stepClient{busy: c.busy}, opening: c.opening}
			l := testLimits()
			l.maxInFlight = c.maxInFlight
			s := stepShard(client, 0, 1, l)
			s.given(law(1, 0, 1000, 100))
			for ; client.now < 100*ms; client.now += ms { // without Poll: no answer comes
				s.turn(client.now)
			}
			n := audit(t, s, 100, record.NewSnapshot("w", "1"))
			if c.want > 0 && c.what(n) != c.want || n.Busy+n.Opening+n.NoRoom != c.want {
				t.Errorf("busy %d, opening %d, no room %d, want %d of one", n.Busy, n.Opening, n.NoRoom, c.want)
			}
		})
	}
}
