package http2test

import (
	"crypto/tls"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// A Try is a case at a real server.
type Try struct {
	*Case
	Server  *Server
	URL     string
	Timeout time.Duration // for each request
}

// Run tries all cases: with TLS and without, and short ones byte by byte. try sends Count requests at once, over one
// connection at a time, and gives their outcomes to Check. If Ends, it waits until Server.Gone.
func Run(t *testing.T, try func(t *testing.T, x *Try)) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	secure := &tls.Config{Certificates: certificate.TLS.Certificates, NextProtos: []string{"h2"}}
	certificate.Close()
	const drip = 300 // bytes
	for _, c := range Cases() {
		size := 0
		for _, step := range c.Steps {
			size += len(step.Bytes)
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // some wait for their timeout
			try(t, newTry(t, &c, nil, 0))
			try(t, newTry(t, &c, secure, 0))
			if size <= drip {
				try(t, newTry(t, &c, nil, 1))
			}
		})
	}
}

// newTry starts the server of a try; see Serve.
func newTry(t *testing.T, c *Case, secure *tls.Config, size int) *Try {
	t.Helper()
	x := &Try{Case: c, Server: Serve(t, *c, secure, size), Timeout: time.Hour}
	x.URL = "http://" + x.Server.Address + "/"
	if secure != nil {
		x.URL = "https://" + x.Server.Address + "/"
	}
	if slices.ContainsFunc(c.Want, func(o Outcome) bool { return o.Class == Timeout }) {
		x.Timeout = 3 * time.Second // a handshake has to fit into it, on a slow machine too
	}
	return x
}

// Check compares the outcomes of all requests, in any order, with those that are expected, and how many requests came.
// The outcomes of package targets do not say how long a body was.
func (x *Try) Check(t *testing.T, got []Outcome) {
	t.Helper()
	want := x.Outcomes()
	for i := range want {
		want[i].Body = 0
	}
	slices.SortFunc(got, Compare)
	slices.SortFunc(want, Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %+v, want %+v", x.URL, got, want)
	}
	if n := x.Server.Requests(); n != x.Heads() {
		t.Errorf("%s: %d requests, want %d", x.URL, n, x.Heads())
	}
}
