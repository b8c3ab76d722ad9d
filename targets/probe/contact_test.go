package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/targets"
)

// TestReach: each server of a workload is tried once, and none gets anything of a request. The error names the step whose
// server is not as it should be, and has its URL.
func TestReach(t *testing.T) {
	var requests, connections atomic.Int64
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	web.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	web.Start()
	defer web.Close()
	received := make(chan int, 10)
	line := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		n, _ := c.Read(make([]byte, 100))
		received <- n
	})
	closed := httptest.NewServer(nil)
	closed.Close()

	flow := func(url string) targets.Flow {
		last := targets.Step{Name: "last", URL: url, Body: []byte("x\n")}
		if !strings.HasPrefix(url, "http") {
			last.Reply = "any"
		}
		return targets.Flow{Name: "f", Steps: []targets.Step{{Name: "first", URL: web.URL + "/a"}, {Name: "again", URL: web.URL + "/b"}, last}}
	}
	reach := func(url string) error {
		return Reach(t.Context(), targets.Spec{Flows: []targets.Flow{flow(url)}}, targets.Local{})
	}
	if err := reach("tcp://" + line); err != nil {
		t.Error(err)
	}
	if n := <-received; n != 0 {
		t.Errorf("%d bytes were sent", n)
	}
	await.True(t, "one connection", func() bool { return connections.Load() == 1 })
	for _, url := range []string{closed.URL + "/c", "tcp://" + closed.Listener.Addr().String()} {
		err := reach(url)
		server, ok := errors.AsType[*Unreached](err)
		if !ok || server.URL != url || !strings.HasPrefix(err.Error(), "step last: dial tcp ") {
			t.Errorf("%s: %v", url, err)
		}
	}
	await.True(t, "three connections", func() bool { return connections.Load() == 3 }) // one for each time
	if requests.Load() != 0 {
		t.Errorf("%d requests", requests.Load())
	}
	if err := Reach(t.Context(), (targets.Spec{URL: "redis://" + line, Body: []byte("PING")}), targets.Local{}); err == nil {
		t.Error("a server that is no Redis is reached")
	}
}

// TestReachPanics asserts that a scheme of a program's own that panics when it is asked for its server is a server out of reach.
func TestReachPanics(t *testing.T) {
	own := targets.Scheme{Name: "own", Version: "1", Port: "7", Bare: true,
		Open:  func(targets.Spec, targets.Local) (targets.Sender, error) { return nil, nil },
		Reach: func(context.Context, targets.Request, targets.Spec, targets.Local) error { panic("boom") }}
	err := Reach(t.Context(), targets.Spec{URL: "own://h", Schemes: []targets.Scheme{own}}, targets.Local{})
	if err == nil || !strings.Contains(err.Error(), "reach: panic: boom") {
		t.Error(err)
	}
}
