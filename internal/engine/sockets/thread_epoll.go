//go:build linux && !portable

package sockets

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A Thread is the OS thread that the loop keeps for itself. How exactly the kernel ends a wait is a property of the
// thread: 50 µs by default.
type Thread struct {
	claimed bool
	id      atomic.Int64 // 0 = none is claimed
	yielded int64        // when the scheduler last had its turn, ns
}

// How to keep the runtime from interfering. Its monitor looks at least every 10 ms. It takes the processors of waiting
// goroutines that were not rescheduled since its last look, and then looks every 20 µs for a millisecond or more. The
// same happens when the last goroutine that had kept a processor returns. The monitor leaves goroutines alone that
// reschedule themselves, which costs two thread switches.
const (
	yieldEvery = int64(8 * time.Millisecond)
	yieldRoom  = int64(50 * time.Microsecond)  // what a reschedule takes, and some more: done only if nothing is due for that long
	lately     = int64(100 * time.Millisecond) // a loop without work for longer should lose its processor
)

// Until returns until when a loop may wait that has nothing to do before until, so that it is rescheduled in time. Its
// last request ended at latest.
func (t *Thread) Until(now, until, latest int64) int64 {
	if now-latest > lately {
		return until
	}
	return min(until, max(t.yielded+yieldEvery, now+yieldRoom))
}

// Yield reschedules the calling goroutine, if it is due and nothing else is due for wait ns. It reports whether it did.
func (t *Thread) Yield(now, wait int64) bool {
	if wait < yieldRoom || now-t.yielded < yieldEvery {
		return false
	}
	t.yielded = now
	runtime.Gosched()
	return true
}

// ID returns the id of the thread; 0 if none is claimed. Any goroutine may call it.
func (t *Thread) ID() int { return int(t.id.Load()) }

// Claim binds the calling goroutine to its thread and makes its waits end on time. Without permission for that they end
// a little later.
func (t *Thread) Claim() {
	if t.claimed {
		return
	}
	t.claimed = true
	runtime.LockOSThread()
	t.id.Store(int64(unix.Gettid()))
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// Release undoes Claim; 0 restores the thread's initial value.
func (t *Thread) Release() {
	if !t.claimed {
		return
	}
	t.claimed = false
	t.id.Store(0)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)
	runtime.UnlockOSThread()
}
