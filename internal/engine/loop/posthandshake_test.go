//go:build linux

package loop

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// Types of records and handshake messages.
const (
	alertRecord     = 21
	handshakeRecord = 22
	dataRecord      = 23
	helloRequest    = 0
	keyUpdate       = 24
)

// A sealer writes records that package tls cannot be asked for. It encrypts as a server does that has agreed on AES-128
// with GCM: from the secrets that a server may log.
type sealer struct {
	secret []byte // of TLS 1.3; nil for 1.2
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// expand13 is HKDF-Expand-Label of RFC 8446, 7.1.
func expand13(t *testing.T, secret []byte, label string, n int) []byte {
	t.Helper()
	info := append(binary.BigEndian.AppendUint16(nil, uint16(n)), byte(len("tls13 ")+len(label)))
	info = append(append(info, "tls13 "+label...), 0)
	key, err := hkdf.Expand(sha256.New, secret, string(info), n)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func gcm(t *testing.T, key []byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return aead
}

// newSealer13 begins with a traffic secret.
func newSealer13(t *testing.T, secret []byte) *sealer {
	t.Helper()
	return &sealer{secret: secret, aead: gcm(t, expand13(t, secret, "key", 16)), iv: expand13(t, secret, "iv", 12)}
}

// next begins with the secret that follows a key update.
func (s *sealer) next(t *testing.T) *sealer {
	t.Helper()
	return newSealer13(t, expand13(t, s.secret, "traffic upd", sha256.Size))
}

// newSealer12 derives the server's keys from the master secret (RFC 5246, 5 and 6.3).
func newSealer12(t *testing.T, master, clientRandom, serverRandom []byte) *sealer {
	t.Helper()
	seed := append(append([]byte("key expansion"), serverRandom...), clientRandom...)
	sum := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, master)
		h.Write(bytes.Join(parts, nil))
		return h.Sum(nil)
	}
	var keys []byte
	for a := sum(seed); len(keys) < 40; a = sum(a) {
		keys = append(keys, sum(a, seed)...)
	}
	return &sealer{aead: gcm(t, keys[16:32]), iv: keys[36:40], seq: 1} // its Finished message was the first
}

// record returns an encrypted record.
func (s *sealer) record(kind byte, data []byte) []byte {
	seq := binary.BigEndian.AppendUint64(nil, s.seq)
	s.seq++
	if s.secret == nil {
		header := append(bytes.Clone(seq), kind, 3, 3)
		header = binary.BigEndian.AppendUint16(header, uint16(len(data)))
		sealed := s.aead.Seal(seq, append(bytes.Clone(s.iv), seq...), data, header)
		return append(binary.BigEndian.AppendUint16([]byte{kind, 3, 3}, uint16(len(sealed))), sealed...)
	}
	nonce := bytes.Clone(s.iv)
	for i, b := range seq {
		nonce[4+i] ^= b
	}
	header := binary.BigEndian.AppendUint16([]byte{dataRecord, 3, 3}, uint16(len(data)+1+s.aead.Overhead()))
	return s.aead.Seal(header, nonce, append(bytes.Clone(data), kind), header)
}

// secrets returns the last two words of the line in a key log that begins with a name.
func secrets(t *testing.T, log, name string) (random, secret []byte) {
	t.Helper()
	for line := range strings.Lines(log) {
		if words := strings.Fields(line); words[0] == name {
			random, _ = hex.DecodeString(words[1])
			secret, _ = hex.DecodeString(words[2])
			return random, secret
		}
	}
	t.Errorf("no %s in %q", name, log)
	return nil, make([]byte, sha256.Size)
}

// heard keeps the bytes that were written to a connection.
type heard struct {
	net.Conn
	wrote bytes.Buffer
}

func (h *heard) Write(b []byte) (int, error) {
	h.wrote.Write(b)
	return h.Conn.Write(b)
}

// handmade serves connections with f, which writes records of its own. Each connection has its own keys.
func (s *certified) handmade(t *testing.T, f func(c *tls.Conn, s *sealer)) targets.Spec {
	t.Helper()
	return s.at(serve(t, func(c *net.TCPConn) {
		raw := &heard{Conn: c}
		var log bytes.Buffer
		config := s.config.Clone()
		config.SessionTicketsDisabled, config.KeyLogWriter = true, &log
		config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
		config.CurvePreferences = []tls.CurveID{tls.X25519}
		secure := tls.Server(raw, config)
		if err := secure.Handshake(); err != nil {
			t.Errorf("handshake: %v", err)
			return
		}
		if secure.ConnectionState().Version == tls.VersionTLS12 {
			client, master := secrets(t, log.String(), "CLIENT_RANDOM")
			f(secure, newSealer12(t, master, client, raw.wrote.Bytes()[11:43])) // of the server's hello
			return
		}
		if suite := secure.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
			t.Errorf("this test is for processors with AES: the suite is %s", tls.CipherSuiteName(suite))
		}
		_, secret := secrets(t, log.String(), "SERVER_TRAFFIC_SECRET_0")
		f(secure, newSealer13(t, secret))
	}))
}

// A server may renew its keys at any time, and ask for new ones of the client: in the middle of an answer, between
// requests, in pieces. The client replies before its next request.
func TestKeyUpdate(t *testing.T) {
	update := []byte{keyUpdate, 0, 0, 1, 1} // and asks for an update of the client's
	s := certify(t, time.Hour)
	for name, send := range map[string]func(raw net.Conn, s *sealer) *sealer{
		"before": func(raw net.Conn, s *sealer) *sealer {
			raw.Write(s.record(handshakeRecord, update))
			s = s.next(t)
			raw.Write(s.record(dataRecord, []byte(ok)))
			return s
		},
		"in the middle": func(raw net.Conn, s *sealer) *sealer {
			raw.Write(append(s.record(dataRecord, []byte(ok[:10])), s.record(handshakeRecord, update)...))
			time.Sleep(time.Millisecond)
			s = s.next(t)
			raw.Write(s.record(dataRecord, []byte(ok[10:])))
			return s
		},
		"after": func(raw net.Conn, s *sealer) *sealer {
			raw.Write(append(s.record(dataRecord, []byte(ok)), s.record(handshakeRecord, update)...))
			return s.next(t)
		},
		"message of two records": func(raw net.Conn, s *sealer) *sealer {
			raw.Write(s.record(handshakeRecord, update[:3]))
			time.Sleep(time.Millisecond)
			raw.Write(s.record(handshakeRecord, update[3:]))
			s = s.next(t)
			raw.Write(s.record(dataRecord, []byte(ok)))
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			r := newRig(t, s.handmade(t, func(c *tls.Conn, s *sealer) {
				connections.Add(1)
				for br := bufio.NewReader(c); request(br); {
					s = send(c.NetConn(), s)
				}
			}), targets.Local{}, 1)
			for range 5 {
				expect(t, r.do(), 200, "")
				r.poll(5 * time.Millisecond)
			}
			if n := connections.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// mostSealed is how much a TLS connection holds of what is to be written, in bytes: see package loop.
const mostSealed = 32 << 10

// A peer that asks for new keys without end, and reads no reply, is given up. What is kept for it is bounded.
func TestKeyUpdateFlood(t *testing.T) {
	s := certify(t, time.Hour)
	spec := s.handmade(t, func(c *tls.Conn, s *sealer) {
		if !request(bufio.NewReader(c)) {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
		for s.seq++; ; { // past the record of tls
			both := s.record(dataRecord, []byte("x")) // data between them, as many updates in a row are an error
			both = append(both, s.record(handshakeRecord, []byte{keyUpdate, 0, 0, 1, 1})...)
			if s = s.next(t); write(c.NetConn(), both) != nil {
				return
			}
		}
	})
	spec.Timeout = 2 * time.Second
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	cn, most := r.c.conns[0], 0
	for len(r.got) == 0 {
		if r.poll(time.Millisecond); cn.Secure() {
			most = max(most, cap(cn.Sealed()))
		}
	}
	// When a reply finds no room, package tls does not take up the new keys, and the next record is wrong. On a slow
	// machine the request times out before that.
	if got := r.got[0].Outcome; got.Class != targets.ClassTLS && got.Class != targets.ClassTimeout {
		t.Errorf("%+v", got)
	}
	if most > 2*mostSealed { // the slice grows in steps
		t.Errorf("room for %d bytes of replies", most)
	}
}

func write(c net.Conn, b []byte) error {
	_, err := c.Write(b)
	return err
}

// The client refuses to renegotiate: before, in and after an answer.
func TestRenegotiation(t *testing.T) {
	s := certify(t, time.Hour)
	s.config.MaxVersion = tls.VersionTLS12
	hello := []byte{helloRequest, 0, 0, 0}
	for name, x := range map[string]struct {
		send   func(s *sealer) []byte
		status int
		class  string
	}{
		"before": {func(s *sealer) []byte { return s.record(handshakeRecord, hello) }, 0, targets.ClassTLS},
		"in the middle": {func(s *sealer) []byte {
			return append(s.record(dataRecord, []byte(ok[:len(ok)-1])), s.record(handshakeRecord, hello)...)
		}, 200, targets.ClassTLS},
		"after": {func(s *sealer) []byte {
			return append(s.record(dataRecord, []byte(ok)), s.record(handshakeRecord, hello)...)
		}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := make(chan error, 1)
			r := newRig(t, s.handmade(t, func(c *tls.Conn, s *sealer) {
				if !request(bufio.NewReader(c)) {
					return
				}
				c.NetConn().Write(x.send(s))
				all, err := io.ReadAll(c.NetConn())
				if len(all) == 0 || all[0] != alertRecord {
					err = fmt.Errorf("the client says %v, then %w", all, err)
				}
				refused <- err
			}), targets.Local{}, 1)
			expect(t, r.do(), x.status, x.class)
			if name != "after" {
				if err := <-refused; err != nil {
					t.Error(err)
				}
			}
			if r.c.hosts[0].idle.first != nil {
				t.Error("the connection is kept")
			}
		})
	}
}

// FuzzRecords sends any bytes instead of records, after a handshake: each request ends, with an outcome of its own.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{dataRecord, 3, 3, 0, 0})
	f.Add([]byte{alertRecord, 3, 3, 0, 2, 1, 0})
	f.Add([]byte{handshakeRecord, 3, 3, 0, 4, 0, 0, 0, 0})
	f.Add([]byte(ok))
	f.Fuzz(func(t *testing.T, records []byte) {
		s := certify(t, time.Hour)
		spec := s.serve(t, func(c *tls.Conn) {
			if request(bufio.NewReader(c)) {
				c.NetConn().Write(records)
			}
		})
		spec.Timeout = 5 * time.Second
		if got := newRig(t, spec, targets.Local{}, 1).do(); got.Class == "" || got.Class == targets.ClassTimeout || got.BytesIn != 0 {
			t.Errorf("%+v", got)
		}
	})
}
