package targets

import (
	"context"
	"sync"
)

// A watch interrupts the request on a connection when its context ends. It stays registered with that context from one
// request to the next, because most requests use the same one, and registering is expensive. begin and finish are for
// one goroutine at a time.
type watch struct {
	interrupt func() // ends reads and writes; called by the context's own goroutine

	mu   sync.Mutex
	done <-chan struct{} // of the context; contexts with the same channel end together
	stop func() bool     // ends the registration; nil = none
	busy bool            // a request is in progress
	hit  bool            // the request was interrupted
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
		w.over(done) // the context may have ended before the request began
	}
}

// over interrupts the current request, if it belongs to the context that ended.
func (w *watch) over(done <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy && w.done == done {
		w.hit = true
		w.interrupt()
	}
}

// finish is called after a request. It reports whether the request was interrupted. After it nothing is interrupted.
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
