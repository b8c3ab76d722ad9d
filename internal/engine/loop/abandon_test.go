//go:build linux

package loop

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// TestAbandon asserts that answers that have not ended are canceled, with the events that came, over HTTP/1.1 and HTTP/2.
func TestAbandon(t *testing.T) {
	for _, version := range []string{targets.HTTP1, targets.HTTP2} {
		over := make(chan struct{})
		s := serveVersions(t, false, true, nil, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: a\n\n")
			w.(http.Flusher).Flush()
			<-over
		})
		r := newRig(t, targets.Spec{URL: s.URL, HTTP: version, Timeout: time.Hour, Stream: events.Options{Kind: events.SSE}}, targets.Local{}, 2)
		r.mustSend()
		r.mustSend()
		r.pollUntil("the events", func() bool {
			n := 0
			for cn := r.c.inFlight.first; cn != nil; cn = cn.next {
				if cn.events != nil { // the answer has begun
					n += int(cn.events.Count)
				}
			}
			return n == 2
		})
		var got []targets.Result
		r.c.Abandon(func(x targets.Result) { got = append(got, x) })
		for _, x := range got {
			if x.Outcome.Class != targets.ClassCanceled || x.Events.Count != 1 {
				t.Errorf("HTTP/%s: %+v, events %+v", version, x, x.Events)
			}
		}
		if len(got) != 2 || r.c.inFlight.first != nil {
			t.Errorf("HTTP/%s: %d are reported", version, len(got))
		}
		close(over)
	}
}
