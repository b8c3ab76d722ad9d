// Package virtual has the time of simulations: a list of events in the order of time, without goroutines. So the same events
// give the same results.
//
//	var q virtual.Queue
//	q.After(20, func() { … })
//	q.Run(1_000)
package virtual

import (
	"cmp"
	"container/heap"
)

// An event happens at a time.
type event struct {
	at, n int64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].n, e[j].n)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// A Queue is what is still to happen. Its zero value begins at time 0. The unit of time is the user's.
type Queue struct {
	Now    int64 // the time of the event that happens
	n      int64
	events events
}

// After lets something happen after a time, at once if that is negative. Events of the same time happen in the order of their
// calls.
func (q *Queue) After(d int64, do func()) {
	q.n++
	heap.Push(&q.events, event{q.Now + max(0, d), q.n, do})
}

// Run lets all happen that is before a time.
func (q *Queue) Run(end int64) {
	for len(q.events) > 0 && q.events[0].at < end {
		e := heap.Pop(&q.events).(event)
		q.Now = e.at
		e.do()
	}
}
