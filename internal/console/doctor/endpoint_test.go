package doctor

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

// secure returns a certificate for 127.0.0.1 that ends after a time, and its PEM.
func secure(t *testing.T, lasts time.Duration) (config *tls.Config, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(lasts),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pair := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return &tls.Config{Certificates: []tls.Certificate{pair}}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// year is longer than any warning.
const year = 365 * 24 * time.Hour

// counting starts a server like loadctl target.
func counting(t *testing.T, o arrivals.Options) *arrivals.Server {
	t.Helper()
	s, err := arrivals.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// shownOf returns the findings by their checks, as "state: found; mend".
func shownOf(t *testing.T, a Aim) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range Endpoint(t.Context(), a) {
		text := f.State + ": " + f.Found
		if f.Mend != "" {
			text += "; " + f.Mend
		}
		if all[f.Check] != "" {
			text = all[f.Check] + "\n" + text
		}
		all[f.Check] = text
	}
	return all
}

// says checks that the findings have these texts, and no others beside those that may be there.
func says(t *testing.T, name string, got, want map[string]string) {
	t.Helper()
	for check, text := range want {
		if !strings.Contains(got[check], text) || text == "" && got[check] != "" {
			t.Errorf("%s: %s is %q, want %q", name, check, got[check], text)
		}
	}
	for check := range got {
		if _, known := want[check]; !known {
			t.Errorf("%s: more: %s is %q", name, check, got[check])
		}
	}
}

const nothingSent = "ok: no request of the run"

// TestEndpointOfHTTP: address, TLS, certificate and protocol of each version; the server counts no request.
func TestEndpointOfHTTP(t *testing.T) {
	t.Parallel()
	config, ca := secure(t, year)
	plain := counting(t, arrivals.Options{})
	encrypted := counting(t, arrivals.Options{TLS: config, HTTP3: true})
	const valid = "ok: TLS 1.3, certificate until "
	for name, c := range map[string]struct {
		spec targets.Spec
		want map[string]string
	}{
		"HTTP/1.1":        {targets.Spec{URL: plain.URL()}, map[string]string{"protocol": "ok: HTTP/1.1; only a request tells"}},
		"prior knowledge": {targets.Spec{URL: plain.URL(), HTTP: "2", Streams: 50}, map[string]string{"protocol": "ok: HTTP/2 with prior knowledge (h2c)"}},
		"with TLS":        {targets.Spec{URL: encrypted.URL(), CA: ca}, map[string]string{"endpoint tls": valid, "protocol": "ok: HTTP/1.1, agreed by ALPN (http/1.1)"}},
		"any certificate": {targets.Spec{URL: encrypted.URL(), Insecure: true}, map[string]string{"endpoint tls": "ok: TLS 1.3, certificate not checked (-k), certificate until", "protocol": "HTTP/1.1"}},
		"HTTP/2":          {targets.Spec{URL: encrypted.URL(), CA: ca, HTTP: "2"}, map[string]string{"endpoint tls": valid, "protocol": "ok: HTTP/2, agreed by ALPN (h2)"}},
		"auto":            {targets.Spec{URL: encrypted.URL(), CA: ca, HTTP: "auto"}, map[string]string{"endpoint tls": valid, "protocol": "ok: HTTP/2, agreed by ALPN (h2)"}},
		"HTTP/3":          {targets.Spec{URL: encrypted.URL(), CA: ca, HTTP: "3", Streams: 10}, map[string]string{"endpoint tls": valid, "protocol": "ok: HTTP/3 (QUIC, h3)"}},
	} {
		address := plain.Addr()
		if strings.HasPrefix(c.spec.URL, "https") {
			address = encrypted.Addr()
		}
		c.want["endpoint"], c.want["sent"] = "ok: "+address+", connected in ", nothingSent
		says(t, name, shownOf(t, Aim{Spec: c.spec}), c.want)
	}
	if n := plain.Count() + encrypted.Count(); n > 0 {
		t.Errorf("%d requests came", n)
	}
}

// TestEndpointStreams: a server that allows fewer streams than the run wants is a warning.
func TestEndpointStreams(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came") }))
	s.EnableHTTP2, s.Config.HTTP2 = true, &http.HTTP2Config{MaxConcurrentStreams: 5}
	s.StartTLS()
	t.Cleanup(s.Close)
	aim := Aim{Spec: targets.Spec{URL: s.URL, Insecure: true, HTTP: "2", Streams: 5}}
	if got := shownOf(t, aim); got["streams"] != "" {
		t.Errorf("as many as wanted: %v", got)
	}
	aim.Spec.Streams = 6
	const want = "warn: the server allows 5 at a time on a connection, and --streams is 6: more wait, or use more connections; give --streams 5, or raise MAX_CONCURRENT_STREAMS of the server"
	if got := shownOf(t, aim)["streams"]; got != want {
		t.Errorf("fewer than wanted: %q", got)
	}
}

// TestEndpointCertificate: a certificate that ends soon is a warning, and one that has ended is an error.
func TestEndpointCertificate(t *testing.T) {
	t.Parallel()
	start := func(lasts time.Duration) (url, ca string) {
		config, ca := secure(t, lasts)
		return counting(t, arrivals.Options{TLS: config}).URL(), ca
	}
	url, ca := start(100 * time.Hour)
	if got := shownOf(t, Aim{Spec: targets.Spec{URL: url, CA: ca}})["endpoint tls"]; !strings.HasPrefix(got, "warn: TLS 1.3, certificate ends on ") || !strings.Contains(got, ", in 4 days; renew") {
		t.Errorf("soon: %q", got)
	}
	url, ca = start(-time.Hour)
	got := shownOf(t, Aim{Spec: targets.Spec{URL: url, CA: ca}})
	says(t, "over", got, map[string]string{"endpoint": "; renew the certificate of the server, set the clock of this machine, or accept any certificate with -k", "sent": nothingSent})
	if got := shownOf(t, Aim{Spec: targets.Spec{URL: url, Insecure: true}})["endpoint tls"]; !strings.HasPrefix(got, "warn: TLS 1.3, certificate not checked (-k), certificate ended on ") {
		t.Errorf("over, with -k: %q", got)
	}
}

// TestEndpointFails: each failure is one bad finding that says what to do.
func TestEndpointFails(t *testing.T) {
	t.Parallel()
	config, _ := secure(t, year)
	strict := config.Clone()
	strict.ClientAuth = tls.RequireAnyClientCert
	encrypted, plain := counting(t, arrivals.Options{TLS: config}), httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	lines := counting(t, arrivals.Options{Echo: arrivals.Lines})
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	t.Cleanup(old.Close)
	ancient := httptest.NewUnstartedServer(http.NotFoundHandler())
	ancient.Config.ErrorLog, ancient.TLS = log.New(io.Discard, "", 0), &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	ancient.StartTLS()
	t.Cleanup(ancient.Close)
	const tooOld = "the server's version of TLS is too old: let it speak TLS 1.2 or 1.3"
	demanding := httptest.NewUnstartedServer(http.NotFoundHandler())
	demanding.Config.ErrorLog, demanding.EnableHTTP2, demanding.TLS = log.New(io.Discard, "", 0), true, strict.Clone()
	demanding.StartTLS()
	t.Cleanup(demanding.Close)
	for name, c := range map[string]struct {
		spec        targets.Spec
		found, mend string
	}{
		"refused":        {targets.Spec{URL: "http://" + closed}, "connection refused", "start the server, or check host, port and firewalls"},
		"no such host":   {targets.Spec{URL: "http://no-such-host.invalid"}, "no-such-host.invalid", "check the host in the URL"},
		"no TLS":         {targets.Spec{URL: "https://" + plain.Listener.Addr().String()}, "does not look like a TLS handshake", "write http:// in --url"},
		"no TLS, auto":   {targets.Spec{URL: "https://" + plain.Listener.Addr().String(), HTTP: "auto"}, "does not look like a TLS handshake", "write http:// in --url"},
		"unknown":        {targets.Spec{URL: encrypted.URL()}, "unknown authority", "--cacert FILE, or accept any certificate with -k"},
		"own":            {targets.Spec{URL: counting(t, arrivals.Options{TLS: strict}).URL(), Insecure: true}, "certificate required", "give --cert FILE and --key FILE"},
		"own, HTTP/2":    {targets.Spec{URL: demanding.URL, Insecure: true, HTTP: "2"}, "certificate required", "give --cert FILE and --key FILE"},
		"own, gRPC":      {targets.Spec{URL: strings.Replace(demanding.URL, "https", "grpcs", 1) + "/a.B/C", Insecure: true}, "certificate required", "give --cert FILE and --key FILE"},
		"old TLS":        {targets.Spec{URL: ancient.URL, Insecure: true}, "tls: protocol version not supported", tooOld},
		"old TLS, auto":  {targets.Spec{URL: ancient.URL, Insecure: true, HTTP: "auto"}, "tls: protocol version not supported", tooOld},
		"no HTTP/2":      {targets.Spec{URL: old.URL, Insecure: true, HTTP: "2"}, "does not speak HTTP/2", "--http"},
		"no h2c":         {targets.Spec{URL: "http://" + lines.Addr(), HTTP: "2"}, "greet 127.0.0.1:", "leave out --http 2, or write https:// if the server wants TLS"},
		"no HTTP/3":      {targets.Spec{URL: encrypted.URL(), Insecure: true, HTTP: "3"}, "dial udp 127.0.0.1:", "check the port and firewalls"},
		"no WebSocket":   {targets.Spec{URL: "ws://" + plain.Listener.Addr().String() + "/", Body: []byte("a")}, "the server answers 404 Not Found", "check path and login in --url, or write wss:// if the server wants TLS"},
		"no gRPC":        {targets.Spec{URL: "grpc://" + lines.Addr() + "/a.B/C"}, "greet 127.0.0.1:", "check the port in --url, or write grpcs:// if the server wants TLS: gRPC needs HTTP/2"},
		"closed":         {targets.Spec{URL: "https://" + counting(t, arrivals.Options{}).Addr()}, ": the server closes the connection", "whether it speaks TLS: https:// or http://"},
		"no Redis":       {targets.Spec{URL: "redis://" + plain.Listener.Addr().String(), Body: []byte("PING")}, "ask 127.0.0.1:", "no Redis answers there"},
		"no credentials": {targets.Spec{URL: plain.URL, Auth: "bearer:@/no/such/file"}, "/no/such/file", "; the endpoint was not checked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings := Endpoint(t.Context(), Aim{Spec: c.spec})
			f := findings[0]
			if f.State != Bad || !strings.Contains(f.Found, c.found) || !strings.Contains(f.Mend, c.mend) || strings.ContainsAny(f.Found+f.Mend, "\n") {
				t.Errorf("%+v", findings)
			}
			if Problems(findings) != 1 || len(findings) > 2 {
				t.Errorf("%+v", findings)
			}
		})
	}
}

// TestEndpointIsSilent: a server that accepts connections and says nothing is found in time.
func TestEndpointIsSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, url := range []string{"https://" + l.Addr().String(), "grpc://" + l.Addr().String() + "/a.B/C", "redis://" + l.Addr().String()} {
		f := Endpoint(ctx, Aim{Spec: targets.Spec{URL: url, Body: []byte("PING")}})[0]
		if f.State != Bad || !strings.Contains(f.Mend, "firewall") {
			t.Errorf("%s: %+v", url, f)
		}
	}
}

// TestEndpointOfGRPC: reflection and health are asked, and the method is not called.
func TestEndpointOfGRPC(t *testing.T) {
	t.Parallel()
	greeting := map[string]string{"endpoint": "ok: 127.0.0.1:", "protocol": "ok: HTTP/2 with prior knowledge", "sent": "ok: no request of the run, but questions for reflection and health"}
	with := func(more map[string]string) map[string]string {
		maps.Copy(more, greeting)
		return more
	}
	echo := counting(t, arrivals.Options{Echo: arrivals.Calls})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	healthy := grpc.NewServer(grpc.MaxConcurrentStreams(3))
	state := health.NewServer()
	grpc_health_v1.RegisterHealthServer(healthy, state)
	reflection.Register(healthy)
	go func() { _ = healthy.Serve(l) }() // until Stop
	t.Cleanup(healthy.Stop)
	other := "grpc://" + l.Addr().String() + "/grpc.health.v1.Health/Check"
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mute := rpctest.Serve(t, silent, false)

	says(t, "of loadctl target", shownOf(t, Aim{Spec: targets.Spec{URL: echo.URL() + "/loadctl.Echo/Say"}}),
		with(map[string]string{"reflection": "ok: the server describes loadctl.Echo/Say", "health": "ok: not told"}))
	says(t, "healthy", shownOf(t, Aim{Spec: targets.Spec{URL: other, Streams: 4}}),
		with(map[string]string{"reflection": "ok: the server describes grpc.health.v1.Health/Check", "health": "ok: SERVING", "streams": "warn: the server allows 3 at a time"}))
	state.Shutdown()
	says(t, "not healthy", shownOf(t, Aim{Spec: targets.Spec{URL: other}}),
		with(map[string]string{"reflection": "ok: ", "health": "warn: NOT_SERVING: calls may fail; find out why"}))
	says(t, "no such method", shownOf(t, Aim{Spec: targets.Spec{URL: echo.URL() + "/loadctl.Echo/Shout"}}),
		with(map[string]string{"reflection": `bad: url: service loadctl.Echo has no method "Shout"; it has `, "health": "ok: not told"}))
	says(t, "another message", shownOf(t, Aim{Spec: targets.Spec{URL: echo.URL() + "/loadctl.Echo/Say", Body: []byte(`{"txt": 1}`)}}),
		with(map[string]string{"reflection": "bad: body: ", "health": "ok: not told"}))
	says(t, "no reflection", shownOf(t, Aim{Spec: targets.Spec{URL: mute.URL("UnaryCall")}}),
		with(map[string]string{"reflection": "bad: describe " + mute.Addr + ": the server does not tell what it offers (reflection); give --proto FILE", "health": "ok: not told"}))
	says(t, "with files", shownOf(t, Aim{Spec: targets.Spec{URL: mute.URL("UnaryCall"), Descriptors: rpctest.Descriptors(t)}}), with(map[string]string{"health": "ok: not told"}))
	if echo.Count() > 0 || mute.Calls() > 0 {
		t.Errorf("%d and %d calls came", echo.Count(), mute.Calls())
	}
}

// TestEndpointOfWebSocket: the handshake is made, no message is sent, and the subprotocol is told.
func TestEndpointOfWebSocket(t *testing.T) {
	t.Parallel()
	echo := counting(t, arrivals.Options{Echo: arrivals.Messages})
	const sent = "ok: no request of the run, but a handshake of WebSocket"
	spec := targets.Spec{URL: echo.URL() + "/", Body: []byte("a"), Reply: "any"}
	says(t, "plain", shownOf(t, Aim{Spec: spec}), map[string]string{"endpoint": "ok: 127.0.0.1:", "websocket": "ok: the connection was upgraded, without a subprotocol", "sent": sent})
	spec.Headers = []targets.Header{{Name: "Sec-WebSocket-Protocol", Value: "chat, soap"}}
	got := shownOf(t, Aim{Spec: spec})
	if !strings.Contains(got["websocket"], "subprotocol") || strings.HasPrefix(got["websocket"], "bad") {
		t.Errorf("%v", got)
	}
	if echo.Count() > 0 {
		t.Errorf("%d messages came", echo.Count())
	}
}

// TestEndpointOfLines: over tcp and udp one payload is sent if a reply is expected, and none otherwise.
func TestEndpointOfLines(t *testing.T) {
	t.Parallel()
	lines, datagrams := counting(t, arrivals.Options{Echo: arrivals.Lines}), counting(t, arrivals.Options{Echo: arrivals.Datagrams})
	const one = "ok: one request of the run"
	for _, c := range []struct {
		spec  targets.Spec
		count int64
		want  map[string]string
	}{
		{targets.Spec{URL: lines.URL(), Body: []byte("a\n")}, 0, map[string]string{"endpoint": "ok: ", "sent": nothingSent}},
		{targets.Spec{URL: lines.URL(), Body: []byte("a ${ordinal}\n"), Reply: `until \n`}, 1, map[string]string{"endpoint": "ok: ", "reply": "ok: 4 B in ", "sent": one}},
		{targets.Spec{URL: lines.URL(), Body: []byte("a\n"), Reply: `until \n`, Checks: []string{"body has b"}}, 2, map[string]string{"endpoint": "ok: ", "reply": "bad: it is not as expected: check", "sent": one}},
		{targets.Spec{URL: datagrams.URL(), Body: []byte("a")}, 2, map[string]string{"endpoint": "warn: " + datagrams.Addr() + ": over UDP only a reply tells", "sent": nothingSent}},
		{targets.Spec{URL: datagrams.URL(), Body: []byte("abc"), Reply: "any"}, 3, map[string]string{"endpoint": "ok: ", "reply": "ok: 3 B in ", "sent": one}},
		{targets.Spec{URL: fmt.Sprintf("udp://127.0.0.1:%d", redistest.FreePort(t)), Body: []byte("abc"), Reply: "any"}, 3, map[string]string{"endpoint": "ok: ", "reply": "bad: no server at this port", "sent": one}},
		{targets.Spec{URL: datagrams.URL(), Body: []byte("abc"), Reply: "bytes 4", Timeout: time.Second}, 4, map[string]string{"endpoint": "ok: ", "reply": "which is no whole reply", "sent": one}},
	} {
		says(t, c.spec.URL, shownOf(t, Aim{Spec: c.spec}), c.want)
		if n := lines.Count() + datagrams.Count(); n != c.count {
			t.Errorf("%s: %d payloads came, want %d", c.spec.URL, n, c.count)
		}
	}
}

// TestEndpointOfRedis: the version is told, and the Redis that holds the runs is refused.
func TestEndpointOfRedis(t *testing.T) {
	t.Parallel()
	runs, other := redistest.Start(t), redistest.Start(t, "--requirepass", "right", "--user", "reader", "on", ">right", "~*", "+get")
	holders := FindHolders(t.Context(), runs.Client())
	command := func(url string) Aim { return Aim{Spec: targets.Spec{URL: url, Body: []byte("PING")}, Redis: holders} }
	const sent = "ok: no request of the run, but INFO server"
	says(t, "another one", shownOf(t, command("redis://:right@"+other.Addr())), map[string]string{"endpoint": "ok: " + other.Addr(), "endpoint redis": "ok: Redis 7", "sent": sent})
	says(t, "that of the runs", shownOf(t, command(runs.URL())), map[string]string{
		"endpoint": "ok: ", "endpoint redis": " is the one that holds the runs (--redis); give another Redis in the URL", "sent": sent,
	})
	says(t, "wrong password", shownOf(t, command("redis://:wrong@"+other.Addr())), map[string]string{
		"endpoint": "bad: log in to " + other.Addr() + ": the server refuses: reply WRONGPASS; check user, password and database in the URL", "sent": nothingSent,
	})
	says(t, "no password", shownOf(t, command("redis://"+other.Addr())), map[string]string{
		"endpoint": "bad: ask " + other.Addr() + ": the server refuses: reply NOAUTH; the server wants a password: write redis://:PASSWORD@HOST:PORT or redis://USER:PASSWORD@HOST:PORT in --url", "sent": sent,
	})
	says(t, "no permission to tell", shownOf(t, command("redis://reader:right@"+other.Addr())), map[string]string{"endpoint": "ok: " + other.Addr(), "endpoint redis": "of a version that it does not tell (INFO server)", "sent": sent})
}

// TestEndpointsOfFlows: each server of a workload is contacted once, and each finding says which it is about.
func TestEndpointsOfFlows(t *testing.T) {
	t.Parallel()
	web, lines := counting(t, arrivals.Options{}), counting(t, arrivals.Options{Echo: arrivals.Lines})
	step := func(name, url string) targets.Step { return targets.Step{Name: name, URL: url} }
	line := targets.Step{Name: "line", URL: lines.URL(), Body: []byte("order\n"), Reply: `until \n`}
	flows := []targets.Flow{{Name: "f", Steps: []targets.Step{step("a", web.URL()+"/a"), step("b", web.URL()+"/b"), line}}}
	got := shownOf(t, Aim{Spec: targets.Spec{Flows: flows}})
	if !strings.Contains(got["protocol"], "ok: "+web.Addr()+": HTTP/1.1") || strings.Count(got["endpoint"], "\n") != 1 || !strings.Contains(got["reply"], lines.Addr()) {
		t.Errorf("%v", got)
	}
	await.True(t, "the connection that sends nothing", func() bool { return web.Connections() > 0 }) // accepted, perhaps after its end
	if web.Connections() != 1 || lines.Connections() != 1 || lines.Count() != 1 || web.Count() != 0 {
		t.Errorf("%d and %d connections, %d requests", web.Connections(), lines.Connections(), lines.Count()+web.Count())
	}
}

// TestEndpointWithoutConnections: there is nothing to check.
func TestEndpointWithoutConnections(t *testing.T) {
	says(t, "noop", shownOf(t, Aim{Spec: targets.Spec{URL: "noop://"}}), map[string]string{"endpoint": "ok: there is none: the target opens no connections"})
}

// TestEndpointShowsNoSecret: no finding shows what the URL, headers or the credential hide.
func TestEndpointShowsNoSecret(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	for _, s := range []targets.Spec{
		{URL: "http://hunter2:hunter2@" + closed}, {URL: "redis://:hunter2@" + closed, Body: []byte("GET hunter2")},
		{URL: "ws://" + closed + "/?token=hunter2", Body: []byte("a"), Auth: "bearer:@" + file}, {URL: "grpc://hunter2:hunter2@" + closed + "/a.B/C"},
	} {
		findings := Endpoint(t.Context(), Aim{Spec: s})
		if slices.ContainsFunc(findings, func(f Finding) bool { return strings.Contains(f.Found+f.Mend, "hunter2") }) {
			t.Errorf("%+v", findings)
		}
	}
}
