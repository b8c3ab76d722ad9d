package worker

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

// TestGateStood: how long a closed loop was shut after its start, by silence and by pauses, up to the last reply and no longer than the run.
func TestGateStood(t *testing.T) {
	type reply struct {
		status         pacer.Status
		at, stood      int64 // ms
		silent, paused int64 // ms, after it
	}
	for _, c := range []struct {
		name    string
		length  time.Duration
		replies []reply
	}{
		{"heard in time", 0, []reply{{pacer.StatusOK, 900, 0, 0, 0}, {pacer.StatusOK, 1900, 0, 0, 0}, {pacer.StatusOK, 2899, 0, 0, 0}}},
		{"silence", 0, []reply{
			{pacer.StatusOK, 2000, 0, 0, 0}, {pacer.StatusSuspect, 5900, 0, 0, 0}, {pacer.StatusOK, 6000, 0, 3000, 0},
			{pacer.StatusOK, 6100, 0, 3000, 0}, {pacer.StatusOK, 7600, 0, 3500, 0},
		}},
		{"silence until the end", 5 * time.Second, []reply{{pacer.StatusOK, 2000, 0, 0, 0}, {pacer.StatusEnded, 9000, 0, 3000, 0}}},
		{"the end comes to be known a little later", 5 * time.Second, []reply{{pacer.StatusOK, 5500, 0, 0, 0}, {pacer.StatusEnded, 9000, 0, 0, 0}}},
		{"silence, then a stop", 0, []reply{{pacer.StatusOK, 2000, 0, 0, 0}, {pacer.StatusStopped, 4000, 0, 1000, 0}}},
		{"pauses", 0, []reply{
			{pacer.StatusOK, 2000, 0, 0, 0}, {pacer.StatusPaused, 2600, 500, 0, 500}, {pacer.StatusPaused, 4000, 1900, 0, 1900},
			{pacer.StatusOK, 4200, 2000, 0, 2000}, {pacer.StatusOK, 4500, pacer.LeftUnseen, 0, 2000},
		}},
	} {
		g := gate{started: func() int64 { return 1_000_000 }, length: c.length, alone: time.Second}
		for i, r := range c.replies {
			if r.stood > 0 {
				r.stood *= 1000 // the others are no times
			}
			g.heard(pacer.Reply{Status: r.status, LeasedAt: r.at * 1000, Now: r.at * 1000, Stood: r.stood, Horizon: 500_000})
			if silent, paused := g.silent.Load()/1000, g.paused.Load()/1000; silent != r.silent || paused != r.paused {
				t.Errorf("%s, reply %d: silent %d, paused %d ms, want %d and %d", c.name, i, silent, paused, r.silent, r.paused)
			}
		}
	}
}

// TestGateStoodRepeated: after a silence the first reply may be one that was made before it. It tells of the silence, and the next one not again.
func TestGateStoodRepeated(t *testing.T) {
	g := gate{started: func() int64 { return 1_000_000 }, alone: time.Second}
	for i, r := range []struct{ at, now, silent int64 }{{2000, 2000, 0}, {2000, 6000, 3000}, {2000, 6050, 3050}, {6100, 6100, 3100}, {6200, 6200, 3100}} {
		g.heard(pacer.Reply{Status: pacer.StatusOK, LeasedAt: r.at * 1000, Now: r.now * 1000, Horizon: 500_000})
		if silent := g.silent.Load() / 1000; silent != r.silent {
			t.Errorf("reply %d: silent %d ms, want %d", i, silent, r.silent)
		}
	}
}

// disconnected is a Client whose requests go over no connection.
type disconnected struct{ stepClient }

func (*disconnected) Connects() bool { return false }

// TestNoConnectionsToLack: of a target that does not connect, no slot is told to have found no connection, and no closed loop how many it had.
func TestNoConnectionsToLack(t *testing.T) {
	for _, c := range []struct {
		name   string
		client Client
		want   bool
	}{
		{"connects", &stepClient{busy: true}, true},
		{"does not", &disconnected{stepClient{busy: true}}, false},
	} {
		var notice atomic.Pointer[pacer.Notice]
		l := testLimits()
		l.maxInFlight = 10
		s := stepShard(c.client, 0, 1, &notice, l)
		s.lease(pacer.Range{Law: law(1, 0, 1000, 1), First: 0, N: 50})
		for now := int64(0); now < 100*ms; now += ms {
			s.turn(now)
		}
		n := audit(t, s, 50, report.NewSnapshot("w", "1"))
		if n.LateDropped == 0 || n.Opening != 0 || n.NoRoom != 0 || c.want != (n.Busy == 50) || !c.want && n.Busy != 0 {
			t.Errorf("%s: %+v", c.name, n)
		}
	}
}

// plain is a Target that tells nothing about itself.
type plain struct{ targets.Target }

// TestWhoConnects: a Target is taken to connect unless it says that it does not, as noop does.
func TestWhoConnects(t *testing.T) {
	open := func(url string) targets.Target {
		target, err := targets.New(targets.Spec{URL: url}, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { target.Close() })
		return target
	}
	for _, c := range []struct {
		name   string
		target targets.Target
		want   bool
	}{
		{"http", open("http://127.0.0.1:1"), true}, {"noop", open("noop://"), false}, {"a new one", plain{open("noop://")}, true},
	} {
		a := NewAdapter(pacer.NewClock(), c.target, 1)
		var notice atomic.Pointer[pacer.Notice]
		if s := stepShard(a, 0, 1, &notice, testLimits()); s.connects != c.want {
			t.Errorf("%s: connects %v", c.name, s.connects)
		}
		a.Close()
	}
}

// TestMostInFlight: a closed loop tells how many requests it had on the wire at once, if these are connections.
func TestMostInFlight(t *testing.T) {
	for _, c := range []struct {
		client Client
		want   int64
	}{{&stepClient{now: 1000 * ms}, 7}, {&disconnected{stepClient{now: 1000 * ms}}, 0}} {
		var notice atomic.Pointer[pacer.Notice]
		l := testLimits()
		l.maxInFlight = 7
		s := stepShard(c.client, 0, 1, &notice, l)
		loop(s)
		s.turn(1000 * ms)
		sum := report.NewSnapshot("w", "1")
		if counts(s, sum); sum.MostInFlight != c.want {
			t.Errorf("%d, want %d", sum.MostInFlight, c.want)
		}
	}
}

// TestPlace: an interval belongs to its middle, and a rest of nothing but answers to the second before it.
func TestPlace(t *testing.T) {
	for _, c := range []struct{ begin, end, sent, want int64 }{
		{11_000, 12_000, 5, 11_500}, {12_000, 12_015, 0, 12_000}, {12_000, 12_015, 1, 12_007}, {12_000, 12_300, 0, 12_150}, {500, 2000, 1, 1500},
	} {
		in := report.NewSnapshot("w", "1")
		in.Start, in.End, in.Counts.Sent = c.begin*1000, c.end*1000, c.sent
		got := place(in, 1_000_000)
		if c.want == c.begin && got != c.want*1000-1 || c.want != c.begin && got/1000 != c.want {
			t.Errorf("%d to %d with %d sent: %d", c.begin, c.end, c.sent, got)
		}
	}
}

// TestMeasuredOfTheRun: what a worker measured before the first slot is not of the run, and a beat in which it began is cut there.
func TestMeasuredOfTheRun(t *testing.T) {
	const started = 10_000_000
	now := int64(0)
	p := publisher{started: func() int64 { return started }, total: report.NewSnapshot("w", "1"), gate: &gate{}}
	p.meter = newMeter(func() int64 { return now }, []*shard{{client: new(Adapter)}}, 1)
	defer p.meter.close()
	for i, c := range []struct{ sent, ends, wall int64 }{{0, started - 200_000, 0}, {3, started + 600_000, 600_000_000}, {0, started + 1_600_000, 1_000_000_000}} {
		now += 1_000_000_000
		last := report.NewSnapshot("w", "1")
		last.Counts.Sent, last.End = c.sent, c.ends
		p.gate.silent.Store(int64(i) * 1_000_000)
		if last.Self = p.measured(last); last.Self.Wall != c.wall || last.Self.Silent != 1_000_000_000 && c.wall > 0 {
			t.Errorf("%d: %+v, want %d ns", i, last.Self, c.wall)
		}
		if i == 1 { // what was before it is in it
			last.Self.Silent = 1_000_000_000
		}
		p.total.Merge(last)
	}
}
