//go:build linux

package epoll

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/worker"
	"github.com/loadctl/loadctl/targets"
)

// Each Wake is followed by a return of Poll, which waits for an hour otherwise. A waker goes on when a Poll has returned
// that was under way, or not begun, when it called Wake.
func TestWakes(t *testing.T) {
	server, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	r := newRig(t, targets.Spec{URL: server.URL()}, targets.Local{}, 4)
	var mu sync.Mutex
	returned := sync.NewCond(&mu)
	polls := 0
	var wakers sync.WaitGroup
	for range 3 {
		wakers.Go(func() {
			for range 500 {
				mu.Lock()
				seen := polls
				mu.Unlock()
				r.c.Wake()
				mu.Lock()
				for polls == seen {
					returned.Wait()
				}
				mu.Unlock()
			}
		})
	}
	var finished atomic.Bool
	go func() {
		wakers.Wait()
		finished.Store(true)
		r.c.Wake()
	}()
	lost := time.AfterFunc(20*time.Second, func() { panic("a wake was lost: Poll does not return") })
	defer lost.Stop()
	for i := 0; !finished.Load(); i++ {
		r.poll(time.Hour)
		mu.Lock()
		polls++
		returned.Broadcast()
		mu.Unlock()
		if i%16 == 0 { // seldom, because a result hides that a wake was lost
			r.send()
		}
	}
	r.pollFor(int(r.sent))
}

// A loop that is busy is woken without a system call, one that sleeps by one.
func TestWakeWhileBusy(t *testing.T) {
	c := open(t, targets.Spec{URL: "http://127.0.0.1:9/"}, targets.Local{}, 1)
	defer c.Close()
	c.Wake()
	if n, err := c.poller.look(); n != 0 || err != nil {
		t.Errorf("woken while busy: %d events, %v", n, err)
	}
	if c.bell.sleep() || !c.bell.heard() || c.bell.heard() {
		t.Error("rung once: it must not sleep, and hear it once")
	}
	if !c.bell.sleep() {
		t.Error("not rung: it may sleep")
	}
	for range 300 { // it is never read, and must not be full some time
		c.bell.asleep.Store(true)
		c.Wake()
		if n, err := c.poller.look(); n != 1 || err != nil || c.poller.events[0].Fd != ofBell {
			t.Fatalf("woken while asleep: %d events, %v", n, err)
		}
	}
}

// After Close the number of the bell's descriptor may be that of another file, which must not be written.
func TestWakeAfterClose(t *testing.T) {
	c := open(t, targets.Spec{URL: "http://127.0.0.1:9/"}, targets.Local{}, 1)
	if err := c.Poll(0, func(worker.Result) {}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	var files []*os.File // one of them gets the number
	for range 16 {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	c.bell.asleep.Store(true) // as if the loop had been asleep when the waker looked
	c.Wake()
	for _, f := range files {
		if info, err := f.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("%d bytes were written to a file, %v", info.Size(), err)
		}
	}
}
