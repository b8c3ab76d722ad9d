// Package model is the scripts of arcs (lua/renew.lua, order.lua, make.lua and remove.lua) as plain Go over plain memory, with the time as an argument.
//
// A Run is what one server knows: laws, and who holds which part of the slot circle (pacer/circle) from which slot on. The worker's side is
// package lease:
//
//	run := model.New(model.Options{Pieces: pieces, Min: 1, Hold: 10_000_000}, "server")
//	holder := lease.NewHolder("w1", "1", 1)
//	holder.Heard(now, run.Renew(now, holder.Call()))
//
// TestScriptEqualsModel holds the scripts against it, call by call. internal/sim breaks everything that can break under whole fleets, and
// shows that each rule in Without is needed. docs/adr/0013-arcs.md tells why it is like this.
package model
