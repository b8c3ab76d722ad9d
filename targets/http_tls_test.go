package targets

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/certtest"
	"github.com/loadctl/loadctl/internal/echotest"
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
		spec   Spec
		status int
		class  string
	}{
		{"own authority", Spec{URL: "https://good.example", CA: a.PEM}, 200, ""},
		{"host header is not the name", Spec{URL: "https://good.example", CA: a.PEM, Headers: []Header{{"Host", "x"}}}, 200, ""},
		{"insecure", Spec{URL: "https://other.example", Insecure: true}, 200, ""},
		{"unknown authority", Spec{URL: "https://good.example"}, 0, ClassTLS},
		{"other name", Spec{URL: "https://other.example", CA: a.PEM}, 0, ClassTLS},
	} {
		t.Run(c.name, func(t *testing.T) {
			names = nil
			c.spec.ConnectTo = to
			do(t, open(t, c.spec, Local{}), c.status, c.class)
			if want := c.spec.URL[len("https://"):]; len(names) != 1 || names[0] != want {
				t.Errorf("the server saw names %q, want %s", names, want)
			}
		})
	}
}

func TestTLSKeepAlive(t *testing.T) {
	a := certtest.New(t)
	s := arrive(t, arrivals.Options{TLS: serverTLS(t, a, "good.example")})
	target := open(t, Spec{URL: "https://good.example", CA: a.PEM, ConnectTo: []string{"::" + s.Addr()}}, Local{})
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

// On a connection that was idle, the wait for the answer begins as soon as a short request is written. If the request
// took more than one record, the rest would never be written. The first request has the shortest records.
func TestTLSRequestsOfAllLengths(t *testing.T) {
	a := certtest.New(t)
	spec := Spec{URL: "https://good.example", CA: a.PEM, Body: make([]byte, 100), Timeout: 30 * time.Second}
	head := len(open(t, spec, Local{}).(*httpTarget).first.wire) - len(spec.Body)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, suite := range []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA} {
			config := serverTLS(t, a, "good.example")
			config.MaxVersion, config.CipherSuites = version, []uint16{suite}
			s := arrive(t, arrivals.Options{TLS: config})
			spec.ConnectTo = []string{"::" + s.Addr()}
			for _, length := range []int{oneRecord / 2, oneRecord, oneRecord + 1, 100 * oneRecord} {
				spec.Body = make([]byte, length-head)
				target := open(t, spec, Local{})
				if n := target.(*httpTarget).Preconnect(t.Context(), 1, 0); n != 1 {
					t.Fatal("no connection")
				}
				do(t, target, 200, "")
				do(t, target, 200, "")
				idle(t, target)
			}
		}
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
		spec := Spec{URL: "https://good.example", CA: a.PEM, ConnectTo: []string{"::" + s.Addr()}}
		cert, key := a.Issue("client")
		do(t, open(t, spec, Local{Cert: cert, Key: key}), 200, "")
		// With TLS 1.3 the client learns of a refusal only after it believes to be done. If the request is written
		// before that, a reset may hide the refusal.
		got := open(t, spec, Local{}).Do(t.Context(), Call{})
		if got.Class != ClassTLS && (version == tls.VersionTLS12 || got.Class != ClassReset) {
			t.Errorf("without a certificate, version %x: %+v", version, got)
		}
	}
}

func TestTLSToAPlainServer(t *testing.T) {
	addr := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		c.Read(make([]byte, 4096))
	})
	do(t, open(t, Spec{URL: "https://" + addr}, Local{}), 0, ClassTLS)
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
		target := open(t, Spec{URL: "https://good.example", CA: a.PEM, ConnectTo: []string{"::" + s.Addr()}, NoKeepAlive: true}, Local{})
		for range 5 {
			do(t, target, 200, "")
		}
		if n := resumed.Load(); n != 4 {
			t.Errorf("version %x: %d of 5 connections resumed a session", version, n)
		}
	}
}
