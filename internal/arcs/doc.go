// Package arcs is the protocol by which workers own arcs of the slot circle (pacer/circle), as plain Go with the time as an argument.
//
// A Run is what one server knows: laws, and who owns which part of the circle from which slot on. A Worker is the other side. Each is pure:
//
//	run := arcs.New(arcs.Options{Pieces: pieces, Min: 1, Hold: 10_000_000}, "server")
//	worker := arcs.NewWorker("w1", "1", 1)
//	call := worker.Call(now)
//	reply := run.Renew(now, call)
//	worker.Heard(now, reply)
//
// Guaranteed, whatever is lost, doubled, late or forgotten: no slot is sent by two workers, and none twice by one. internal/arcs/arcsim
// breaks everything that can break, and shows that each rule in Without is needed. Only tests use this package so far: docs/adr/0013-arcs.md.
package arcs
