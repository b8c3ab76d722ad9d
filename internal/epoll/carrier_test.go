//go:build linux

package epoll

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// serve2 serves HTTP/2, plain or with TLS, until the test ends.
func serve2(t *testing.T, secure bool, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL
}

// Requests with and without bodies, over few and many streams, arrive once and are answered.
func TestCarries(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, streams := range []int{1, 8} {
			t.Run(fmt.Sprintf("tls=%v,streams=%d", secure, streams), func(t *testing.T) {
				var arrived atomic.Int64
				url := serve2(t, secure, func(w http.ResponseWriter, r *http.Request) {
					arrived.Add(1)
					if r.ProtoMajor != 2 {
						t.Errorf("%s", r.Proto)
					}
					_, _ = io.Copy(w, r.Body)
				})
				r := newRig(t, targets.Spec{URL: url + "/x", HTTP: targets.HTTP2, Streams: streams, Insecure: true, Body: make([]byte, 100_000)}, targets.Local{}, 3)
				const n = 300
				for len(r.got) < n {
					for r.sent < n && r.send() {
					}
					r.poll(1e6)
				}
				for _, g := range r.got {
					if g.Outcome.Status != 200 || g.Outcome.Class != "" || g.Outcome.BytesOut < 100_000 || g.Outcome.BytesIn < 100_000 {
						t.Fatalf("%+v", g.Outcome)
					}
				}
				if arrived.Load() != n || r.c.carriers > 3 {
					t.Errorf("%d arrived, %d connections", arrived.Load(), r.c.carriers)
				}
			})
		}
	}
}
