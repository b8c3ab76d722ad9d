//go:build linux

package loop

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/targets"
)

// A certified server has a certificate for good.example, which the client trusts.
type certified struct {
	config *tls.Config
	pem    string // its certificate
}

func certify(t testing.TB, valid time.Duration) *certified {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
		DNSNames: []string{"good.example"}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certified{
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}
}

// serve serves each connection with f, after its handshake. It returns what a client needs.
func (s *certified) serve(t *testing.T, f func(*tls.Conn)) targets.Spec {
	t.Helper()
	return s.at(serve(t, func(c *net.TCPConn) {
		if secure := tls.Server(c, s.config); secure.Handshake() == nil {
			f(secure)
		}
	}))
}

// at returns the spec of a client of this server.
func (s *certified) at(url string) targets.Spec {
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	return targets.Spec{URL: "https://good.example/", CA: s.pem, ConnectTo: []string{"good.example:443:" + address}}
}

// eachVersion runs a test for each version of TLS.
func eachVersion(t *testing.T, test func(t *testing.T, s *certified)) {
	t.Helper()
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			s := certify(t, time.Hour)
			s.config.MinVersion, s.config.MaxVersion = version, version
			test(t, s)
		})
	}
}

// answers answers each request with text, and counts them.
func answers(text string, requests *atomic.Int32) func(*tls.Conn) {
	return func(c *tls.Conn) {
		for br := bufio.NewReader(c); request(br); {
			requests.Add(1)
			io.WriteString(c, text)
		}
	}
}

// One connection carries all requests, to the server that the URL names. Bytes are those of HTTP.
func TestSecure(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *certified) {
		var handshakes, requests atomic.Int32
		s.config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			if handshakes.Add(1); h.ServerName != "good.example" || len(h.SupportedProtos) != 1 || h.SupportedProtos[0] != "http/1.1" {
				t.Errorf("name %q, protocols %q", h.ServerName, h.SupportedProtos)
			}
			return nil, nil
		}
		r := newRig(t, s.serve(t, answers(ok, &requests)), targets.Local{}, 2)
		for range 20 {
			got := r.do()
			expect(t, got, 200, "")
			if got.BytesIn != int64(len(ok)) || got.BytesOut != int64(len(r.c.wire.Request)) {
				t.Errorf("%d bytes in, %d out", got.BytesIn, got.BytesOut)
			}
		}
		if handshakes.Load() != 1 || requests.Load() != 20 {
			t.Errorf("%d handshakes, %d requests", handshakes.Load(), requests.Load())
		}
	})
}

// All connections but the first resume a session.
func TestSecureResumes(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *certified) {
		var resumed, full atomic.Int32
		spec := s.serve(t, func(c *tls.Conn) {
			if c.ConnectionState().DidResume {
				resumed.Add(1)
			} else {
				full.Add(1)
			}
			if request(bufio.NewReader(c)) {
				io.WriteString(c, ok)
			}
		})
		spec.NoKeepAlive = true
		r := newRig(t, spec, targets.Local{}, 1)
		for range 5 {
			expect(t, r.do(), 200, "")
		}
		if resumed.Load() != 4 || full.Load() != 1 {
			t.Errorf("%d sessions resumed, %d new", resumed.Load(), full.Load())
		}
	})
}

// A handshake that fails is an outcome, of the same class as that of the Target. The next request tries again.
func TestHandshakeFails(t *testing.T) {
	plain := func(act func(*net.TCPConn)) func(*certified) func(*net.TCPConn) {
		return func(*certified) func(*net.TCPConn) { return act }
	}
	secure := func(change func(*tls.Config)) func(*certified) func(*net.TCPConn) {
		return func(s *certified) func(*net.TCPConn) {
			config := s.config.Clone()
			change(config)
			return func(c *net.TCPConn) {
				if s := tls.Server(c, config); s.Handshake() == nil {
					answers(ok, new(atomic.Int32))(s)
				}
			}
		}
	}
	nothing := func(*tls.Config) {}
	hello := func(c *net.TCPConn) { c.Read(make([]byte, 4096)) }
	for _, x := range []struct {
		name   string
		valid  time.Duration
		server func(*certified) func(*net.TCPConn)
		change func(*targets.Spec)
		class  string
	}{
		{"unknown authority", time.Hour, secure(nothing), func(s *targets.Spec) { s.CA = "" }, targets.ClassTLS},
		{"another name", time.Hour, secure(nothing), func(s *targets.Spec) {
			s.URL, s.ConnectTo[0] = "https://bad.example", ":"+s.ConnectTo[0][len("good.example:443"):]
		}, targets.ClassTLS},
		{"expired", -time.Minute, secure(nothing), nil, targets.ClassTLS},
		{"old version", time.Hour, secure(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }), nil, targets.ClassTLS},
		{"other protocol", time.Hour, secure(func(c *tls.Config) { c.NextProtos = []string{"spdy"} }), nil, targets.ClassTLS},
		{"plain server", time.Hour, plain(func(c *net.TCPConn) { hello(c); io.WriteString(c, ok) }), nil, targets.ClassTLS},
		{"hang-up", time.Hour, plain(hello), nil, targets.ClassEOF},
		{"reset", time.Hour, plain(func(c *net.TCPConn) { hello(c); c.SetLinger(0) }), nil, targets.ClassReset},
		{"silence", time.Hour, plain(func(c *net.TCPConn) { hello(c); hello(c) }), func(s *targets.Spec) { s.Timeout = 50 * time.Millisecond }, targets.ClassTimeout},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := certify(t, x.valid)
			spec := s.at(serve(t, x.server(s)))
			spec.Timeout = 10 * time.Second
			if x.change != nil {
				x.change(&spec)
			}
			before := descriptors(t)
			c := open(t, spec, targets.Local{}, 1)
			r := &rig{t: t, c: c}
			for range 3 {
				got := r.do()
				if expect(t, got, 0, x.class); got.BytesOut != 0 || c.opening != 0 {
					t.Errorf("%+v, %d are being opened", got, c.opening)
				}
			}
			r.close()
			await.True(t, "the end of all sockets", func() bool { return descriptors(t) <= before })
		})
	}
}

// A handshake that nobody waits for any more disturbs neither the next one of its conn nor the end of the client.
func TestHandshakeAbandoned(t *testing.T) {
	s := certify(t, time.Hour)
	var connections atomic.Int32
	spec := s.at(serve(t, func(c *net.TCPConn) {
		if connections.Add(1) <= 10 {
			time.Sleep(time.Duration(mrand.IntN(40)) * time.Millisecond)
		}
		if secure := tls.Server(c, s.config); secure.Handshake() == nil {
			answers(ok, new(atomic.Int32))(secure)
		}
	}))
	spec.Timeout = 20 * time.Millisecond
	before := descriptors(t)
	r := &rig{t: t, c: open(t, spec, targets.Local{}, 1)}
	for range 10 {
		if got := r.do(); got.Class != "" && got.Class != targets.ClassTimeout {
			t.Errorf("%+v", got)
		}
	}
	r.mustSend() // and is given up too
	r.close()
	await.True(t, "the end of all sockets", func() bool { return descriptors(t) <= before })
}

// The client shows its certificate to a server that asks for it.
func TestSecureClientCertificate(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *certified) {
		own := certify(t, time.Hour)
		s.config.ClientAuth, s.config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		s.config.ClientCAs.AppendCertsFromPEM([]byte(own.pem))
		spec := s.serve(t, answers(ok, new(atomic.Int32)))
		key, err := x509.MarshalPKCS8PrivateKey(own.config.Certificates[0].PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		local := targets.Local{Cert: filepath.Join(t.TempDir(), "cert"), Key: filepath.Join(t.TempDir(), "key")}
		for path, text := range map[string][]byte{local.Cert: []byte(own.pem), local.Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, newRig(t, spec, local, 1).do(), 200, "")
		// With TLS 1.3 the refusal comes when the request may be written already, and a reset may hide it.
		got := newRig(t, spec, targets.Local{}, 1).do()
		if got.Class != targets.ClassTLS && (s.config.MaxVersion == tls.VersionTLS12 || got.Class != targets.ClassReset) {
			t.Errorf("without a certificate: %+v", got)
		}
	})
}

// pieces is a connection that writes in pieces of at most n bytes; if n is 0, of random lengths.
type pieces struct {
	net.Conn
	n int
}

func (p pieces) Write(b []byte) (int, error) {
	for written := 0; written < len(b); {
		n := p.n
		if n == 0 {
			n = 1 + mrand.IntN(3000)
		}
		n, err := p.Conn.Write(b[written:min(len(b), written+n)])
		if written += n; err != nil {
			return written, err
		}
		if p.n == 0 && mrand.IntN(4) == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	}
	return len(b), nil
}

// Records may come in any pieces: byte by byte, from the first of the handshake, or many at once.
func TestSecureInPieces(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 20_000)
	large := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	eachVersion(t, func(t *testing.T, s *certified) {
		for _, x := range []struct {
			n    int
			text string
		}{{1, ok}, {7, ok}, {0, large}, {1 << 20, large}} {
			spec := s.at(serve(t, func(c *net.TCPConn) {
				c.SetNoDelay(true)
				if secure := tls.Server(pieces{c, x.n}, s.config); secure.Handshake() == nil {
					answers(x.text, new(atomic.Int32))(secure)
				}
			}))
			r := newRig(t, spec, targets.Local{}, 1)
			for range 5 {
				if got := r.do(); got.Class != "" || got.BytesIn != int64(len(x.text)) {
					t.Errorf("pieces of %d: %+v, want %d bytes", x.n, got, len(x.text))
				}
				if r.c.hosts[0].idle.first == nil {
					t.Errorf("pieces of %d: the connection is not kept", x.n)
				}
			}
		}
	})
}

// How a server ends a connection, and what became of the answer.
func TestSecureEnds(t *testing.T) {
	const until = "HTTP/1.1 200 OK\r\n\r\nuntil the end"
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf"
	notify := func(c *tls.Conn) { c.CloseWrite() }
	cut := func(*tls.Conn) {}
	truncate := func(c *tls.Conn) { c.NetConn().Write([]byte{23, 3, 3, 1, 0, 1, 2}) } // a record begins
	garbage := func(c *tls.Conn) { c.NetConn().Write(append([]byte{23, 3, 3, 0, 100}, make([]byte, 100)...)) }
	eachVersion(t, func(t *testing.T, s *certified) {
		for _, x := range []struct {
			name   string
			text   string
			end    func(*tls.Conn)
			status int
			class  string
		}{
			{"no answer, closing message", "", notify, 0, targets.ClassEOF},
			{"no answer, cut", "", cut, 0, targets.ClassEOF},
			{"half, closing message", half, notify, 200, targets.ClassEOF},
			{"half, cut", half, cut, 200, targets.ClassEOF},
			{"half, cut in a record", half, truncate, 200, targets.ClassEOF},
			{"half, garbage", half, garbage, 200, targets.ClassTLS},
			{"whole, closing message", ok, notify, 200, ""},
			{"whole, garbage", ok, garbage, 200, ""},
			{"to the end, closing message", until, notify, 200, ""},
			{"to the end, cut", until, cut, 200, ""},
			{"to the end, cut in a record", until, truncate, 200, targets.ClassEOF},
			{"more than the answer", ok + "more", notify, 200, ""},
		} {
			over := make(chan struct{}, 8)
			spec := s.serve(t, func(c *tls.Conn) {
				if request(bufio.NewReader(c)) {
					io.WriteString(c, x.text)
					x.end(c)
					over <- struct{}{}
				}
			})
			r := newRig(t, spec, targets.Local{}, 1)
			for range 3 {
				if got := r.do(); got.Status != x.status || got.Class != x.class {
					t.Errorf("%s: %+v, want %d %q", x.name, got, x.status, x.class)
				}
				await.Receive(t, "the end of the connection", over) // else a request may be sent before it
				r.pollUntil("the connection is dropped", func() bool { return r.c.hosts[0].idle.first == nil })
			}
		}
	})
}

// A long body leaves in parts, encrypted as the server takes it: the client holds no encrypted copy of it.
func TestSecureLongRequest(t *testing.T) {
	const size = 16 << 20
	eachVersion(t, func(t *testing.T, s *certified) {
		goOn := make(chan struct{})
		spec := s.serve(t, func(c *tls.Conn) {
			c.NetConn().(*net.TCPConn).SetReadBuffer(128 << 10)
			<-goOn
			answers(ok, new(atomic.Int32))(c)
		})
		spec.Body = make([]byte, size)
		r := newRig(t, spec, targets.Local{}, 1)
		r.mustSend()
		cn := r.c.conns[0]
		r.pollUntil("the socket is full", func() bool { return cn.state == writing && cn.begun })
		for range 20 {
			r.poll(time.Millisecond)
		}
		if cn.out == 0 || cn.out >= size || cap(cn.Sealed()) > mostSealed {
			t.Errorf("%d bytes written, room for %d, to a server that reads none", cn.out, cap(cn.Sealed()))
		}
		close(goOn)
		r.pollFor(1)
		for range 3 {
			expect(t, r.got[len(r.got)-1].Outcome, 200, "")
			if out := r.got[len(r.got)-1].Outcome.BytesOut; out != int64(len(r.c.wire.Request)) {
				t.Errorf("%d bytes out of %d", out, len(r.c.wire.Request))
			}
			r.do()
		}
	})
}

// A server may answer and hang up before it has read the whole body.
func TestSecureEarlyAnswer(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *certified) {
		spec := s.serve(t, func(c *tls.Conn) {
			io.ReadFull(c, make([]byte, 1000))
			io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			c.NetConn().(*net.TCPConn).CloseWrite()
		})
		spec.Body = make([]byte, 16<<20)
		expect(t, newRig(t, spec, targets.Local{}, 1).do(), 413, targets.ClassStatus)
	})
}

// An idle connection that the server closes is not used, in whichever way it does so. Written bytes are not written
// again.
func TestSecureNeverTwice(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *certified) {
		var requests atomic.Int32
		var mu sync.Mutex
		var last *tls.Conn
		spec := s.serve(t, func(c *tls.Conn) {
			mu.Lock()
			last = c
			mu.Unlock()
			for br := bufio.NewReader(c); request(br); {
				if requests.Add(1)%5 == 0 {
					return
				}
				io.WriteString(c, ok)
			}
		})
		r := newRig(t, spec, targets.Local{}, 1)
		for i, end := range []func(*tls.Conn){
			func(c *tls.Conn) { c.CloseWrite() },
			func(c *tls.Conn) { c.NetConn().(*net.TCPConn).SetLinger(0); c.NetConn().Close() },
			func(c *tls.Conn) { io.WriteString(c, "unasked") },
			func(*tls.Conn) {},
		} {
			expect(t, r.do(), 200, "")
			mu.Lock()
			if i < 3 {
				r.unnoticed("what the server said", r.c.conns[0], func() { end(last) })
			}
			mu.Unlock()
			r.c.conns[0].idleSince -= int64(r.c.wire.LookAfter) + 1
			if n := requests.Load(); n != int32(i)+1 {
				t.Fatalf("%d requests", n)
			}
		}
		expect(t, r.do(), 0, targets.ClassEOF) // the fifth, over the connection of the fourth
		if n := requests.Load(); n != 5 {
			t.Errorf("%d requests arrived, 5 were sent", n)
		}
	})
}

// Connections are secured ahead of requests, whose tickets do not end them. Idle ones are closed with TLS' message.
func TestSecurePreconnect(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *certified) {
		const connections = 200
		var handshakes, clean atomic.Int32
		spec := s.serve(t, func(c *tls.Conn) {
			handshakes.Add(1)
			if !request(bufio.NewReader(c)) {
				return
			}
			time.Sleep(20 * time.Millisecond)
			io.WriteString(c, ok)
			if last, _ := io.ReadAll(c.NetConn()); len(last) > 0 { // encrypted; package tls hides whether it came
				clean.Add(1)
			}
		})
		r := newRig(t, spec, targets.Local{}, connections)
		if n := r.c.Preconnect(t.Context(), connections, time.Microsecond); n != connections {
			t.Fatalf("%d connections are open", n)
		}
		r.poll(10 * time.Millisecond)
		for range connections {
			r.mustSend()
		}
		r.pollFor(connections)
		for _, x := range r.got {
			expect(t, x.Outcome, 200, "")
		}
		if n := handshakes.Load(); n != connections {
			t.Errorf("%d handshakes", n)
		}
		r.close()
		await.True(t, "the end of all connections", func() bool { return clean.Load() >= connections })
	})
}

// A request allocates next to nothing with TLS too: package tls makes a reader for each record that it looks for.
func TestSecureAllocations(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *certified) {
		spec := s.serve(t, func(c *tls.Conn) {
			for buf := make([]byte, 4096); ; {
				if _, err := c.Read(buf); err != nil {
					return
				}
				c.Write([]byte(ok))
			}
		})
		r := newRig(t, spec, targets.Local{}, 1)
		r.got = make([]targets.Result, 0, 4096)
		r.do()
		// One at each read of either side, and one at the client's look that finds nothing more.
		if n := testing.AllocsPerRun(50, func() { r.do() }); n > 6 {
			t.Errorf("%v allocations for a request", n)
		}
	})
}

// Steps with TLS and without may have the same address: they share conns, and no connections.
func TestSecureMix(t *testing.T) {
	s := certify(t, time.Hour)
	var plain, secure, handshakes atomic.Int32
	url := serve(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		if first, err := br.Peek(1); err != nil || first[0] != handshakeRecord {
			for request(br) {
				plain.Add(1)
				io.WriteString(c, ok)
			}
			return
		}
		handshakes.Add(1)
		if c := tls.Server(peeked{c, br}, s.config); c.Handshake() == nil {
			answers(ok, &secure)(c)
		}
	})
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	spec := targets.Spec{CA: s.pem, ConnectTo: []string{"good.example::" + address}, Flows: []targets.Flow{
		{Name: "a", Steps: []targets.Step{{Name: "a", URL: "http://good.example/"}}},
		{Name: "b", Steps: []targets.Step{{Name: "b", URL: "https://good.example/"}}},
	}}
	for _, x := range []struct{ connections, handshakes int32 }{{2, 1}, {1, 5}} {
		plain.Store(0)
		secure.Store(0)
		handshakes.Store(0)
		r := newRig(t, spec, targets.Local{}, int(x.connections))
		r.mix = spec.Mix()
		for range 10 {
			expect(t, r.do(), 200, "")
		}
		if plain.Load() != 5 || secure.Load() != 5 || handshakes.Load() != x.handshakes {
			t.Errorf("%d places: %d plain, %d secure, %d handshakes", x.connections, plain.Load(), secure.Load(), handshakes.Load())
		}
	}
}

// peeked is a connection of which a part was read already.
type peeked struct {
	net.Conn
	br *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.br.Read(b) }
