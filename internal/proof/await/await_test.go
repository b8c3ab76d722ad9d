package await

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// limited is a test whose go test ends soon. It keeps what it fails with.
type limited struct {
	testing.TB
	end  time.Time
	said string
}

func (l *limited) Helper()                     {}
func (l *limited) Deadline() (time.Time, bool) { return l.end, true }
func (l *limited) Fatalf(format string, args ...any) {
	l.said = strings.ReplaceAll(format, "%s", args[0].(string))
	runtime.Goexit()
}

// fails returns what a wait fails with.
func fails(wait func(t testing.TB)) string {
	l := &limited{end: time.Now().Add(spare)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait(l)
	}()
	<-done
	return l.said
}

// TestWaitsSayWhatDidNotHappen: a wait for what never happens fails before go test ends, and names it.
func TestWaitsSayWhatDidNotHappen(t *testing.T) {
	never := make(chan struct{})
	for name, wait := range map[string]func(t testing.TB){
		"true":    func(t testing.TB) { True(t, "an event", func() bool { return false }) },
		"receive": func(t testing.TB) { Receive(t, "an event", never) },
		"polled":  func(t testing.TB) { Polled(t, "an event", func() {}, func() bool { return false }) },
		"closed":  func(t testing.TB) { Closed(t, "an event", never) },
		"done":    func(t testing.TB) { Done(t, "an event", func() { <-never }) },
	} {
		if said := fails(wait); said != "waited in vain for an event" {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestExpensiveLooksAreRare: a wait takes a quarter of a processor, or less, if its looks are expensive.
func TestExpensiveLooksAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looked time.Duration
		began := time.Now()
		True(&limited{end: began.Add(time.Hour)}, "two seconds of looks", func() bool {
			time.Sleep(50 * time.Millisecond)
			looked += 50 * time.Millisecond
			return looked == 2*time.Second
		})
		if took := time.Since(began); took != 39*150*time.Millisecond+looked {
			t.Errorf("%v of looks took %v", looked, took)
		}
	})
}

// TestWaitsEnd: a wait ends when the event happens.
func TestWaitsEnd(t *testing.T) {
	looks := 0
	True(t, "the third look", func() bool { looks++; return looks == 3 })
	values := make(chan int, 1)
	values <- 7
	if got := Receive(t, "a value", values); got != 7 || looks != 3 {
		t.Errorf("received %d after %d looks", got, looks)
	}
	Done(t, "nothing", func() {})
}

// TestContextEnds: a context ends when a wait fails.
func TestContextEnds(t *testing.T) {
	ctx, cancel := Within(t.Context(), &limited{end: time.Now().Add(spare)})
	defer cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error(ctx.Err())
	}
}
