package targets

import (
	"context"
	"sync"
)

// A watch interrupts the request on a connection when its context ends. It
// stays registered with that context from one request to the next, because
// most come with the same: to register costs more than all else about it.
// begin and finish are for one goroutine at a time.
type watch struct {
	interrupt func() // ends reads and writes; the context's own goroutine calls it

	mu   sync.Mutex
	done <-chan struct{} // of the context; contexts with the same one end together
	stop func() bool     // ends the registration; nil = there is none
	busy bool            // a request goes on
	hit  bool            // it was interrupted
}

// begin is called before a request.
func (w *watch) begin(ctx context.Context) {
	done := ctx.Done()
	if done == nil {
		return
	}
	w.mu.Lock()
	w.busy = true
	if w.done != done {
		w.release()
		w.done, w.stop = done, context.AfterFunc(ctx, func() { w.over(done) })
	}
	w.mu.Unlock()
	if ctx.Err() != nil {
		w.over(done) // perhaps it ended before the request began
	}
}

// over interrupts the request that goes on, if it is one of the context that
// ended.
func (w *watch) over(done <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy && w.done == done {
		w.hit = true
		w.interrupt()
	}
}

// finish is called after a request, and reports whether it was interrupted.
// Nothing is from then on.
func (w *watch) finish() (hit bool) {
	w.mu.Lock()
	hit = w.hit
	w.busy, w.hit = false, false
	w.mu.Unlock()
	return hit
}

// close ends the registration.
func (w *watch) close() {
	w.mu.Lock()
	w.release()
	w.mu.Unlock()
}

// release is close with the lock held.
func (w *watch) release() {
	if w.stop != nil {
		w.stop()
	}
	w.done, w.stop = nil, nil
}
