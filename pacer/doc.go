// Package pacer answers one question: when may I send?
//
// A profile is a rate over time. Its slots are permissions for one request each, at one instant, the due time:
//
//	profile := pacer.Constant(pacer.PerSecond(1000), 10*time.Second)
//	for k, due := range profile.Pace(ctx) {
//		go send(k, due)
//	}
//
// A fleet of workers shares one such schedule. A worker that knows the law of a schedule computes exact due times
// itself.
//
// Rate, Profile, Piece and Law are pure arithmetic. Clock maps the Redis clock to the local one. Two packages decide
// which worker owns a slot: pacer/circle spreads slots over a circle, and pacer/lease leases pieces of it.
//
// Guarantees: the slots of a law are its exact uniform grid. Slot times never drift, because they are computed from
// slot numbers and not from each other.
package pacer
