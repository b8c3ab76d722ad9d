package loop

import "sync/atomic"

// A wakeup wakes a loop from other goroutines. While the loop is busy a signal only touches two words of memory; only a
// signal that finds the loop asleep interrupts its poller. No signal is lost, because each side writes first and then
// reads what the other wrote:
//
//	loop:   asleep = true, then does not sleep if signaled
//	signal: signaled = true, then interrupts if asleep
type wakeup struct {
	signaled atomic.Bool
	asleep   atomic.Bool
	poller   *poller
}

// signal wakes the loop, or keeps it from sleeping. Any goroutine may call it, at any time.
func (w *wakeup) signal() {
	w.signaled.Store(true)
	if w.asleep.CompareAndSwap(true, false) {
		w.poller.interrupt()
	}
}

// sleep is called before the loop waits; false if it must not wait. awake is called after the wait.
func (w *wakeup) sleep() bool {
	w.asleep.Store(true)
	if w.signaled.Load() {
		w.asleep.Store(false)
		return false
	}
	return true
}

func (w *wakeup) awake() { w.asleep.Store(false) }

// consume reports whether there was a signal since the last call.
func (w *wakeup) consume() bool { return w.signaled.Load() && w.signaled.Swap(false) }
