// Package pacer answers one question: when may I send?
//
// A fleet of workers shares one budget, the schedule of slots of a run. A slot is permission for one
// request at one instant, its due time. Workers lease contiguous ranges of slot numbers from a script
// in Redis and compute the due times themselves, exactly:
//
//	rate, _ := pacer.ParseRate("1000")
//	pieces, _ := pacer.Constant(rate, 10*time.Second).Pieces()
//	p := pieces[0]
//	law := pacer.Law{T0: now, R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: pacer.Endless, F: p.F}
//	law.K = law.Before(law.T0 + law.Dur)
//	lease := pacer.Range{Law: law, First: 0, N: 100}
//	for c := lease.Cursor(0, 1); c.Ok(); c.Next() {
//		fmt.Println(c.Slot(), c.Due())
//	}
//
// The package is layered. Rate, Profile, Law, Range and Cursor are pure arithmetic. Clock maps the
// Redis clock to the local one. Limiter grants leases (Redis is the real one), and Leaser is the one
// blocking piece: it keeps a Sink supplied with ranges ahead of time, so that Redis is never on the
// send path.
//
// Guarantees: the union of all ranges of a generation is the exact uniform grid of its law, every
// slot once; slot times never drift, because they are computed from slot numbers and not from each
// other.
package pacer
