package arrivals

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/site"
)

// client2 returns a client of net/http that speaks HTTP/2 only.
func client2(t *testing.T) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// certificate returns settings of TLS with a certificate that nobody checks.
func certificate() *tls.Config {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}
}

// TestHTTP2: each stream is a request that is counted once, with its path, with and without TLS and a Site.
func TestHTTP2(t *testing.T) {
	routes := []site.Route{{Pattern: "/a"}, {Pattern: "/b", Status: 201}}
	for name, opts := range map[string]Options{
		"plain": {}, "TLS": {TLS: certificate()}, "routes": sited(t, Options{}, routes...), "routes and TLS": sited(t, Options{TLS: certificate()}, routes...),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Start(opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			client := client2(t)
			const clients, each = 20, 10
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range each {
						ask(t, client, "GET", s.URL()+"/a?x=1", "", "ok")
						ask(t, client, "HEAD", s.URL()+"/a", "", "")
						ask(t, client, "POST", s.URL()+"/b", strings.Repeat("x", 100_000), "ok") // more than a window
					}
				})
			}
			all.Wait()
			if n := s.Count(); n != 3*clients*each || int(n) != len(s.Arrivals()) {
				t.Errorf("%d counted, %d times, %d sent", n, len(s.Arrivals()), 3*clients*each)
			}
			paths := s.Paths()
			if paths["/a?x=1"] != clients*each || paths["/a"] != clients*each || paths["/b"] != clients*each {
				t.Errorf("%v", paths)
			}
			if n := s.Connections(); n > clients {
				t.Errorf("%d connections", n)
			}
			// The same server still speaks HTTP/1.1.
			ask(t, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}, "GET", s.URL()+"/a", "", "ok")
		})
	}
}

func ask(t *testing.T, client *http.Client, method, url, body, want string) {
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); string(got) != want || err != nil || answer.StatusCode/100 != 2 {
		t.Errorf("%s %s: %d, %q, %v", method, url, answer.StatusCode, got, err)
	}
}

// TestHTTP2Waits: streams wait for their answers side by side, and Close ends the wait.
func TestHTTP2Waits(t *testing.T) {
	const latency, streams = 100 * time.Millisecond, 50
	s, err := Start(Options{Latency: latency, NoPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	client := client2(t)
	began := time.Now()
	if ask(t, client, "GET", s.URL(), "", "ok"); time.Since(began) < latency {
		t.Errorf("an answer came after %v", time.Since(began))
	}
	s.Stall(time.Hour)
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			if answer, err := client.Get(s.URL()); err == nil {
				answer.Body.Close()
				t.Error("an answer during a stall")
			}
		})
	}
	await.True(t, "all requests, though none is answered", func() bool { return s.Count() == 1+streams })
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// TestNothingIsCountedAfterClose: the goroutine of a request may begin when its connection, and the server, have ended.
func TestNothingIsCountedAfterClose(t *testing.T) {
	for name, opts := range map[string]Options{"plain": {}, "routes": sited(t, Options{}, site.Route{Pattern: "/a"}), Calls: {Echo: Calls}} {
		s, err := Start(opts)
		if err != nil {
			t.Fatal(err)
		}
		serve := map[string]http.HandlerFunc{"plain": s.serveStream, "routes": s.serveWeb, Calls: s.serveCall}[name]
		ask := func() (aborted any) {
			defer func() { aborted = recover() }()
			r := httptest.NewRequest("POST", echoPath+"Say", strings.NewReader("\x00\x00\x00\x00\x00"))
			serve(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), ofConn{}, &webConn{server: s, lane: new(lane)})))
			return nil
		}
		if aborted := ask(); aborted != nil || s.Count() != 1 {
			t.Errorf("%s: %v, %d counted before Close", name, aborted, s.Count())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if aborted := ask(); aborted == nil || s.Count() != 1 {
			t.Errorf("%s: %v, %d counted after Close", name, aborted, s.Count()-1)
		}
	}
}
