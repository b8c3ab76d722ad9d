package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
)

// protocol is a server that counts for itself, and what workers need to send to it.
type protocol struct {
	args  []string
	count func() int64
	reset func()
	also  func(t *testing.T, r report.Report) // looks at a whole run; nil = nothing else
	join  func(b *bed, run string) *process   // starts what joins the run by its name; nil = workers that describe it

	// Without replies a request is over once the system has its bytes. Those that the server had not read when a worker was
	// killed die with the connection.
	unanswered bool
}

// least is how many requests of a run with a killed worker arrived, at least.
func (p protocol) least(r report.Report) int64 {
	n := written(r) - r.Audit.InFlight
	for _, w := range r.Workers {
		if p.unanswered && !w.Final {
			n -= w.Sent
		}
	}
	return n
}

// protocols starts a server for each protocol.
func protocols(t *testing.T) map[string]protocol {
	t.Helper()
	echo := func(kind, address string) *arrivals.Server {
		s, err := arrivals.Start(arrivals.Options{Echo: kind, Addr: address})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	plain := serve(t, arrivals.Options{})
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // only to get its certificate
	web.Close()
	quic, err := arrivals.Start(arrivals.Options{TLS: &tls.Config{Certificates: web.TLS.Certificates}, HTTP3: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { quic.Close() })
	messages := startMessages(t)
	lines, datagrams, calls, store := echo(arrivals.Lines, "[::1]:0"), echo(arrivals.Datagrams, "127.0.0.1:0"), echo(arrivals.Calls, "127.0.0.1:0"), redistest.Start(t)
	const few = "64" // more datagrams at once, and the system drops those that a slow server has no room for
	return map[string]protocol{
		"h1":  {args: []string{"--url", plain.URL() + "/${ordinal}"}, count: plain.Count, reset: plain.Reset},
		"h3":  {args: []string{"--url", quic.URL() + "/${ordinal}", "-k", "--http", "3", "--streams", "16", "--max-connections", "4", "--check", "body has ok"}, count: quic.Count, reset: quic.Reset},
		"tcp": {args: []string{"--url", lines.URL(), "-d", "hello ${ordinal} from ${worker}\n", "--reply", `until \n`, "--check", "body has hello"}, count: lines.Count, reset: lines.Reset},
		"udp": {args: []string{"--url", datagrams.URL(), "-d", "hello ${ordinal}", "--reply", "any", "--check", "body has hello",
			"--max-connections", few}, count: datagrams.Count, reset: datagrams.Reset},
		"ws": {args: []string{"--url", messages.url, "-d", "hello ${ordinal} from ${worker}", "--reply", "any", "--check", "body has hello"},
			count: messages.count.Load, reset: func() { messages.count.Store(0) }},
		"redis": {args: []string{"--url", store.URL(), "-d", "INCR n", "--check", `body matches /^\d+$/`}, count: func() int64 {
			n, _ := store.Client().Get(t.Context(), "n").Int64() // 0 before the first one
			return n
		}, reset: func() { store.Client().Del(t.Context(), "n") }},
		"h2c":                    counted(t, false, "--streams", "5", "-d", "hello ${ordinal}"),
		"https":                  counted(t, true, "-k", "--max-connections", "4"), // of more handshakes at once, some take longer than this server waits
		"h2c, redirects allowed": counted(t, false, "--streams", "5", "--redirects", "1"),
		"grpc": {args: []string{"--url", calls.URL() + "/loadctl.Echo/Say", "-d", `{"text": "hello ${ordinal}"}`, "--check", "body has hello"},
			count: calls.Count, reset: calls.Reset, also: func(t *testing.T, r report.Report) {
				if r.StatusCodes["OK"] != r.Audit.Sent {
					t.Errorf("statuses %v", r.StatusCodes)
				}
			}},
		"grpc messages": messagesOf(rpctest.Start(t), "FullDuplexCall", `{"responseParameters": [{"size": 3}, {"size": ${random 10 20}}]}`, 2, "--reply", "messages 2", "--check", "size > 10B"),
		"grpc one-way":  messagesOf(rpctest.Start(t), "StreamingInputCall", `{"payload": {"body": "aGVsbG8="}}`, 0),
	}
}

// messagesOf sends messages on streams that stay open. Each gets some replies, and no connection opens more streams than
// it may carry. In the end all streams are ended in order.
func messagesOf(s *rpctest.Server, method, body string, replies int64, args ...string) protocol {
	const streams = 16
	before := int64(0)
	count := func() int64 { return s.Messages() - before }
	return protocol{args: append([]string{"--url", s.URL(method), "-d", body, "--streams", fmt.Sprint(streams)}, args...), count: count, reset: func() { before = s.Messages() },
		unanswered: replies == 0, also: func(t *testing.T, r report.Report) {
			await.True(t, "the end of each stream", func() bool { return s.Finished() == s.Calls() })
			if r.MessagesIn != replies*count() || s.Calls() > streams*s.Connections() {
				t.Errorf("%d messages in, %d streams on %d connections", r.MessagesIn, s.Calls(), s.Connections())
			}
		}}
}

// counted starts a server that is not ours, with HTTP/2 alone, and counts the requests that it serves.
func counted(t *testing.T, secure bool, args ...string) protocol {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s", r.Proto)
		}
		n.Add(1)
		_, _ = io.Copy(w, r.Body)
	}))
	s.EnableHTTP2, s.Config.Protocols = secure, new(http.Protocols)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	start := s.Start
	if secure {
		start = s.StartTLS
	}
	start()
	t.Cleanup(s.Close)
	return protocol{args: append([]string{"--url", s.URL, "--http", "2"}, args...), count: n.Load, reset: func() { n.Store(0) }}
}

// TestProtocolsAreExact: over each protocol three workers send the exact count, also after a change of the rate. If one is
// killed, what arrived is what was sent, but for what it had in flight or its server had not read, and at most what is lost.
// make test does it with HTTP/1.1 alone.
func TestProtocolsAreExact(t *testing.T) {
	besides(t)
	for name, p := range protocols(t) {
		if testing.Short() && name != "h1" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := &bed{t: t, redis: redistest.Start(t)}
			p.whole(b)
			p.reset()
			p.killed(b)
		})
	}
}

// fleet starts three workers of a run.
func (p protocol) fleet(b *bed, run string, args ...string) (ps []*process) {
	all := slices.Concat(patient(), []string{"--min-workers", "3"}, p.args, args)
	if p.join != nil {
		b.loadctl(append([]string{"create", run}, all...)...)
	}
	for range 3 {
		if p.join != nil {
			ps = append(ps, p.join(b, run))
			continue
		}
		ps = append(ps, b.worker(run, all...))
	}
	return ps
}

// whole is a run whose rate is changed. At its first rate it would last for minutes.
func (p protocol) whole(b *bed) {
	const requests = 2000
	ps := p.fleet(b, "whole", append(unhurried(), "--qps", "10", "-n", fmt.Sprint(requests))...)
	await.True(b.t, "5 requests", func() bool { return p.count() >= 5 })
	b.loadctl("set-rate", "whole", "2000")
	for _, w := range ps {
		w.wait(0)
	}
	r := b.report("whole")
	if p.unanswered { // the server may still be reading
		await.True(b.t, "the last request", func() bool { return p.count() >= r.Audit.Sent })
	}
	// Overrun is what a worker without a processor sent before it received the new rate.
	if n, a := p.count(), r.Audit; n != requests+a.Overrun || acceptance() && a.Overrun > 0 || a.Sent != n || a.Completed != n || !r.Complete || len(r.Errors) > 0 {
		b.t.Errorf("%d arrived, %+v, errors %v, complete %v", n, a, r.Errors, r.Complete)
	}
	if p.also != nil {
		p.also(b.t, r)
	}
}

// killed is a run of which a worker is killed, before the rate is changed and the run is stopped.
func (p protocol) killed(b *bed) {
	ps := p.fleet(b, "killed", "--qps", "600", "--duration", "5m", "--on-redis-loss", "stop", "--catch-up", "1s", "--max-lag", "1s")
	await.True(b.t, "300 requests", func() bool { return p.count() >= 300 })
	ps[0].signal(syscall.SIGKILL)
	<-ps[0].Exited
	b.loadctl("set-rate", "killed", "300")
	await.True(b.t, "the end of its lease", func() bool {
		return slices.ContainsFunc(b.status("killed").Workers, func(w run.Worker) bool { return w.State == "lost" })
	})
	then := p.count()
	await.True(b.t, "100 requests of the others", func() bool { return p.count() >= then+100 })
	if rate := b.status("killed").Rate; rate != 300 {
		b.t.Errorf("%g/s", rate)
	}
	b.loadctl("stop", "killed")
	for _, w := range ps[1:] {
		w.wait(0)
	}
	r := b.report("killed")
	if n, a := p.count(), r.Audit; n < p.least(r) || n > a.Sent+a.Lost || a.Lost == 0 {
		b.t.Errorf("%d arrived, %+v", n, a)
	}
}
