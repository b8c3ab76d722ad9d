// Package model is the scripts of a run (lua/renew.lua, order.lua, make.lua and remove.lua) as plain Go over plain
// memory. Time is an argument.
//
// A Run is what one server knows: the laws, and who holds which range of the slot circle (pacer/circle) from which
// slot on. The worker's side is package lease:
//
//	run := model.New(model.Options{Pieces: pieces, Min: 1, Hold: 10_000_000}, "server")
//	holder := lease.NewHolder("w1", "1", 1)
//	holder.Receive(now, run.Renew(now, holder.Call()))
//
// TestScriptEqualsModel compares the scripts with it, call by call. internal/proof/sim plays faults of all kinds with whole
// fleets, and shows that each rule in Without is needed. docs/adr/0013-arcs.md explains why it is like this.
package model
