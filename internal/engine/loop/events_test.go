//go:build linux

package loop

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// TestLinger asserts that a request whose answer is over waits for its end a moment at most, and is good, whether the end comes,
// the moment passes, or the request is canceled. Its connection is kept in the first case.
func TestLinger(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig, cn *conn, ends chan<- struct{})
		kept bool
	}{
		"ends": {func(_ *rig, cn *conn, ends chan<- struct{}) {
			ends <- struct{}{}
			cn.deadline += int64(time.Hour) // this machine may take its time
		}, true},
		"stays":    {func(*rig, *conn, chan<- struct{}) {}, false},
		"canceled": {func(r *rig, cn *conn, _ chan<- struct{}) { r.c.Cancel(cn.result.Due, context.Canceled) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			ends := make(chan struct{})
			url := serve(t, func(c *net.TCPConn) {
				for in := bufio.NewReader(c); ; {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n17\r\ndata: a\n\ndata: [DONE]\n\n\r\n")
					<-ends
					_, _ = io.WriteString(c, "0\r\n\r\n")
				}
			})
			defer close(ends)
			r := newRig(t, targets.Spec{URL: url, Timeout: time.Hour, Stream: events.Options{Kind: events.SSE}}, targets.Local{}, 1)
			r.mustSend()
			r.pollUntil("the end mark", func() bool { return r.c.lingering.first != nil || len(r.got) > 0 })
			if cn := r.c.lingering.first; cn != nil { // else a busy machine
				if r.c.inFlight.first != nil || cn.deadline > r.c.Now()+int64(mostLinger) {
					t.Fatalf("it lingers until %d, now is %d", cn.deadline, r.c.Now())
				}
				c.do(r, cn, ends)
			} else {
				c.kept = false
			}
			r.pollFor(1)
			got := r.got[0]
			if got.Outcome.Class != "" || got.Events.Count != 1 || got.Done != got.Events.Last || r.c.lingering.first != nil || r.c.connections > 0 != c.kept {
				t.Errorf("%+v, events %+v, %d connections", got, got.Events, r.c.connections)
			}
		})
	}
}
