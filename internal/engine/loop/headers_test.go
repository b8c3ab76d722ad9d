//go:build linux

package loop

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// TestManyHeaders asserts that of an answer with 1,000 headers or more nothing is shown but the first 1,000, whole or broken off
// in its head, and of one with fewer all is.
func TestManyHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		headers, want int
		body          string
		breaks        bool
	}{
		"few":          {headers: 900, want: 902, body: "secret"},
		"many":         {headers: 3000, want: 1000},
		"broken off":   {headers: 3000, want: 1000, breaks: true},
		"few, then no": {headers: 900, want: 901, breaks: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n")
				for i := range c.headers {
					fmt.Fprintf(conn, "%x: \r\n", i)
				}
				if !c.breaks {
					io.WriteString(conn, "Connection: close\r\n\r\nsecret")
				}
			}))
			defer s.Close()
			client := open(t, targets.Spec{URL: s.URL}, targets.Local{}, 1)
			defer client.Close()
			client.Watch(curious{}, 64<<10)
			now := client.Now()
			var ended []targets.Result
			for sent := false; len(ended) == 0; {
				sent = sent || client.Send(now, now, targets.Call{})
				if err := client.Poll(client.Now()+int64(10*time.Millisecond), func(r targets.Result) { ended = append(ended, r) }); err != nil {
					t.Fatal(err)
				}
			}
			if m := ended[0].Exchange.Came; len(m.Headers) != c.want || string(m.Body) != c.body {
				t.Errorf("%d headers and the body %q are shown, want %d and %q", len(m.Headers), m.Body, c.want, c.body)
			}
		})
	}
}
