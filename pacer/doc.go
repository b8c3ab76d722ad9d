// Package pacer answers one question: when may I send?
//
// A fleet of workers shares one budget, the schedule of slots of a run. A slot is permission for one
// request at one instant, its due time. Whoever knows the law of a schedule computes due times itself, exactly:
//
//	rate, _ := pacer.ParseRate("1000")
//	pieces, _ := pacer.Constant(rate, 10*time.Second).Pieces()
//	p := pieces[0]
//	law := pacer.Law{T0: now, R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: pacer.Endless}
//	law.K = law.Before(law.T0 + law.Dur)
//	for k := range law.K {
//		fmt.Println(k, law.Due(k))
//	}
//
// Rate, Profile, Piece and Law are pure arithmetic. Clock maps the Redis clock to the local one. Which slots are whose is
// agreed on by the packages below: pacer/circle spreads slots over a circle, and pacer/lease leases arcs of it.
//
// Guarantees: the slots of a law are its exact uniform grid; slot times never drift, because they are computed from slot
// numbers and not from each other.
package pacer
