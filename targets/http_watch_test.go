package targets

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
)

// interrupts is a watch that records its interruptions.
func interrupts() (*watch, chan struct{}) {
	hits := make(chan struct{}, 10)
	return &watch{interrupt: func() { hits <- struct{}{} }}, hits
}

func TestWatchInterruptsTheRequest(t *testing.T) {
	w, hits := interrupts()
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 { // one registration for all
		w.begin(ctx)
		if w.finish() {
			t.Error("interrupted before the context ended")
		}
	}
	w.begin(ctx)
	cancel()
	<-hits
	if !w.finish() {
		t.Error("it does not tell that the request was interrupted")
	}
	w.begin(ctx) // of a context that ended already
	<-hits
	if !w.finish() {
		t.Error("a request of a context that ended before went on")
	}
}

// Contexts that end between two requests, or belong to earlier ones, do not interrupt.
func TestWatchSparesOthers(t *testing.T) {
	w, hits := interrupts()
	first, cancelFirst := context.WithCancel(t.Context())
	second, cancelSecond := context.WithCancel(t.Context())
	defer cancelSecond()
	w.begin(first)
	w.finish()
	w.begin(second)
	cancelFirst()
	// The registration was given up, or its call is late: it knows its request.
	w.over(first.Done())
	if w.finish() {
		t.Error("interrupted by another's context")
	}
	cancelSecond()
	w.over(second.Done())
	w.begin(context.Background())
	if w.finish() || len(hits) > 0 {
		t.Error("interrupted by a context that ended in between")
	}
}

// After a connection was closed, a context that goes on keeps nothing of it.
func TestClosedConnectionIsNotWatched(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	c := newConn(endpoint{}, newSocket(near), near)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.watch.begin(ctx)
	stop := c.watch.stop
	c.close(false)
	if stop() {
		t.Error("the context still knows of it")
	}
}

// Requests that begin, end and are canceled at any time: exactly those canceled in time are interrupted.
func TestWatchUnderRace(t *testing.T) {
	s := arrive(t, arrivals.Options{})
	target := open(t, Spec{URL: s.URL()}, Local{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					time.AfterFunc(time.Duration(i)*5*time.Microsecond, cancel)
				}
				for range 3 {
					ended := ctx.Err() != nil
					got := target.Do(ctx, Call{})
					switch {
					case got.Class == "" && !ended, got.Class == ClassCanceled && ctx.Err() != nil:
					default:
						t.Errorf("%+v, ended before: %v, after: %v", got, ended, ctx.Err())
					}
				}
				cancel()
			}
		})
	}
	clients.Wait()
}
