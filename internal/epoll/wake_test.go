//go:build linux

package epoll

import (
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/worker"
	"github.com/loadctl/loadctl/targets"
)

// A busy loop is woken without a system call, a sleeping one with one.
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

// After Close the number of the bell's descriptor may belong to another file, which must not be written.
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
