package http2

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/http1"
)

// echo answers with what it got, so that each byte is checked twice.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Method", r.Method)
	w.Header().Set("X-Host", r.Host)
	w.Header().Set("X-Path", r.URL.RequestURI())
	w.Header().Set("X-Agent", r.UserAgent())
	w.Header().Set("X-Long", r.Header.Get("X-Long"))
	w.Header().Set("X-Connection", r.Header.Get("Connection")+r.Header.Get("X-Hop"))
	w.Header().Set("Trailer", "X-Sum")
	if r.Method != "HEAD" {
		w.WriteHeader(http.StatusEarlyHints)
	}
	w.WriteHeader(201)
	w.Write(body)
	w.Header().Set("X-Sum", fmt.Sprintf("%x", sha256.Sum256(body)))
}

// serve starts a server of net/http that speaks HTTP/2 without TLS.
func serve(tb testing.TB, h http.HandlerFunc) string {
	tb.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	tb.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// run moves bytes between a Conn and a socket, until so many streams have ended.
func run(tb testing.TB, c *Conn, conn net.Conn, n int) (ended []*Stream) {
	tb.Helper()
	buf := make([]byte, 5000)
	for len(ended) < n {
		for out := c.Output(); len(out) > 0; out = c.Output() {
			k, err := conn.Write(out[:min(len(out), 3000)])
			if c.Wrote(k); err != nil {
				tb.Fatal(err)
			}
		}
		k, err := conn.Read(buf)
		if err != nil {
			tb.Fatal(err)
		}
		if err := c.Feed(buf[:k]); err != nil {
			tb.Fatal(err)
		}
		for s := c.Ended(); s != nil; s = c.Ended() {
			ended = append(ended, s)
		}
	}
	return ended
}

// TestNetHTTP: many requests at once to a server that was not written by us.
func TestNetHTTP(t *testing.T) {
	conn, err := net.Dial("tcp", serve(t, echo))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := NewConn(http1.Limits{})
	random := rand.New(rand.NewPCG(1, 2))
	streams := make([]Stream, 20)
	bodies := make([][]byte, len(streams))
	for round := range 5 {
		long := strings.Repeat("long", random.IntN(8000))
		for i := range streams {
			method, size := []string{"GET", "HEAD", "POST", "PUT"}[i%4], 0
			if i%4 > 1 {
				size = []int{0, 10, 16384, 16385, 1 << 20}[i%5]
			}
			bodies[i] = make([]byte, size)
			for j := range bodies[i] {
				bodies[i][j] = byte(random.Uint32())
			}
			message := fmt.Sprintf("%s /a?b=%d HTTP/1.1\r\nHost: example.com\r\nConnection: x-hop, close\r\nX-Hop: 1\r\nUser-Agent: Me\r\nX-Long: %s\r\nContent-Length: %d\r\n\r\n", method, i, long, size)
			var r Request
			if err := r.Encode("http", append([]byte(message), bodies[i]...)); err != nil {
				t.Fatal(err)
			}
			streams[i].Owner = i
			c.Open(&streams[i], &r, http1.Limits{Fields: true, Content: 1 << 20})
		}
		for _, s := range run(t, c, conn, len(streams)) {
			i := s.Owner.(int)
			if s.Err() != nil || s.Status() != 201 {
				t.Fatal(round, i, s.Status(), s.Err())
			}
			want := bodies[i]
			got := strings.Join([]string{s.Field("x-method")[0], s.Field("X-Host")[0], s.Field("x-path")[0], s.Field("X-Agent")[0], s.Field("X-Connection")[0]}, " ")
			if w := fmt.Sprintf("%s example.com /a?b=%d Me ", []string{"GET", "HEAD", "POST", "PUT"}[i%4], i); got != w {
				t.Errorf("%q instead of %q", got, w)
			}
			if !bytes.Equal(s.Content(), want) || s.Length() != int64(len(want)) || s.Field("X-Long")[0] != long {
				t.Errorf("%d: %d bytes instead of %d", i, s.Length(), len(want))
			}
			if sum := s.Trailer("X-Sum"); i%4 != 1 && (len(sum) != 1 || sum[0] != fmt.Sprintf("%x", sha256.Sum256(want))) {
				t.Errorf("%d: trailer %q", i, sum)
			}
			if s.In() < len(want) || s.Out() < len(want)+len(long) {
				t.Errorf("%d: %d bytes in, %d out", i, s.In(), s.Out())
			}
		}
		if c.Streams() != 0 || c.Leaving() {
			t.Fatal(c.Streams(), c.Leaving())
		}
	}
}
