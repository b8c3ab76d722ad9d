package streams

import (
	"context"
	"time"
)

// MaxAtOnce bounds how many streams are written at a time.
const MaxAtOnce = 100_000

// slots let so many streams be written at a time. The others wait, first come, first served. Each value is when its slot was free
// by the schedule of the stream before. So with n slots and streams of length d the server writes n/d streams a second, however
// late its clock wakes it up. Nil = no bound.
type slots chan time.Time

// newSlots returns n free slots.
func newSlots(n int) slots {
	s := make(slots, n)
	for range n {
		s <- time.Time{}
	}
	return s
}

// take waits for a slot, or until the client is gone. The stream that has it is ready at the time returned.
func (s slots) take(client context.Context, ready time.Time) (time.Time, error) {
	if s == nil {
		return ready, nil
	}
	select {
	case free := <-s:
		if free.After(ready) {
			ready = free
		}
		return ready, nil
	case <-client.Done():
		return ready, client.Err()
	}
}

// free gives a slot back that is free by the schedule from a time on.
func (s slots) free(from time.Time) {
	if s != nil {
		s <- from
	}
}
