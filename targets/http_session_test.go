package targets

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/targets/http2/http2test"
)

// serve2 starts a server of net/http that speaks HTTP/2 only, with TLS if wanted, and returns its URL.
func serve2(tb testing.TB, secure bool, h http.HandlerFunc) string {
	tb.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.Config.Protocols.SetHTTP2(true)
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	tb.Cleanup(s.Close)
	return s.URL
}

// TestHTTP2: many requests at once, with bodies, over as many connections as they need.
func TestHTTP2(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, streams := range []int{1, 4, 1000} {
			t.Run(fmt.Sprintf("TLS %v, %d streams", secure, streams), func(t *testing.T) {
				var served, connections atomic.Int64
				var seen sync.Map
				url := serve2(t, secure, func(w http.ResponseWriter, r *http.Request) {
					if _, known := seen.LoadOrStore(r.RemoteAddr, true); !known {
						connections.Add(1)
					}
					if r.Proto != "HTTP/2.0" || r.Header.Get("X-A") != "b" {
						t.Errorf("%s, X-A %q", r.Proto, r.Header.Get("X-A"))
					}
					n, err := io.Copy(w, r.Body)
					if n != 100_000 || err != nil {
						t.Errorf("%d bytes, %v", n, err)
					}
					served.Add(1)
				})
				spec := Spec{URL: url, Method: "POST", Body: []byte(strings.Repeat("x", 100_000)), HTTP: HTTP2, Streams: streams, Insecure: true, Headers: []Header{{"X-A", "b"}}}
				target, err := New(spec, Local{MaxConnections: 8})
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				const each, goroutines = 20, 32
				var all sync.WaitGroup
				for range goroutines {
					all.Go(func() {
						for range each {
							got := target.Do(t.Context(), Call{})
							if got.Status != 200 || got.Class != "" || got.BytesIn < 100_000 || got.BytesOut < 100_000 {
								t.Errorf("%+v", got)
							}
						}
					})
				}
				all.Wait()
				if n := served.Load(); n != each*goroutines {
					t.Errorf("%d requests, %d were sent", n, each*goroutines)
				}
				most := int64(min(8, (goroutines+streams-1)/streams))
				if n := connections.Load(); n > most {
					t.Errorf("%d connections, %d are enough", n, most)
				}
				atRest(t, target)
			})
		}
	}
}

// atRest checks that no request has a connection any more.
func atRest(t *testing.T, target Target) {
	t.Helper()
	p := target.(*httpTarget).pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.places != len(p.idle) || len(p.waiting) != 0 || len(p.promised) != 0 || p.dialling != 0 {
		t.Errorf("at rest %d places, %d idle, %d waiting, %d promised, %d dialling", p.places, len(p.idle), len(p.waiting), len(p.promised), p.dialling)
	}
	for _, c := range p.idle {
		if c.riders != 0 || c.drained {
			t.Errorf("at rest %d riders, drained: %v", c.riders, c.drained)
		}
	}
}

// TestHostileHTTP2 plays the table of hostile servers over real sockets.
func TestHostileHTTP2(t *testing.T) {
	http2test.Run(t, func(t *testing.T, x *http2test.Try) {
		target := new2(t, Spec{
			URL: x.URL, Method: x.Method, Body: make([]byte, x.Body), BodyLimit: x.BodyLimit, Expect: "100-999", Streams: x.Count(), Timeout: x.Timeout,
		}, Local{MaxConnections: 1})
		got := make([]http2test.Outcome, x.Count())
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				o := target.Do(t.Context(), Call{})
				got[i] = http2test.Outcome{Class: o.Class, Status: o.Status}
			})
		}
		all.Wait()
		x.Check(t, got)
		if x.Ends {
			await.True(t, "the end of the connection", x.Server.Gone)
		}
		atRest(t, target)
	})
}
