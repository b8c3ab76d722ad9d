package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// A paced server sends the events of its answers one by one, and knows when it began to write each.
type paced struct {
	sync.Mutex
	written [][]time.Time // by answer
}

// pieces is how many events each answer of a paced server has.
const pieces = 5

// answer writes the events of one answer. It knows of each before the client can.
func (p *paced) answer(write func()) {
	p.Lock()
	i := len(p.written)
	p.written = append(p.written, nil)
	p.Unlock()
	for range pieces {
		time.Sleep(3 * time.Millisecond)
		p.Lock()
		p.written[i] = append(p.written[i], time.Now())
		p.Unlock()
		write()
	}
}

// ServeHTTP sends lines.
func (p *paced) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.answer(func() {
		_, _ = io.WriteString(w, "an event\n")
		http.NewResponseController(w).Flush()
	})
}

// inPieces returns a paced server for each protocol, and what is sent to it.
func inPieces() map[string]func(t *testing.T, p *paced) targets.Spec {
	lines := events.Options{Kind: events.Lines}
	return map[string]func(t *testing.T, p *paced) targets.Spec{
		"lines over HTTP/1.1": func(t *testing.T, p *paced) targets.Spec {
			return targets.Spec{URL: serve(t, p.ServeHTTP).URL, Stream: lines}
		},
		"chunks over HTTP/1.1 with TLS": func(t *testing.T, p *paced) targets.Spec {
			server := httptest.NewTLSServer(p)
			t.Cleanup(server.Close)
			return targets.Spec{URL: server.URL, Insecure: true, Stream: events.Options{Kind: events.Chunks}}
		},
		"lines over HTTP/2": func(t *testing.T, p *paced) targets.Spec {
			return targets.Spec{URL: serve2(t, true, p.ServeHTTP), HTTP: "2", Insecure: true, Stream: lines}
		},
		"chunks over HTTP/2": func(t *testing.T, p *paced) targets.Spec {
			return targets.Spec{URL: serve2(t, false, p.ServeHTTP), HTTP: "2", Stream: events.Options{Kind: events.Chunks}}
		},
		"lines over HTTP/3": func(t *testing.T, p *paced) targets.Spec {
			return targets.Spec{URL: startThree(t, p.ServeHTTP, nil).url, HTTP: "3", Insecure: true, Stream: lines}
		},
		"messages over gRPC": func(t *testing.T, p *paced) targets.Spec {
			paces := func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
				var err error
				p.answer(func() {
					if err == nil {
						err = s.SendMsg(&grpc_testing.StreamingOutputCallResponse{})
					}
				})
				return err
			}
			return targets.Spec{URL: rpctest.Start(t, grpc.StreamInterceptor(paces)).URL("StreamingOutputCall"), Descriptors: rpctest.Descriptors(t), Body: []byte("{}"), Stream: events.Options{Kind: events.Messages}}
		},
		"messages over WebSocket": func(t *testing.T, p *paced) targets.Spec {
			url := echoMessages(t, func(c *websocket.Conn, r *http.Request) {
				for {
					kind, message, err := c.Read(r.Context())
					if err != nil {
						return
					}
					p.answer(func() { _ = c.Write(r.Context(), kind, message) })
				}
			})
			return targets.Spec{URL: url, Body: []byte("x"), Reply: "messages 5", Stream: events.Options{Kind: events.Messages}}
		},
	}
}

// TestEventsAreTrue asserts that over each protocol an event is noted after the server began to write it, and each once; in
// the acceptance run within a millisecond.
func TestEventsAreTrue(t *testing.T) {
	for name, spec := range inPieces() {
		t.Run(name, func(t *testing.T) {
			const requests = 5
			p := new(paced)
			results, watched, at := timed(t, spec(t, p), requests)
			var late []time.Duration
			var sum int64
			for i, r := range results {
				e := r.Events
				if r.Outcome.Class != "" || e.Count != pieces || e.First < r.First || e.Last > r.Done || e.Last < e.First {
					t.Fatalf("%+v, events %+v", r, e)
				}
				p.Lock()
				late = append(late, at(e.First).Sub(p.written[i][0]), at(e.Last).Sub(p.written[i][pieces-1]))
				p.Unlock()
				sum += e.Last - e.First
			}
			var gaps int64
			for _, g := range watched.gaps {
				gaps += g
			}
			if len(watched.gaps) != requests*(pieces-1) || gaps != sum {
				t.Errorf("%d gaps of %d ns, the answers have %d ns", len(watched.gaps), gaps, sum)
			}
			if slices.Sort(late); late[0] < 0 || await.Acceptance() && late[len(late)/2] > time.Millisecond {
				t.Errorf("noted %v after they were written", late)
			}
		})
	}
}

// TestEndsOfEvents asserts what the end of an answer in pieces means, over each version of HTTP.
func TestEndsOfEvents(t *testing.T) {
	write := func(w http.ResponseWriter, texts ...string) {
		for _, text := range texts {
			_, _ = io.WriteString(w, text)
			http.NewResponseController(w).Flush()
		}
	}
	cut := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name, until, class string
		count              int64
		serve              func(w http.ResponseWriter, r *http.Request)
	}{
		{"all came", "", "", 2, func(w http.ResponseWriter, _ *http.Request) { write(w, "a\nb", "\n") }},
		{"none came", "", targets.ClassNoEvent, 0, func(w http.ResponseWriter, _ *http.Request) { write(w, "\n") }},
		{"the last one has no end", "", "", 2, func(w http.ResponseWriter, _ *http.Request) { write(w, "a\nb") }},
		{"the last one never came", "done", targets.ClassTruncated, 2, func(w http.ResponseWriter, _ *http.Request) { write(w, "a\nb\n") }},
		{"the last one came, and the server goes on", "done", "", 2, func(w http.ResponseWriter, r *http.Request) {
			write(w, "a\n", "done\n")
			<-r.Context().Done()
		}},
		{"compressed", "", targets.ClassEncoded, 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			write(w, "a\n")
		}},
		{"another status", "", targets.ClassStatus, 0, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			write(w, "sorry\n")
		}},
		{"a redirect", "", "", 1, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/there", http.StatusFound)
				return
			}
			write(w, "a\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for version, url := range versions(t, c.serve) {
				spec := targets.Spec{URL: url + "/", HTTP: version, Insecure: version != "1.1", Redirects: 1, Stream: events.Options{Kind: events.Lines, Until: c.until}}
				results, _, _ := timed(t, spec, 2)
				for _, r := range results {
					if r.Outcome.Class != c.class || r.Events.Count != c.count {
						t.Errorf("HTTP/%s: %+v, events %+v", version, r.Outcome, r.Events)
					}
				}
			}
		})
	}
	t.Run("cut off", func(t *testing.T) {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { write(w, "a\n"); cut(w) }).URL
		results, _, _ := timed(t, targets.Spec{URL: url, Stream: events.Options{Kind: events.Lines}}, 1)
		if r := results[0]; r.Outcome.Class != targets.ClassTruncated || r.Events.Count != 1 {
			t.Errorf("%+v, events %+v", r.Outcome, r.Events)
		}
	})
}

// versions returns the URLs of a handler by the version of HTTP.
func versions(t *testing.T, serves http.HandlerFunc) map[string]string {
	return map[string]string{"1.1": serve(t, serves).URL, "2": serve2(t, true, serves), "3": strings.TrimSuffix(startThree(t, serves, nil).url, "/")}
}

// TestSilenceEndsEvents asserts that the timeout of an answer in pieces is that of each event: an answer that takes longer goes
// on, and one that falls silent is over.
func TestSilenceEndsEvents(t *testing.T) {
	const timeout = 400 * time.Millisecond
	silent := func(w http.ResponseWriter, r *http.Request) {
		for range 4 {
			_, _ = io.WriteString(w, "a\n")
			http.NewResponseController(w).Flush()
			time.Sleep(timeout / 2)
		}
		<-r.Context().Done()
	}
	for version, url := range versions(t, silent) {
		t.Run(version, func(t *testing.T) {
			spec := targets.Spec{URL: url, HTTP: version, Insecure: version != "1.1", Timeout: timeout, Stream: events.Options{Kind: events.Lines}}
			await.True(t, "a silence after the timeout of a whole answer", func() bool {
				results, _, _ := timed(t, spec, 1)
				r := results[0]
				want := targets.ClassStalled
				if r.Events.Count == 0 { // a busy machine
					want = targets.ClassTimeout
				}
				if r.Outcome.Class != want || want == targets.ClassStalled && r.Done-r.Events.Last < int64(timeout) {
					t.Fatalf("%+v, events %+v", r, r.Events)
				}
				return r.Events.Count == 4 && r.Done-r.Sent > int64(2*timeout)
			})
		})
	}
}

// TestEventsOfOpenStreams asserts that messages on a stream that stays open are the events of the request that asked for them.
func TestEventsOfOpenStreams(t *testing.T) {
	spec := targets.Spec{
		URL: rpctest.Start(t).URL("FullDuplexCall"), Descriptors: rpctest.Descriptors(t), Reply: "messages 3",
		Body: []byte(`{"responseParameters": [{"size": 3}, {"size": 1}, {"size": 2}]}`), Stream: events.Options{Kind: events.Messages},
	}
	results, watched, _ := timed(t, spec, 4)
	for _, r := range results {
		if r.Outcome.Class != "" || r.Events.Count != 3 || r.Events.First < r.Sent || r.Events.Last > r.Done {
			t.Errorf("%+v, events %+v", r, r.Events)
		}
	}
	if len(watched.gaps) != 4*2 {
		t.Errorf("%d gaps of four answers with three events", len(watched.gaps))
	}
}
