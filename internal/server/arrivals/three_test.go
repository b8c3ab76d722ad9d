package arrivals

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"github.com/loadctl/loadctl/internal/server/site"
)

// TestHTTP3CountsEachRequest: requests of HTTP/3, many at a time on a connection, and of https at the same port are
// counted once each, by route.
func TestHTTP3CountsEachRequest(t *testing.T) {
	s := start(t, sited(t, Options{TLS: secure(), HTTP3: true, ErrorShare: 0.1}, site.Route{Pattern: "/a", Status: 201}, site.Route{Pattern: "/never"}))
	end := collecting(s)
	insecure := &tls.Config{InsecureSkipVerify: true}
	three := &http3.Transport{TLSClientConfig: insecure}
	defer three.Close()
	one := &http.Transport{TLSClientConfig: insecure}
	defer one.CloseIdleConnections()
	var wg sync.WaitGroup
	const each = 40
	for i := range 20 {
		client := http.Client{Transport: one}
		if i%2 == 0 {
			client.Transport = three
		}
		wg.Go(func() {
			for j := range each {
				r, err := client.Get(fmt.Sprintf("%s/%c", s.URL(), 'a'+j%2))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil || string(body) != "ok" || r.StatusCode != 500 && r.StatusCode != 201-j%2 {
					t.Errorf("%d %q %v", r.StatusCode, body, err)
				}
			}
		})
	}
	wg.Wait()
	if n := s.Count(); n != 20*each || len(s.Arrivals()) > int(n) || s.ErrorsAnswered() != n/10 {
		t.Errorf("%d counted, %d errors", n, s.ErrorsAnswered())
	}
	s.Close()
	sum := end()
	for _, r := range sum.Routes {
		if want := map[string]int64{"/a": 10 * each, "other": 10 * each}[r.Route]; r.Requests != want {
			t.Errorf("%s: %d requests, want %d", r.Route, r.Requests, want)
		}
	}
	if sum.Total != 20*each {
		t.Errorf("%+v", sum)
	}
}

// secure returns a configuration with a certificate.
func secure() *tls.Config {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}
}

func TestHTTP3NeedsTLS(t *testing.T) {
	if _, err := Start(Options{HTTP3: true}); err == nil {
		t.Error("it starts without TLS")
	}
}
