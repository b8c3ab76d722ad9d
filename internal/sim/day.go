package sim

import "time"

// day is a long run in which something breaks every few minutes. It is no line of the table.
func (d draw) day() {
	d.Options.PermitFor = 10_000_000
	for at := d.between(time.Minute, 10*time.Minute); at < d.Length*3/4; at += d.between(2*time.Minute, 20*time.Minute) {
		s := Span{at, at + d.between(100*time.Millisecond, 15*time.Second)}
		m := &d.Members[d.rng.IntN(len(d.Members))]
		switch d.rng.IntN(7) {
		case 0:
			d.Down = append(d.Down, s)
		case 1:
			d.Frozen = append(d.Frozen, s)
		case 2:
			m.Pauses = append(m.Pauses, s)
		case 3:
			m.CutBack = append(m.CutBack, s)
		case 4:
			m.CutCalls, m.CutBack = append(m.CutCalls, s), append(m.CutBack, s)
		case 5:
			d.Down = append(d.Down, s)
			d.Failover = append(d.Failover, Failover{At: s.To, Forgets: s.To - s.From + d.between(0, time.Second), Skew: d.between(-5*time.Millisecond, 5*time.Millisecond)})
		default:
			d.Commands = append(d.Commands, Command{At: at, Kind: "set-rate", Pieces: d.pieces()})
		}
		d.fault(s.From, s.To, 15*time.Second)
	}
}
