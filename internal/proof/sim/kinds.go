package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// gap is the time between the end of a fault and the next fault.
const gap = 1500 * time.Millisecond

// A kind is one kind of fault. With `on`, it begins with another kind.
type kind struct {
	name string
	draw func(draw)
	on   string
}

// kinds returns all kinds of fault.
func kinds() []kind {
	return []kind{
		{"healthy", func(draw) {}, ""},
		{"loss", draw.loss, ""},
		{"cut-replies", draw.cutReplies, ""},
		{"cut-calls", draw.cutCalls, ""},
		{"outage", draw.outage, ""},
		{"failover", draw.failover, ""},
		{"freeze", draw.freeze, ""},
		{"crash", draw.crash, ""},
		{"stall", draw.stall, ""},
		{"churn", draw.churn, ""},
		{"rates", draw.rates, ""},
		{"clock", draw.clock, ""},
		{"lost", draw.lost, ""},
		{"mix", draw.mix, ""},
		{"suspend", draw.suspend, "stall"},
		{"requests", draw.requests, "rates"},
		{"rm", draw.rm, "crash"},
		{"deserted", draw.deserted, "rates"},
		{"lost-late", draw.lostLate, "rates"},
		{"motion", draw.motion, "churn"},
		{"eras", draw.steps, "churn"},
		{"relapse", draw.relapse, "churn"},
		{"copies", draw.copies, "churn"},
		{"short", draw.short, "churn"},
		{"storm", draw.storm, "churn"},
		{"rights", draw.rights, "churn"},
	}
}

// begin is when the first fault may begin: the run is under way.
const begin = 3 * time.Second

// end is when the last fault may begin.
func (d draw) end() time.Duration { return max(begin+time.Second, d.Length-4*time.Second) }

// loss loses messages all the time. At times it loses all messages of some members, one way or both.
func (d draw) loss() {
	d.Net.LoseCall, d.Net.LoseBack = 0.1*d.rng.Float64(), 0.1*d.rng.Float64()
	for range d.rng.IntN(6) {
		at := d.between(begin, d.end())
		cut := Span{at, at + d.between(50*time.Millisecond, 600*time.Millisecond)}
		way := d.rng.IntN(3)
		for _, i := range d.some(1 + d.rng.IntN(len(d.Members))) {
			d.cut(i, cut, way != 0, way != 1)
		}
	}
}

func (d draw) cut(i int, s Span, calls, back bool) {
	m := &d.Members[i]
	if calls {
		m.CutCalls = append(m.CutCalls, s)
	}
	if back {
		m.CutBack = append(m.CutBack, s)
	}
}

func (d draw) cuts(calls, back bool) {
	at := begin
	for range 1 + d.rng.IntN(2) {
		at = d.between(at, at+4*time.Second)
		long := d.between(300*time.Millisecond, 4*time.Second)
		if d.chance(0.3) {
			long = d.between(4*time.Second, 12*time.Second)
		}
		s := Span{at, at + long}
		k := 1 + d.rng.IntN(len(d.Members)) // from one to all
		if d.chance(0.5) {
			k = 1 + d.rng.IntN((len(d.Members)+1)/2)
		}
		for _, i := range d.some(k) {
			d.cut(i, s, calls, back)
		}
		at = s.To
	}
}

func (d draw) cutReplies() { d.cuts(false, true) }

func (d draw) cutCalls() { d.cuts(true, d.chance(0.5)) }

// outage makes the server unreachable for all.
func (d draw) outage() {
	d.chance(0.5) // keeps the meaning of old seeds
	d.Options.PermitFor = 10_000_000
	at := begin
	for range 1 + d.rng.IntN(2) {
		at = d.between(at, at+4*time.Second)
		s := Span{at, at + d.between(500*time.Millisecond, 5*time.Second)}
		d.Down = append(d.Down, s)
		at = s.To + gap
	}
}

// failover promotes a replica that has forgotten something.
func (d draw) failover() {
	d.chance(0.5) // keeps the meaning of old seeds
	at := begin
	for range 1 + d.rng.IntN(2) {
		at = d.between(at+time.Second, at+4*time.Second)
		f := Failover{Forgets: d.between(0, time.Second)}
		if d.chance(0.2) {
			f.Forgets = 0
		}
		if d.chance(0.5) {
			f.Skew = d.between(-5*time.Millisecond, 5*time.Millisecond)
		}
		down := Span{at, at + d.between(0, 3*time.Second)}
		if d.chance(0.3) {
			down.To = at + 1
		}
		f.At = down.To
		f.Forgets += down.To - down.From // the replica also learned nothing while the server was away
		d.Down = append(d.Down, down)
		d.Failover = append(d.Failover, f)
		at = down.To + gap
	}
}

// freeze stops the server. Calls that come in between are served when it goes on.
func (d draw) freeze() {
	at := begin
	for range 1 + d.rng.IntN(3) {
		at = d.between(at, at+3*time.Second)
		s := Span{at, at + d.between(100*time.Millisecond, 3*time.Second)}
		if d.chance(0.1) {
			s.To = at + d.between(3*time.Second, 12*time.Second)
		}
		d.Frozen = append(d.Frozen, s)
		at = s.To + gap
	}
}

// crash kills some members.
func (d draw) crash() {
	at := d.between(begin, begin+2*time.Second)
	for _, i := range d.some(1 + d.rng.IntN(max(1, len(d.Members)/2))) {
		d.Members[i].Crash = at + d.between(0, 300*time.Millisecond)
	}
}

// deserted kills all members. Commands still come, and so may a new member.
func (d draw) deserted() {
	at := d.between(begin, d.end())
	for i := range d.Members {
		d.Members[i].Crash = at + d.between(0, 300*time.Millisecond)
	}
	if d.chance(0.5) {
		again := d.Members[0]
		again.Incarnation, again.Crash, again.Join = "2", 0, at+d.between(500*time.Millisecond, 10*time.Second)
		d.Members = append(d.Members, again)
	}
}

// stall stops worker processes for a while.
func (d draw) stall() {
	for range 1 + d.rng.IntN(4) {
		at := d.between(begin, d.end())
		long := d.between(10*time.Millisecond, time.Second)
		if d.chance(0.4) {
			long = d.between(time.Second, 20*time.Second)
		}
		for _, i := range d.some(1 + d.rng.IntN(max(1, len(d.Members)/4))) {
			m := &d.Members[i]
			if len(m.Pauses) == 0 || m.Pauses[len(m.Pauses)-1].To < at {
				m.Pauses = append(m.Pauses, Span{at, at + long + d.between(0, time.Millisecond)})
			}
		}
	}
}

// churn lets members join, leave, crash and come back.
func (d draw) churn() {
	old := len(d.Members)
	d.Options.Min = max(1, int64(old)/2)
	for i := range d.Members {
		m := &d.Members[i]
		if i >= int(d.Options.Min) {
			m.Join = d.between(0, d.end())
		}
		switch d.rng.IntN(4) {
		case 0:
			m.Leave = d.between(max(m.Join, begin), d.Length)
		case 1:
			m.Crash = d.between(max(m.Join, begin), d.Length)
		}
		if stopped := max(m.Leave, m.Crash); stopped > 0 && d.chance(0.5) {
			again := *m
			again.Incarnation, again.Join = "2", stopped+d.between(100*time.Millisecond, 2*time.Second)
			again.Leave, again.Crash = 0, 0
			again.Weight = 1 + d.rng.Int64N(3)
			d.Members = append(d.Members, again)
		}
	}
}

// rates gives commands.
func (d draw) rates() {
	paused := false
	for at := d.between(begin/2, begin); at < d.end(); at += d.between(50*time.Millisecond, 3*time.Second) {
		c := Command{At: at, Kind: "set-rate"}
		switch {
		case paused:
			c.Kind, paused = "resume", false
		case d.chance(0.15):
			c.Kind, paused = "pause", true
		default:
			c.Pieces = d.pieces()
		}
		d.Commands = append(d.Commands, c)
	}
	if paused {
		d.Commands = append(d.Commands, Command{At: d.between(d.end(), d.Length), Kind: "resume"})
	}
}

// pieces returns a new rate, or a ramp to one.
func (d draw) pieces() []pacer.Piece {
	rate := func() pacer.Rate { return pacer.PerSecond(d.rng.Int64N(2 * d.Rate)) }
	p := pacer.Constant(rate(), 0)
	if d.chance(0.3) {
		to := rate()
		p = pacer.Stages(rate(), pacer.Stage{Length: d.between(100*time.Millisecond, 3*time.Second).Truncate(time.Microsecond), To: to})
		p.Segments = append(p.Segments, pacer.Constant(to, 0).Segments...)
	}
	ps, err := p.Pieces()
	if err != nil {
		panic(fmt.Sprint("pieces: ", err))
	}
	return ps
}

// clock steps the Redis clock.
func (d draw) clock() {
	d.Net.Hi, d.Net.Rare = min(d.Net.Hi, 4*time.Millisecond), 0
	at := begin
	for range 1 + d.rng.IntN(3) {
		at = d.between(at, at+5*time.Second)
		by := d.between(-400*time.Millisecond, 400*time.Millisecond)
		if d.chance(0.5) {
			by = d.between(-5*time.Second, 5*time.Second)
		}
		d.Steps = append(d.Steps, Step{at, by})
	}
}

// lost empties the server while some members cannot reach it. Commands are given while the run is being restored.
func (d draw) lost() {
	d.Net.Hi, d.Net.Rare = min(d.Net.Hi, 4*time.Millisecond), 0
	d.Options.PermitFor = []int64{2_000_000, 5_000_000}[d.rng.IntN(2)]
	permit := time.Duration(d.Options.PermitFor) * time.Microsecond
	d.Lost = d.between(begin, begin+2*time.Second)
	if d.chance(0.5) {
		from := d.between(d.Lost-200*time.Millisecond, d.Lost+200*time.Millisecond)
		for _, i := range d.some(1 + d.rng.IntN(len(d.Members)-1)) {
			d.cut(i, Span{from, from + d.between(300*time.Millisecond, permit/2)}, true, d.chance(0.5))
		}
	}
	for at, paused := d.Lost, false; d.chance(0.7); {
		at = d.between(at, at+permit/2)
		c := Command{At: at, Kind: "set-rate"}
		switch {
		case paused && d.chance(0.7):
			c.Kind, paused = "resume", false
		case d.chance(0.3):
			c.Kind, paused = "pause", true
		case d.chance(0.2):
			c.Kind = "stop"
		default:
			c.Pieces = d.pieces()
		}
		d.Commands = append(d.Commands, c)
	}
}

// lostLate empties the server at any time, also when the last law of the plan is made already. A command follows.
func (d draw) lostLate() {
	d.Net.Hi, d.Net.Rare = min(d.Net.Hi, 4*time.Millisecond), 0
	d.Lost = d.between(begin, d.Length-time.Second)
	c := Command{At: d.between(d.Lost, d.Length), Kind: "stop"}
	if d.chance(0.3) {
		c.Kind, c.Pieces = "set-rate", d.pieces()
	}
	d.Commands = append(d.Commands, c)
}

// mix combines two or three other kinds.
func (d draw) mix() {
	all := slices.DeleteFunc(kinds(), func(k kind) bool {
		return k.name == "healthy" || k.name == "failover" || k.name == "clock" || k.name == "lost" || k.name == "mix" || k.on != ""
	})
	var those []kind
	for _, i := range d.rng.Perm(len(all))[:2+d.rng.IntN(2)] {
		those = append(those, all[i])
	}
	// A crash has effect until leases end, and an outage sets when that is.
	if i := slices.IndexFunc(those, func(k kind) bool { return k.name == "outage" }); i > 0 {
		those[0], those[i] = those[i], those[0]
	}
	for _, k := range those {
		d.Of = append(d.Of, k.name)
		k.draw(d)
	}
}
