// Package sim runs whole fleets on the protocol of internal/proof/model in virtual time, and plays faults of all kinds. It
// marks each slot that is sent.
//
//	result := sim.Run(sim.Draw("failover", seed, sim.Size{Workers: 50, Length: 20 * time.Second}), model.Without{}, sim.Broken{})
//
// It is a list of events in the order of time, without goroutines: the same seed gives the same sends.
package sim
