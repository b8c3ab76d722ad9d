// Package arcsim runs whole fleets on the protocol of internal/arcs in virtual time, and breaks what can break. The plans are those of
// internal/sim, and some of its own. Each slot is marked when it is sent.
//
//	result := arcsim.Run(arcsim.Draw("failover", seed, faults.Size{Workers: 50, Length: 20 * time.Second}), arcs.Without{})
//
// It is a list of events in order of time, without goroutines: the same seed gives the same sends.
package arcsim
