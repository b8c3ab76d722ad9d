// Package lease is the protocol by which workers lease arcs of the slot circle, the worker's side of it.
//
// The slots of a run are numbered through, and each number has a place on a circle (pacer/circle). A script in Redis leases arcs of it to
// workers, each until a promised time, and a worker sends the slots whose places lie in its arcs. One call every half second renews all of
// them. A Holder decides what to call and what a reply means; Slots are what one shard of the worker is to send:
//
//	holder := lease.NewHolder("w1", "1", 1)
//	reply := … holder.Call() …
//	holder.Heard(now, reply)
//	view := holder.View()
//	slots.Take(&view)
//	for slots.Next(&x) { … slots.Pop() }
//
// All of it is pure: time is an argument, µs of the Redis clock.
//
// Guarantees, whatever is lost, doubled, late or forgotten: no slot is given out by two workers, and none twice by one. internal/sim
// breaks everything that can break, and shows that each rule is needed.
package lease
