//go:build linux

package loop

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// acting is a scheme whose requests do what their body says.
type acting struct {
	release chan struct{} // lets those go on that say stuck
	returns chan struct{} // one for each of these that has returned
	calls   atomic.Int64
	closed  atomic.Int64
	opened  atomic.Int64
}

func newActing() *acting {
	return &acting{release: make(chan struct{}), returns: make(chan struct{}, 10)}
}

func (a *acting) scheme() targets.Scheme {
	return targets.Scheme{Name: "act", Version: "1", Port: "7", Bare: true, Open: func(targets.Spec, targets.Local) (targets.Sender, error) {
		a.opened.Add(1)
		return a, nil
	}}
}

func (a *acting) Close() error {
	a.closed.Add(1)
	return nil
}

func (a *acting) Do(ctx context.Context, r targets.Request) targets.Answer {
	a.calls.Add(1)
	what, rest, _ := strings.Cut(string(r.Body), " ")
	switch what {
	case "panic":
		panic("boom")
	case "wait":
		<-ctx.Done()
		return targets.Answer{Err: ctx.Err()}
	case "stuck":
		<-a.release
		a.returns <- struct{}{}
	case "class":
		return targets.Answer{Outcome: targets.Outcome{Class: rest, Status: 5000, BytesIn: -1}}
	case "error":
		return targets.Answer{Err: errors.New(rest)}
	case "address":
		return targets.Answer{Body: []byte(r.Address)}
	case "url":
		return targets.Answer{Body: []byte(r.URL)}
	}
	return targets.Answer{Outcome: targets.Outcome{Status: 250, BytesIn: 3, BytesOut: int64(len(r.Body))}, Body: []byte(rest)}
}

// own returns a spec of these bodies, a step each.
func (a *acting) spec(timeout time.Duration, bodies ...string) targets.Spec {
	s := targets.Spec{Timeout: timeout, Schemes: []targets.Scheme{a.scheme()}, BodyLimit: 20}
	for i, body := range bodies {
		name := string(rune('a' + i))
		s.Flows = append(s.Flows, targets.Flow{Name: name, Steps: []targets.Step{{Name: name, URL: "act://h/${ordinal}", Body: []byte(body)}}})
	}
	return s
}

// TestOwn asserts that a request of a scheme that is not ours is filled, performed once and judged as others are.
func TestOwn(t *testing.T) {
	a := newActing()
	long := strings.Repeat("x", 21)
	s := a.spec(time.Minute, "echo ok", "panic", "error broken", "class reply 5", "class unheard of", "class reply "+strings.Repeat("5", 64),
		"echo "+long, "echo other", "address", "url", "class reply \x1b[0m")
	s.Flows[7].Steps[0].Checks = []string{"body has ok"}
	s.Flows[8].Steps[0].Checks = []string{`body has "h:7"`}
	s.Flows[9].Steps[0].Checks = []string{`body has "act://h/9"`}
	s.Flows[0].Steps[0].Checks = []string{"body has ok", "size < 3B", "time < 1m"}
	want := []string{"", targets.ClassPanic, targets.ClassOther, "reply 5", targets.ClassOther, targets.ClassOther, targets.ClassBodyLimit,
		"check body has ok", "", "", targets.ClassOther}
	r := newRig(t, s, targets.Local{}, len(want))
	for step := range want {
		if !r.c.Send(r.c.Now(), r.c.Now(), targets.Call{Number: uint64(step), Step: step}) {
			t.Fatalf("step %d: no place", step)
		}
	}
	r.pollUntil("all ends", func() bool { return len(r.got) == len(want) })
	for _, g := range r.got {
		if g.Outcome.Class != want[g.Call.Step] || g.Done < g.Sent {
			t.Errorf("step %d: %q, want %q", g.Call.Step, g.Outcome.Class, want[g.Call.Step])
		}
		if g.Call.Step == 0 && g.Outcome != (targets.Outcome{Status: 250, BytesIn: 3, BytesOut: 7}) {
			t.Errorf("%+v", g.Outcome)
		}
		if g.Outcome.Status > 999 || g.Outcome.BytesIn < 0 {
			t.Errorf("step %d: %+v", g.Call.Step, g.Outcome)
		}
	}
	if n := a.calls.Load(); n != int64(len(want)) || r.c.connections != 0 || !r.c.Connects() || a.opened.Load() != 1 {
		t.Errorf("%d calls, %d places taken, %d opened", n, r.c.connections, a.opened.Load())
	}
	r.c.wire.Shut()
	if a.closed.Load() == 0 {
		t.Error("the Sender was not closed")
	}
}

// TestOwnDeadline asserts that a request ends at its deadline whatever its Sender does, and keeps its place until the Sender
// returns.
func TestOwnDeadline(t *testing.T) {
	a := newActing()
	r := newRig(t, a.spec(30*time.Millisecond, "stuck", "wait", "echo"), targets.Local{}, 2)
	send := func(step int) bool { return r.c.Send(r.c.Now(), r.c.Now(), targets.Call{Step: step}) }
	if !send(0) || !send(1) || send(2) {
		t.Fatal("two places: two requests")
	}
	r.pollUntil("two timeouts", func() bool { return len(r.got) == 2 })
	for _, g := range r.got {
		if g.Outcome.Class != targets.ClassTimeout {
			t.Errorf("step %d: %+v", g.Call.Step, g.Outcome)
		}
	}
	r.pollUntil("a place of the one that ended", func() bool { return r.c.connections == 1 })
	if !send(0) {
		t.Error("no place")
	}
	r.pollUntil("a third timeout", func() bool { return len(r.got) == 3 })
	if send(2) {
		t.Error("a place of a request whose Sender has not returned was given away")
	}
	close(a.release)
	<-a.returns
	<-a.returns
	r.pollUntil("places", func() bool { return r.c.connections == 0 })
	if !send(2) {
		t.Error("no place after all have returned")
	}
	r.pollUntil("its end", func() bool { return len(r.got) == 4 })
	if r.got[3].Outcome.Class != "" {
		t.Errorf("%+v", r.got[3].Outcome)
	}
}

// TestOwnPlaceEndsPoll asserts that Poll returns when a place becomes free that a Send was refused for, even if the signal of it was
// consumed before.
func TestOwnPlaceEndsPoll(t *testing.T) {
	a := newActing()
	r := newRig(t, a.spec(30*time.Millisecond, "stuck", "echo"), targets.Local{}, 1)
	send := func(step int) bool { return r.c.Send(r.c.Now(), r.c.Now(), targets.Call{Step: step}) }
	if !send(0) {
		t.Fatal("no place")
	}
	r.pollUntil("a timeout", func() bool { return len(r.got) == 1 })
	if send(1) {
		t.Fatal("the place of a request whose Sender has not returned was given away")
	}
	close(a.release)
	<-a.returns
	for !r.c.wakeup.Consume() {
		runtime.Gosched()
	}
	until := r.c.Now() + int64(time.Minute)
	if err := r.c.Poll(until, func(targets.Result) {}); err != nil || r.c.Now() >= until || !send(1) {
		t.Errorf("Poll did not return for the place: %v", err)
	}
}

// TestOwnCancel asserts that a request that is canceled ends at once, that its Sender sees that, and that Close ends the
// others.
func TestOwnCancel(t *testing.T) {
	a := newActing()
	r := newRig(t, a.spec(time.Hour, "wait", "wait"), targets.Local{}, 2)
	for step := range 2 {
		if !r.c.Send(r.c.Now(), int64(step), targets.Call{Step: step}) {
			t.Fatal(step)
		}
	}
	r.c.Cancel(0, context.Canceled)
	r.pollUntil("an end", func() bool { return len(r.got) == 1 })
	if r.got[0].Outcome.Class != targets.ClassCanceled || r.got[0].Call.Step != 0 {
		t.Errorf("%+v", r.got[0])
	}
	r.pollUntil("its place", func() bool { return r.c.connections == 1 })
}

// TestOwnHalted asserts that no request begins after the worker was halted.
func TestOwnHalted(t *testing.T) {
	a := newActing()
	r := newRig(t, a.spec(time.Hour, "echo"), targets.Local{Halted: func() bool { return true }}, 1)
	if out := r.do(); out.Class != targets.ClassCanceled || a.calls.Load() != 0 {
		t.Errorf("%+v, %d calls", out, a.calls.Load())
	}
}

// seer wants all exchanges.
type seer struct{}

func (seer) Worth(*targets.Result) bool  { return true }
func (seer) Holds(*targets.Result) int64 { return 0 }

// TestOwnExchange asserts that a sample has what was sent and what came, and why nothing did.
func TestOwnExchange(t *testing.T) {
	a := newActing()
	r := newRig(t, a.spec(time.Minute, "echo answer", "error broken"), targets.Local{}, 1)
	r.c.Watch(seer{}, 6)
	for step := range 2 {
		n := len(r.got)
		r.c.Send(r.c.Now(), r.c.Now(), targets.Call{Number: 4, Step: step})
		r.pollUntil("an end", func() bool { return len(r.got) > n })
	}
	good, bad := r.got[0].Exchange, r.got[1].Exchange
	if good == nil || bad == nil {
		t.Fatal("no exchange")
	}
	if string(good.Came.Body) != "answer" || string(good.Sent.Body) != "echo a" || good.Sent.Length != 11 || good.Sent.Start != "act://h/4" {
		t.Errorf("%+v", good)
	}
	if bad.Error != "broken" || !slices.Equal(bad.Came.Body, nil) {
		t.Errorf("%+v", bad)
	}
}
