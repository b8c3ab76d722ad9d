//go:build linux

package epoll

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A thread is the one that the loop runs on, kept for it: how exactly the kernel ends a wait is a property of the
// thread, 50 µs unless told otherwise.
type thread struct {
	claimed bool
	id      atomic.Int64 // 0 = none is claimed
	yielded int64        // when the scheduler last had its turn, ns
}

// How the runtime is kept from interfering. Its monitor looks at least every 10 ms, takes the processors of goroutines that were not
// rescheduled since then once they wait, and for a millisecond or more then looks again each 20 µs; the same when the last goroutine that had kept
// a processor comes back. Who reschedules itself is left alone; its price is two changes of thread.
const (
	yieldEvery = int64(8 * time.Millisecond)
	yieldRoom  = int64(50 * time.Microsecond)  // what it takes, and some more: only where there is nothing to do for so long
	lately     = int64(100 * time.Millisecond) // who has done nothing for longer is better off if its processor is taken
)

// until is until when a loop that has nothing to do before until waits, so that it is rescheduled in time. Its last request ended at latest.
func (t *thread) until(now, until, latest int64) int64 {
	if now-latest > lately {
		return until
	}
	return min(until, max(t.yielded+yieldEvery, now+yieldRoom))
}

// yield reschedules the calling goroutine, if it is time and there is time for it: until the next thing to do for some ns. It
// tells whether it has taken some.
func (t *thread) yield(now, wait int64) bool {
	if wait < yieldRoom || now-t.yielded < yieldEvery {
		return false
	}
	t.yielded = now
	runtime.Gosched()
	return true
}

// Thread is the id of the thread that the loop runs on, 0 before the first Poll and after Close. Any goroutine may call it.
func (c *Client) Thread() int { return int(c.thread.id.Load()) }

// claim binds the calling goroutine to its thread and makes its waits end on time. Without the right to do so they
// end a little later.
func (t *thread) claim() {
	if t.claimed {
		return
	}
	t.claimed = true
	runtime.LockOSThread()
	t.id.Store(int64(unix.Gettid()))
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// release undoes claim; 0 is the value that the thread began with.
func (t *thread) release() {
	if !t.claimed {
		return
	}
	t.claimed = false
	t.id.Store(0)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)
	runtime.UnlockOSThread()
}
