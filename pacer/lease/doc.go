// Package lease is the worker's side of the protocol by which workers lease ranges of the slot circle.
//
// The slots of a run are numbered, and each number has a place on a circle (pacer/circle). A script in Redis leases
// ranges of the circle to workers, each until a time. A worker sends the slots whose places lie in its
// ranges. One call every half second renews all of them. A Holder decides what to call and what a reply means. Slots
// are what one shard of the worker sends:
//
//	holder := lease.NewHolder("w1", "1", 1)
//	reply := … holder.Call() …
//	holder.Receive(now, reply)
//	view := holder.View()
//	slots.Take(&view)
//	for slots.Next(&x) { … slots.Pop() }
//
// The code is pure: time is an argument, in µs of the Redis clock.
//
// Guarantees, whatever message is lost, doubled, late or forgotten: no two workers give out the same slot, and no
// worker gives one out twice. internal/proof/sim simulates faults, and shows that each rule is needed.
package lease
