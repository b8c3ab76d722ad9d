package sockets

import "sync/atomic"

// A Wakeup wakes a loop from other goroutines. While the loop is busy a signal only touches two words of memory; only a
// signal that finds the loop asleep interrupts its poller. No signal is lost, because each side writes first and then
// reads what the other wrote:
//
//	loop:   asleep = true, then does not sleep if signaled
//	signal: signaled = true, then interrupts if asleep
type Wakeup struct {
	Poller   *Poller // what it interrupts; not nil
	signaled atomic.Bool
	asleep   atomic.Bool
}

// Signal wakes the loop, or keeps it from sleeping. Any goroutine may call it, at any time.
func (w *Wakeup) Signal() {
	w.signaled.Store(true)
	if w.asleep.CompareAndSwap(true, false) {
		w.Poller.interrupt()
	}
}

// Sleep is called before the loop waits; false if it must not wait. Awake is called after the wait.
func (w *Wakeup) Sleep() bool {
	w.asleep.Store(true)
	if w.signaled.Load() {
		w.asleep.Store(false)
		return false
	}
	return true
}

// Awake is called after the wait.
func (w *Wakeup) Awake() { w.asleep.Store(false) }

// Consume reports whether there was a signal since the last call.
func (w *Wakeup) Consume() bool { return w.signaled.Load() && w.signaled.Swap(false) }
