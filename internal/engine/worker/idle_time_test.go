package worker

import (
	"testing"

	"github.com/loadctl/loadctl/internal/engine/blocking"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// TestStandstill: a closed loop reports for how long it stood still, through silence and pauses. That time ends with
// the last View, and with the run at the latest.
func TestStandstill(t *testing.T) {
	law := func(id, at int64, phase lease.Phase, end int64) lease.Law {
		return lease.Law{Law: pacer.Law{ID: id, T0: at * 1000, Den: 1}, Prev: id - 1, Phase: phase, End: end, ClockEpoch: 1}
	}
	const endless = pacer.Endless
	first := law(1, 1000, lease.Running, endless)
	type step struct {
		at, p          int64 // ms: when the View comes, and the length of its lease
		laws           []lease.Law
		silent, paused int64 // ms, after it
	}
	for name, steps := range map[string][]step{
		"replies in time":       {{900, 1900, []lease.Law{first}, 0, 0}, {1900, 2900, nil, 0, 0}, {2899, 3899, nil, 0, 0}},
		"silence":               {{2000, 3000, []lease.Law{first}, 0, 0}, {6000, 7000, nil, 3000, 0}, {6100, 7100, nil, 3000, 0}, {7600, 8600, nil, 3500, 0}},
		"silence before it":     {{200, 300, []lease.Law{first}, 0, 0}, {1100, 2000, nil, 100, 0}},
		"silence until the end": {{2000, 3000, []lease.Law{law(1, 1000, lease.Running, 6_000_000)}, 0, 0}, {9000, 10_000, []lease.Law{law(2, 6000, lease.Ended, endless)}, 3000, 0}},
		"silence, then a stop":  {{2000, 3000, []lease.Law{first}, 0, 0}, {4000, 5000, []lease.Law{law(2, 3500, lease.Stopped, endless)}, 500, 0}},
		"pauses": {
			{2000, 3000, []lease.Law{first}, 0, 0}, {2600, 3600, []lease.Law{law(2, 2100, lease.Paused, endless)}, 0, 500}, {3500, 4500, nil, 0, 1400},
			{4200, 5200, []lease.Law{law(3, 4100, lease.Running, endless)}, 0, 2000}, {4500, 5500, nil, 0, 2000},
		},
		"a late lease is not counted twice": {{2000, 3000, []lease.Law{first}, 0, 0}, {6000, 3000, nil, 3000, 0}, {6050, 3000, nil, 3050, 0}, {6100, 7100, nil, 3100, 0}, {6200, 7200, nil, 3100, 0}},
	} {
		var still idleTime
		var laws *lease.Laws
		for i, x := range steps {
			laws = laws.With(x.laws...)
			still.take(x.at*1000, &lease.View{Version: i + 1, ClockEpoch: 1, Laws: laws, P: x.p * 1000})
			if silent, paused := still.silent.Load()/1000, still.paused.Load()/1000; silent != x.silent || paused != x.paused {
				t.Errorf("%s, View %d: silent %d, paused %d ms, want %d and %d", name, i, silent, paused, x.silent, x.paused)
			}
		}
	}
}

// disconnected is a Client whose requests use no connection.
type disconnected struct{ stepClient }

func (*disconnected) Connects() bool { return false }

// TestNoConnectionsToLack: if a target does not connect, no slot counts as lacking a connection. A closed loop then
// does not report how many connections it had.
func TestNoConnectionsToLack(t *testing.T) {
	for _, c := range []struct {
		name   string
		client Client
		want   bool
	}{
		{"connects", &stepClient{busy: true}, true},
		{"does not", &disconnected{stepClient{busy: true}}, false},
	} {
		l := testLimits()
		l.maxInFlight = 10
		s := stepShard(c.client, 0, 1, l)
		s.given(law(1, 0, 1000, 50))
		for now := int64(0); now < 100*ms; now += ms {
			s.turn(now)
		}
		n := audit(t, s, 50, record.NewSnapshot("w", "1"))
		if n.LateDropped == 0 || n.Opening != 0 || n.NoRoom != 0 || c.want != (n.Busy == 50) || !c.want && n.Busy != 0 {
			t.Errorf("%s: %+v", c.name, n)
		}
	}
}

// plain is a Target that says nothing about itself, and stating one that says whether it connects.
type plain struct{ targets.Target }

type stating struct {
	targets.Target
	connects bool
}

func (t stating) Connects() bool { return t.connects }

// TestWhoConnects: a Target counts as one that connects, unless it says that it does not.
func TestWhoConnects(t *testing.T) {
	for _, c := range []struct {
		name   string
		target targets.Target
		want   bool
	}{
		{"one that connects", stating{connects: true}, true}, {"one that does not", stating{}, false}, {"a new one", plain{}, true},
	} {
		a := blocking.New(pacer.NewClock(), c.target, 1)
		if s := stepShard(a, 0, 1, testLimits()); s.connects != c.want {
			t.Errorf("%s: connects %v", c.name, s.connects)
		}
		a.Close()
	}
}

// TestMostInFlight: a closed loop reports its largest number of requests in flight, if each of them has a connection.
func TestMostInFlight(t *testing.T) {
	for _, c := range []struct {
		client Client
		want   int64
	}{{&stepClient{now: 1000 * ms}, 7}, {&disconnected{stepClient{now: 1000 * ms}}, 0}} {
		l := testLimits()
		l.maxInFlight = 7
		s := looped(c.client, 0, 1, l)
		s.turn(1000 * ms)
		sum := record.NewSnapshot("w", "1")
		if counts(s, sum); sum.MostInFlight != c.want {
			t.Errorf("%d, want %d", sum.MostInFlight, c.want)
		}
	}
}

// TestPlace: an interval counts in the second of its middle. A rest with only answers counts in the second before.
func TestPlace(t *testing.T) {
	for _, c := range []struct{ begin, end, sent, want int64 }{
		{11_000, 12_000, 5, 11_500}, {12_000, 12_015, 0, 12_000}, {12_000, 12_015, 1, 12_007}, {12_000, 12_300, 0, 12_150}, {500, 2000, 1, 1500},
	} {
		in := record.NewSnapshot("w", "1")
		in.Start, in.End, in.Counts.Sent = c.begin*1000, c.end*1000, c.sent
		got := place(in, 1_000_000)
		if c.want == c.begin && got != c.want*1000-1 || c.want != c.begin && got/1000 != c.want {
			t.Errorf("%d to %d with %d sent: %d", c.begin, c.end, c.sent, got)
		}
	}
}

// TestMeasuredOfTheRun: what a worker measured before the first slot does not belong to the run. The measuring
// interval in which the run begins is cut there.
func TestMeasuredOfTheRun(t *testing.T) {
	const started = 10_000_000
	now := int64(0)
	p := publisher{started: func() int64 { return started }, total: record.NewSnapshot("w", "1"), idleTime: &idleTime{}}
	p.meter = newMeter(func() int64 { return now }, []*shard{{client: new(blocking.Client)}}, 1)
	defer p.meter.Close()
	for i, c := range []struct{ sent, ends, wall int64 }{{0, started - 200_000, 0}, {3, started + 600_000, 600_000_000}, {0, started + 1_600_000, 1_000_000_000}} {
		now += 1_000_000_000
		last := record.NewSnapshot("w", "1")
		last.Counts.Sent, last.End = c.sent, c.ends
		p.idleTime.silent.Store(int64(i) * 1_000_000)
		if last.Self = p.measured(last); last.Self.Wall != c.wall || last.Self.Silent != 1_000_000_000 && c.wall > 0 {
			t.Errorf("%d: %+v, want %d ns", i, last.Self, c.wall)
		}
		if i == 1 { // this snapshot includes the silence before it
			last.Self.Silent = 1_000_000_000
		}
		p.total.Merge(last)
	}
}
