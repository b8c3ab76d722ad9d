package loadworker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go/http3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/loadctl/loadctl/internal/proof/rpctest"
)

// known is a certificate for a server and for its clients, in files, and a server's configuration that demands it.
type known struct {
	cert, key string
	config    *tls.Config
}

func newKnown(t *testing.T) known {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(err)
	k := known{cert: filepath.Join(t.TempDir(), "cert.pem"), key: filepath.Join(t.TempDir(), "key.pem")}
	must(os.WriteFile(k.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(os.WriteFile(k.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	clients := x509.NewCertPool()
	text, err := os.ReadFile(k.cert)
	must(err)
	clients.AppendCertsFromPEM(text)
	k.config = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		ClientCAs:    clients, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	return k
}

// TestClientCertificate: a server that demands a certificate gets it over each scheme, from the event loop and from the
// other clients.
func TestClientCertificate(t *testing.T) {
	k := newKnown(t)
	var arrived atomic.Int64
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			return
		}
		if r.URL.Path != "/socket" {
			arrived.Add(1)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil {
				return
			}
			arrived.Add(1)
			_ = c.Write(r.Context(), kind, text) // else the client says so
		}
	}))
	web.TLS, web.EnableHTTP2 = k.config.Clone(), true
	web.StartTLS()
	t.Cleanup(web.Close)
	datagrams, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	three := &http3.Server{TLSConfig: http3.ConfigureTLSConfig(k.config), Handler: web.Config.Handler}
	go three.Serve(datagrams)
	t.Cleanup(func() { three.Close() })
	calls := rpctest.Start(t, grpc.Creds(credentials.NewTLS(k.config)))
	for name, args := range map[string][]string{
		"HTTP/1, event loop": {"--url", web.URL, "--http", "1.1"},
		"HTTP/1, goroutines": {"--url", web.URL, "--http", "1.1", "--redirects", "1"},
		"HTTP/2, event loop": {"--url", web.URL, "--http", "2"},
		"HTTP/2, goroutines": {"--url", web.URL, "--http", "2", "--redirects", "1"},
		"HTTP/3":             {"--url", "https://" + datagrams.LocalAddr().String() + "/", "--http", "3"},
		"WebSocket":          {"--url", strings.Replace(web.URL, "https", "wss", 1) + "/socket", "--body", "x"},
		"gRPC":               {"--url", strings.Replace(calls.URL("EmptyCall"), "grpc", "grpcs", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			before := arrived.Load() + calls.Calls()
			_, stderr, code := execute(slices.Concat([]string{"run", "--qps", "100", "-n", "10", "--cacert", k.cert, "--cert", k.cert, "--key", k.key}, patient(), args)...)
			if n := arrived.Load() + calls.Calls() - before; code != 0 || n < 10 {
				t.Errorf("exit code %d, %d requests with the certificate\n%s", code, n, stderr)
			}
		})
	}
}
