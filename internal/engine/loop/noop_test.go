//go:build linux

package loop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/targets"
)

// TestRest: a request of noop ends after its latency and not before, counts as a connection, and holds up no other request,
// also if it takes longer than these may.
func TestRest(t *testing.T) {
	at := echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	spec := targets.Spec{Timeout: time.Minute, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "long", URL: "noop://?latency=1h"},
		{Name: "short", URL: "noop://?latency=5ms"},
		{Name: "none", URL: "noop://"},
		{Name: "line", URL: "tcp://" + at, Body: []byte("x\n"), Reply: "any"},
	}}}}
	r := newRig(t, spec, targets.Local{}, 3)
	send := func(step int) bool { return r.c.Send(r.c.Now(), r.c.Now(), targets.Call{Step: step}) }
	for _, step := range []int{0, 1, 3} {
		if !send(step) {
			t.Fatalf("step %d: no connection", step)
		}
	}
	if send(2) {
		t.Error("four requests at a time, three are allowed")
	}
	r.pollUntil("the end of two", func() bool { return len(r.got) == 2 })
	for range 2 {
		if !send(2) {
			t.Error("no room after two have ended")
		}
	}
	r.pollUntil("the end of four", func() bool { return len(r.got) == 4 })
	for _, g := range r.got {
		took := time.Duration(g.Done - g.Sent)
		if g.Outcome.Class != "" || g.Call.Step == 0 || g.Call.Step == 1 && took < 5*time.Millisecond {
			t.Errorf("step %d: %+v after %v", g.Call.Step, g.Outcome, took)
		}
	}
	if r.c.connections != 1 { // the long one: the idle connection has made room
		t.Errorf("%d connections", r.c.connections)
	}
	alone := open(t, targets.Spec{URL: "noop://"}, targets.Local{}, 1)
	defer alone.Close()
	if alone.Connects() || !r.c.Connects() {
		t.Error("only requests that connect wait for connections")
	}
}

// TestCancel: a request that is canceled ends at once, with that reason, and no other one does. Its connection is not used
// again.
func TestCancel(t *testing.T) {
	at := echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	spec := targets.Spec{Timeout: time.Hour, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "waits", URL: "tcp://" + at, Body: []byte("x"), Reply: `until \n`}, // it echoes whole lines
		{Name: "rests", URL: "noop://?latency=1h"},
		{Name: "line", URL: "tcp://" + at, Body: []byte("x\n"), Reply: "any"},
	}}}}
	r := newRig(t, spec, targets.Local{}, 3)
	for due, step := range []int{0, 1, 2} {
		if !r.c.Send(r.c.Now(), int64(due), targets.Call{Step: step}) {
			t.Fatal(step)
		}
	}
	r.c.Cancel(0, context.Canceled)
	r.c.Cancel(1, os.ErrDeadlineExceeded)
	r.c.Cancel(7, context.Canceled) // there is none
	r.pollUntil("all ends", func() bool { return len(r.got) == 3 })
	want := map[int]string{0: targets.ClassCanceled, 1: targets.ClassTimeout, 2: ""}
	for _, g := range r.got {
		if g.Outcome.Class != want[g.Call.Step] {
			t.Errorf("step %d: %+v", g.Call.Step, g.Outcome)
		}
	}
	if r.c.connections != 1 {
		t.Errorf("%d connections are left", r.c.connections)
	}
}

// TestMixedVersions: requests over HTTP/2 and TCP share the limit of connections, and make room for each other.
func TestMixedVersions(t *testing.T) {
	line := echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	served := make(chan bool, 1000)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served <- true }))
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	defer web.Close()
	spec := targets.Spec{HTTP: targets.HTTP2, Streams: 4, Timeout: time.Hour, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "web", URL: web.URL}, {Name: "line", URL: "tcp://" + line, Body: []byte("x\n"), Reply: "any"},
	}}}}
	for _, most := range []int{1, 3} {
		r := newRig(t, spec, targets.Local{}, most)
		const n = 60
		for sent := 0; sent < n; {
			if r.c.Send(r.c.Now(), r.c.Now(), targets.Call{Step: sent / 2 % 2}) {
				sent++
				continue
			}
			before := len(r.got)
			r.pollUntil("an end", func() bool { return len(r.got) > before })
			if r.c.connections > most {
				t.Fatalf("%d connections, %d are allowed", r.c.connections, most)
			}
		}
		r.pollUntil("all ends", func() bool { return len(r.got) == n })
		for _, g := range r.got {
			if g.Outcome.Class != "" {
				t.Errorf("%+v", g.Outcome)
			}
		}
		if len(served) != n/2 {
			t.Errorf("%d requests arrived, %d were sent", len(served), n/2)
		}
		for range n / 2 {
			<-served
		}
		r.close()
	}
}
