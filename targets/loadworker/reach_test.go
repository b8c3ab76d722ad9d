package loadworker

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// silent is a server that accepts connections and stays silent.
func silent(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}

// TestUnreachableTargets: a run whose target cannot be reached does not begin, and the message says why.
func TestUnreachableTargets(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	waiting(t, server.Client())

	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	authority := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }

	shop := file(t, "flows: {buy: [{list: {get: "+plain.URL+"}}, {pay: {get: "+closed.URL+"}}]}")
	const nothing, anyway = "; nothing was sent. ", ", or send anyway with --no-check"
	create := func(more ...string) []string { return append([]string{"run", "--run", "x", "--qps", "10"}, more...) }
	clitest.RefusedAll(t, newPlainCommand, server.Client(), []clitest.Refusal{
		{Args: create("--url", "http://u:"+secret+"@"+address(closed)), Says: []string{"reach the target: ", "connection refused" + nothing + "Check --url" + anyway}},
		{Args: create("--url", "http://127.0.0.1:1", "--run", "there", "--min-workers", "2"), Says: []string{"connection refused" + nothing + "Check --url" + anyway}},
		{Args: create("--url", "http://h", "--unix-socket", file(t, "")+"x"), Says: []string{"no such file or directory" + nothing + "Check --url"}},
		{Args: create("--url", "http://127.0.0.1", "--connect-to", "::"+address(closed)), Says: []string{"connection refused" + nothing}},
		{Args: create("--url", "http://no-such-host.invalid"), Says: []string{"reach the target: ", nothing + "Check --url" + anyway}},
		{Args: create("--url", "https://"+address(plain)), Says: []string{"does not look like a TLS handshake" + nothing + "The server does not speak TLS: write http:// in --url" + anyway}},
		{Args: create("--url", "wss://"+address(plain), "-d", "x"), Says: []string{nothing + "The server does not speak TLS: write ws:// in --url" + anyway}},
		{Args: create("--url", "grpcs://"+address(plain)+"/loadctl.Echo/Say", "--proto", "../../examples/grpc/echo.proto"), Says: []string{nothing + "The server does not speak TLS: write grpc:// in --url" + anyway}},
		{Args: create("--url", "grpcs://"+address(secure)+"/loadctl.Echo/Say", "-k", "--proto", "../../examples/grpc/echo.proto"), Says: []string{"does not speak HTTP/2" + nothing + "Check the port in --url: gRPC needs HTTP/2" + anyway}},
		{Args: create("--url", "grpc://"+address(secure)+"/loadctl.Echo/Say", "--proto", "../../examples/grpc/echo.proto"), Says: []string{nothing + "Check the port in --url, or write grpcs:// if the server wants TLS: gRPC needs HTTP/2" + anyway}},
		{Args: create("--url", "ws://"+address(plain), "-d", "x"), Says: []string{"the server answers 404 Not Found" + nothing + "Check path and login in --url, or write wss:// if the server wants TLS" + anyway}},
		{Args: create("--url", "ws://"+address(secure), "-d", "x"), Says: []string{"the server answers 400 Bad Request" + nothing + "Check path and login in --url, or write wss:// if the server wants TLS" + anyway}},
		{Args: create("--url", "wss://"+address(secure), "-k", "-d", "x"), Says: []string{"the server answers 404 Not Found" + nothing + "Check path and login in --url" + anyway}},
		{Args: create("--url", "http://"+address(plain), "--http", "2"), Says: []string{"the server does not speak HTTP/2" + nothing + "Leave out --http 2, or write https:// if the server wants TLS" + anyway}},
		{Args: create("--url", "http://"+address(secure), "--http", "2"), Says: []string{"the server does not speak HTTP/2" + nothing + "Leave out --http 2, or write https:// if the server wants TLS" + anyway}},
		{Args: create("--url", "https://"+address(secure), "-k", "--http", "2"), Says: []string{"the server does not speak HTTP/2" + nothing + "Leave out --http 2" + anyway}},
		{Args: create("--url", secure.URL), Says: []string{"unknown authority" + nothing + "Trust its authority with --cacert FILE, or accept any certificate with -k" + anyway}},
		{Args: create("--workload", shop), Says: []string{"reach the target: step pay: dial tcp ", "connection refused" + nothing + "Check the url of this step" + anyway}},
		{Args: create("--url", "https://other.invalid", "--connect-to", "::"+address(secure), "--cacert", authority), Says: []string{"not other.invalid" + nothing + "Write the name in its certificate in --url and its address in --connect-to"}},
	})

	began := time.Now()
	refused(t, create("--url", "https://"+silent(t)), "reach the target: ", nothing+"The server did not answer in time: check --url and firewalls, and whether it speaks TLS: https:// or http://"+anyway)
	await.Soon(t, "a refusal", time.Since(began), 4*reachPatience)
}

// TestNoCheck: with --no-check the run begins, and each request reports how it failed.
func TestNoCheck(t *testing.T) {
	f := newFleet(t)
	f.first.Close()
	r := f.works(append(patient(), "--run", "x", "--url", f.first.URL, "--qps", "200", "-n", "5", "--no-check")...)
	if r.Audit.Sent != 5 || r.Errors["connect"] != 5 {
		t.Errorf("%+v, %v", r.Audit, r.Errors)
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(secure.Close)
	authority := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	for name, args := range map[string][]string{
		"trusted": {"--url", secure.URL, "--cacert", authority}, "any": {"--url", secure.URL, "-k"},
		"named": {"--cacert", authority, "--url", "https://example.com", "--connect-to", "::" + strings.TrimPrefix(secure.URL, "https://")},
	} {
		r := f.works(append(append(patient(), "--run", name, "--qps", "200", "-n", "5"), args...)...)
		if r.StatusCodes["204"] != 5 {
			t.Errorf("%s: %v, %v: what the messages advise does not help", name, r.StatusCodes, r.Errors)
		}
	}
}
