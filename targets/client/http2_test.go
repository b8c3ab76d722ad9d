package client_test

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

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
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

// TestHTTP2: many requests at once, with bodies, over no more connections than allowed.
func TestHTTP2(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, c := range []struct{ streams, size int }{{1, 100_000}, {4, 100}, {1000, 100}, {1000, 100_000}} {
			t.Run(fmt.Sprintf("TLS %v, %d streams, %d bytes", secure, c.streams, c.size), func(t *testing.T) {
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
					if n != int64(c.size) || err != nil {
						t.Errorf("%d bytes, %v", n, err)
					}
					served.Add(1)
				})
				spec := targets.Spec{URL: url, Method: "POST", Body: []byte(strings.Repeat("x", c.size)), HTTP: targets.HTTP2, Streams: c.streams, Insecure: true, Headers: []targets.Header{{Name: "X-A", Value: "b"}}}
				target, err := client.New(spec, targets.Local{MaxConnections: 8})
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				const each, goroutines = 20, 32
				var all sync.WaitGroup
				for range goroutines {
					all.Go(func() {
						for range each {
							got := target.Do(t.Context(), targets.Call{})
							if got.Status != 200 || got.Class != "" || got.BytesIn < int64(c.size) || got.BytesOut < int64(c.size) {
								t.Errorf("%+v", got)
							}
						}
					})
				}
				all.Wait()
				if n := served.Load(); n != each*goroutines {
					t.Errorf("%d requests, %d were sent", n, each*goroutines)
				}
				if n := connections.Load(); n > 8 {
					t.Errorf("%d connections", n)
				}
			})
		}
	}
}
