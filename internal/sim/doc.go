// Package sim runs whole fleets in virtual time and breaks what can break: messages are lost, doubled, late and out of
// order, the server stands still, is away, fails over to a state that forgot the last moments or steps its clock, workers
// pause, crash, join and leave, and the rate changes meanwhile. Every send is judged afterwards: the window bound, slots
// sent twice, the audit, and how much of what was asked for was sent.
//
// The workers are the real pacer.Leaser with a Sink that walks its slots as a shard does; the server is the scripts'
// logic in Go, internal/model, which TestScriptEqualsModel proves equal to them.
//
//	synctest.Test(t, func(t *testing.T) { result = sim.Run(sim.Draw("failover", seed, sim.Size{Workers: 50, Length: 20 * time.Second})) })
//
// Everything random is drawn from the seed, for each member and each of its calls apart, and events are a random number of
// ns apart, so that the order in which goroutines run does not matter: the same seed gives the same sends, to the ns.
package sim
