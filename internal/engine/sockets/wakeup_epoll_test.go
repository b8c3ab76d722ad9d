//go:build linux && !portable

package sockets

import (
	"os"
	"testing"
)

// openWakeup returns that of a new poller, which the test closes.
func openWakeup(t *testing.T) *Wakeup {
	t.Helper()
	p := new(Poller)
	if err := p.Open(); err != nil {
		t.Fatal(err)
	}
	return &Wakeup{Poller: p}
}

// A busy loop is woken without a system call, a sleeping one with one.
func TestSignalWhileBusy(t *testing.T) {
	w := openWakeup(t)
	defer w.Poller.Close()
	w.Signal()
	if n, err := w.Poller.Look(); n != 0 || err != nil {
		t.Errorf("woken while busy: %d events, %v", n, err)
	}
	if w.Sleep() || !w.Consume() || w.Consume() {
		t.Error("signaled once: it must not sleep, and consume it once")
	}
	if !w.Sleep() {
		t.Error("not signaled: it may sleep")
	}
	w.Awake()
	for range 300 { // it is never read, and must not be full some time
		if !w.Sleep() {
			t.Fatal("it was consumed: it may sleep")
		}
		w.Signal()
		if n, err := w.Poller.Look(); n != 1 || err != nil {
			t.Fatalf("woken while asleep: %d events, %v", n, err)
		}
		if index, _ := w.Poller.Event(0); index != ofInterrupt {
			t.Fatalf("woken while asleep: an event of %d", index)
		}
		w.Awake()
		w.Consume()
	}
}

// After Close the number of the poller's descriptor may belong to another file, which must not be written.
func TestSignalAfterClose(t *testing.T) {
	w := openWakeup(t)
	w.Poller.Close()
	var files []*os.File // one of them gets the number
	for range 16 {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	w.Sleep() // as if the loop had been asleep when the waker looked
	w.Signal()
	for _, f := range files {
		if info, err := f.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("%d bytes were written to a file, %v", info.Size(), err)
		}
	}
}
