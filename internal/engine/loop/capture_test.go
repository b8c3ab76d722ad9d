//go:build linux

package loop

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// A curious Watcher wants every exchange.
type curious struct{}

func (curious) Worth(*targets.Result) bool  { return true }
func (curious) Holds(*targets.Result) int64 { return 0 }
func (curious) Phase(targets.Phase, int64)  {}

// TestNoAnswerWithoutItsBeginning: of an answer whose beginning found no buffer nothing is shown. Its rest would be taken for
// all of it, and what tells that it is a secret came before.
func TestNoAnswerWithoutItsBeginning(t *testing.T) {
	const requests = mostParts + 8
	goOn := make(chan struct{})
	c := open(t, targets.Spec{URL: answerInParts(t, goOn, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{token: ", "abc}")}, targets.Local{}, requests)
	defer c.Close()
	c.Watch(curious{}, 100)
	var ended []targets.Result
	poll := func() {
		if err := c.Poll(c.Now()+int64(10*time.Millisecond), func(r targets.Result) { ended = append(ended, r) }); err != nil {
			t.Fatal(err)
		}
	}
	for sent := 0; sent < requests; poll() {
		for now := c.Now(); sent < requests && c.Send(now, now, targets.Call{}); sent++ {
		}
	}
	for begun := 0; begun < requests; poll() {
		begun = 0
		for cn := c.inFlight.first; cn != nil; cn = cn.next {
			if cn.result.First > 0 {
				begun++
			}
		}
	}
	close(goOn)
	for len(ended) < requests {
		poll()
	}
	whole := 0
	for _, r := range ended {
		switch m := r.Exchange.Came; {
		case m.Start == "HTTP/1.1 200 OK" && string(m.Body) == "{token: abc}":
			whole++
		case m.Start != "" || len(m.Body) > 0:
			t.Errorf("shown as an answer: %q, %q", m.Start, m.Body)
		}
		if r.Outcome.Class != "" {
			t.Error(r.Outcome.Class)
		}
	}
	if whole != mostParts || c.made != mostParts || len(c.buffers) != mostParts {
		t.Errorf("%d answers are whole; %d of %d buffers are free, want %d", whole, len(c.buffers), c.made, mostParts)
	}
}

// TestNoGapInAnAnswer: what is shown of a head that is longer than what is kept has nothing of the body in it.
func TestNoGapInAnAnswer(t *testing.T) {
	goOn := make(chan struct{})
	long := strings.Repeat("h", 20_000)
	c := open(t, targets.Spec{URL: answerInParts(t, goOn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Long: "+long, "\r\n\r\nbody")}, targets.Local{}, 1)
	defer c.Close()
	c.Watch(curious{}, 100)
	now := c.Now()
	var ended []targets.Result
	for sent := false; len(ended) == 0; {
		if sent = sent || c.Send(now, now, targets.Call{}); sent && c.inFlight.first != nil && c.inFlight.first.in > len(long) {
			select {
			case <-goOn:
			default:
				close(goOn)
			}
		}
		if err := c.Poll(c.Now()+int64(10*time.Millisecond), func(r targets.Result) { ended = append(ended, r) }); err != nil {
			t.Fatal(err)
		}
	}
	e := ended[0].Exchange
	if e.Came.Start != "HTTP/1.1 200 OK" || len(e.Came.Body) > 0 || e.Came.Length != 4 {
		t.Errorf("%q, %q, %d bytes", e.Came.Start, e.Came.Body, e.Came.Length)
	}
	for _, h := range e.Came.Headers {
		if strings.Contains(h.Value, "body") {
			t.Errorf("%s ends with %q", h.Name, h.Value[len(h.Value)-10:])
		}
	}
}

// answerInParts answers each connection once: the second part comes when the test goes on. It returns the URL.
func answerInParts(t *testing.T, goOn <-chan struct{}, first, second string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, first)
				<-goOn
				_, _ = io.WriteString(conn, second)
				_, _ = conn.Read(make([]byte, 1)) // until the client closes it
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/"
}
