package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/certtest"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

// serverTLS is the configuration of a server with a certificate for names.
func serverTLS(t *testing.T, a *certtest.Authority, names ...string) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Issue(names...))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func TestTLS(t *testing.T) {
	a := certtest.New(t)
	config := serverTLS(t, a, "good.example")
	var names []string
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		names = append(names, h.ServerName)
		for _, p := range h.SupportedProtos {
			if p != "http/1.1" {
				t.Errorf("the client offers %s", p)
			}
		}
		return nil, nil
	}
	s := arrive(t, arrivals.Options{TLS: config})
	to := []string{"::" + s.Addr()}
	for _, c := range []struct {
		name   string
		spec   targets.Spec
		status int
		class  string
	}{
		{"own authority", targets.Spec{URL: "https://good.example", CA: a.PEM}, 200, ""},
		{"host header is not the name", targets.Spec{URL: "https://good.example", CA: a.PEM, Headers: []targets.Header{{Name: "Host", Value: "x"}}}, 200, ""},
		{"insecure", targets.Spec{URL: "https://other.example", Insecure: true}, 200, ""},
		{"unknown authority", targets.Spec{URL: "https://good.example"}, 0, targets.ClassTLS},
		{"other name", targets.Spec{URL: "https://other.example", CA: a.PEM}, 0, targets.ClassTLS},
	} {
		t.Run(c.name, func(t *testing.T) {
			names = nil
			c.spec.ConnectTo = to
			do(t, open(t, c.spec, targets.Local{}), c.status, c.class)
			if want := c.spec.URL[len("https://"):]; len(names) != 1 || names[0] != want {
				t.Errorf("the server saw names %q, want %s", names, want)
			}
		})
	}
}

func TestTLSKeepAlive(t *testing.T) {
	a := certtest.New(t)
	s := arrive(t, arrivals.Options{TLS: serverTLS(t, a, "good.example")})
	target := open(t, targets.Spec{URL: "https://good.example", CA: a.PEM, ConnectTo: []string{"::" + s.Addr()}}, targets.Local{})
	first := do(t, target, 200, "")
	for range 20 {
		// The first request is counted without its handshake too.
		if got := do(t, target, 200, ""); got != first {
			t.Errorf("got %+v, want %+v", got, first)
		}
	}
	if s.Connections() != 1 || s.Count() != 21 {
		t.Errorf("%d connections, %d received", s.Connections(), s.Count())
	}
}

func TestClientCertificate(t *testing.T) {
	a := certtest.New(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := serverTLS(t, a, "good.example")
		config.MaxVersion = version
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM([]byte(a.PEM))
		s := arrive(t, arrivals.Options{TLS: config})
		spec := targets.Spec{URL: "https://good.example", CA: a.PEM, ConnectTo: []string{"::" + s.Addr()}}
		cert, key := a.Issue("client")
		do(t, open(t, spec, targets.Local{Cert: cert, Key: key}), 200, "")
		// With TLS 1.3 the client learns of a refusal only after it believes to be done. If the request is written
		// before that, a reset may hide the refusal.
		got := open(t, spec, targets.Local{}).Do(t.Context(), targets.Call{})
		if got.Class != targets.ClassTLS && (version == tls.VersionTLS12 || got.Class != targets.ClassReset) {
			t.Errorf("without a certificate, version %x: %+v", version, got)
		}
	}
}

func TestTLSToAPlainServer(t *testing.T) {
	addr := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		c.Read(make([]byte, 4096))
	})
	do(t, open(t, targets.Spec{URL: "https://" + addr}, targets.Local{}), 0, targets.ClassTLS)
}

// All connections but the first resume a session, with both versions of TLS.
func TestTLSResumes(t *testing.T) {
	a := certtest.New(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := serverTLS(t, a, "good.example")
		config.MinVersion, config.MaxVersion = version, version
		var resumed atomic.Int32
		config.VerifyConnection = func(s tls.ConnectionState) error {
			if s.DidResume {
				resumed.Add(1)
			}
			return nil
		}
		s := arrive(t, arrivals.Options{TLS: config})
		target := open(t, targets.Spec{URL: "https://good.example", CA: a.PEM, ConnectTo: []string{"::" + s.Addr()}, NoKeepAlive: true}, targets.Local{})
		for range 5 {
			do(t, target, 200, "")
		}
		if n := resumed.Load(); n != 4 {
			t.Errorf("version %x: %d of 5 connections resumed a session", version, n)
		}
	}
}
