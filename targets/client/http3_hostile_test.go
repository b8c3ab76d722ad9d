package client_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/loadctl/loadctl/targets"
)

// Frames of a server.
const (
	settings = "\x00\x04\x00"         // the type of a control stream, and SETTINGS
	ok200    = "\x01\x03\x00\x00\xd9" // HEADERS with :status 200
)

// A rawServer speaks QUIC, and whatever a test wants on it.
type rawServer struct {
	url                   string
	requests, connections atomic.Int64
}

// startQUIC starts one that serves each connection.
func startQUIC(t *testing.T, config *quic.Config, serve func(c *quic.Conn)) *rawServer {
	t.Helper()
	transport := &quic.Transport{Conn: udpSocket(t, 0)}
	listener, err := transport.Listen(threeTLS(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { transport.Close() })
	s := &rawServer{url: "https://" + listener.Addr().String()}
	go func() {
		for {
			c, err := listener.Accept(context.Background())
			if err != nil {
				return
			}
			s.connections.Add(1)
			go serve(c)
		}
	}()
	return s
}

// sendStream sends a text on a stream of the server.
func sendStream(c *quic.Conn, text string) *quic.SendStream {
	stream, err := c.OpenUniStream()
	if err == nil {
		_, _ = io.WriteString(stream, text)
	}
	return stream
}

// startRawThree starts a rawServer. Each request's stream is read to its end, and answered by answer; control is written to
// a stream of the server for each connection.
func startRawThree(t *testing.T, control string, answer func(c *quic.Conn, s *quic.Stream, n int64)) *rawServer {
	t.Helper()
	var s *rawServer
	ready := make(chan struct{})
	s = startQUIC(t, nil, func(c *quic.Conn) {
		<-ready
		if control != "" {
			sendStream(c, control)
		}
		for {
			stream, err := c.AcceptStream(context.Background())
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, stream)
				answer(c, stream, s.requests.Add(1))
			}()
		}
	})
	close(ready)
	return s
}

// TestThreeHostile: what servers do wrong, and how it is reported.
func TestThreeHostile(t *testing.T) {
	sends := func(text string) func(*quic.Conn, *quic.Stream) {
		return func(_ *quic.Conn, s *quic.Stream) {
			_, _ = io.WriteString(s, text)
			s.Close()
		}
	}
	for name, c := range map[string]struct {
		control string
		answer  func(*quic.Conn, *quic.Stream)
		status  int
		class   string
	}{
		"nothing":            {"", sends(""), 0, "eof"},
		"half a frame":       {settings, sends(ok200[:3]), 0, "eof"},
		"body that ends":     {settings, sends(ok200 + "\x00\x05ab"), 200, "eof"},
		"good":               {settings, sends(ok200 + "\x00\x02ok"), 200, ""},
		"unknown frames":     {settings, sends("\x21\x02xx" + ok200 + "\x00\x02ok\x21\x00"), 200, ""},
		"no settings yet":    {"", sends(ok200), 200, ""},
		"text":               {settings, sends("HTTP/1.1 200 OK\r\n\r\n"), 0, "eof"}, // a long unknown frame, cut off,
		"body first":         {settings, sends("\x00\x02ok" + ok200), 0, "protocol"},
		"settings":           {settings, sends("\x04\x00" + ok200), 0, "protocol"},
		"push":               {settings, sends("\x05\x01\x00" + ok200), 0, "protocol"},
		"no status":          {settings, sends("\x01\x03\x00\x00\xc1"), 0, "protocol"}, // :path
		"dynamic table":      {settings, sends("\x01\x03\x02\x00\x80"), 0, "protocol"},
		"body behind trails": {settings, sends(ok200 + "\x01\x02\x00\x00\x00\x01x"), 200, "protocol"},
		"long head":          {settings, sends("\x01\x80\x02\x00\x00"), 0, "head-limit"},
		"endless unknown":    {settings, func(_ *quic.Conn, s *quic.Stream) { _, _ = io.Copy(s, endless("\x21\x3f"+strings.Repeat("x", 63))) }, 0, "head-limit"},
		"endless body": {settings, func(_ *quic.Conn, s *quic.Stream) {
			_, _ = io.Copy(s, endless(ok200+"\x00\x40\x40"+strings.Repeat("x", 64)))
		}, 200, "protocol"},
		"rejected":           {settings, func(_ *quic.Conn, s *quic.Stream) { s.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestRejected)) }, 0, "reset H3_REQUEST_REJECTED"},
		"unknown code":       {settings, func(_ *quic.Conn, s *quic.Stream) { s.CancelWrite(0x1234567) }, 0, "reset"},
		"internal error":     {settings, func(c *quic.Conn, _ *quic.Stream) { _ = c.CloseWithError(0x102, "secret") }, 0, "reset H3_INTERNAL_ERROR"},
		"hangs up":           {settings, func(c *quic.Conn, _ *quic.Stream) { _ = c.CloseWithError(0x100, "") }, 0, "eof"},
		"silence":            {settings, func(*quic.Conn, *quic.Stream) {}, 0, "timeout"},
		"control of garbage": {"\x00\x00\x00", func(*quic.Conn, *quic.Stream) {}, 0, "protocol"},
		"goes away":          {settings + "\x07\x01\x00", func(*quic.Conn, *quic.Stream) {}, 0, "reset GOAWAY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startRawThree(t, c.control, func(conn *quic.Conn, stream *quic.Stream, _ int64) { c.answer(conn, stream) })
			timeout := time.Hour
			if c.class == "timeout" {
				timeout = time.Second
			}
			target := openThree(t, targets.Spec{URL: s.url, Timeout: timeout, BodyLimit: 1 << 20}, targets.Local{})
			out := target.Do(context.Background(), targets.Call{})
			if out.Status != c.status || out.Class != c.class {
				t.Errorf("%+v, want %d %q", out, c.status, c.class)
			}
			if n := s.requests.Load(); n > 1 && name != "goes away" {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestThreeBrokenRules: what ends the connection, and the code that the server receives.
func TestThreeBrokenRules(t *testing.T) {
	answers := func(text string) func(*quic.Conn) {
		return func(c *quic.Conn) {
			sendStream(c, settings)
			if stream, err := c.AcceptStream(context.Background()); err == nil {
				_, _ = io.WriteString(stream, text)
			}
		}
	}
	for name, c := range map[string]struct {
		serve func(*quic.Conn)
		code  quic.ApplicationErrorCode
	}{
		"two control streams": {func(c *quic.Conn) { sendStream(c, settings); sendStream(c, settings) }, 0x103},
		"control that ends":   {func(c *quic.Conn) { sendStream(c, settings).Close() }, 0x104},
		"control that resets": {func(c *quic.Conn) {
			control := sendStream(c, settings)
			time.Sleep(200 * time.Millisecond) // else nobody knows what was reset
			control.CancelWrite(1)
		}, 0x104},
		"push":                {func(c *quic.Conn) { sendStream(c, "\x01\x00") }, 0x108},
		"no settings":         {func(c *quic.Conn) { sendStream(c, "\x00\x07\x01\x00") }, 0x10a},
		"body first":          {answers("\x00\x02ok"), 0x105},
		"body of early hints": {answers("\x01\x03\x00\x00\xd8\x00\x02ok"), 0x105},
		"a dynamic table":     {answers("\x01\x03\x02\x00\x80"), 0x200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan error, 1)
			s := startQUIC(t, nil, func(conn *quic.Conn) {
				c.serve(conn)
				<-conn.Context().Done()
				ended <- context.Cause(conn.Context())
			})
			do(t, openThree(t, targets.Spec{URL: s.url, Timeout: 20 * time.Second}, targets.Local{}), 0, "protocol")
			var e *quic.ApplicationError
			if err := <-ended; !errors.As(err, &e) || !e.Remote || e.ErrorCode != c.code {
				t.Errorf("%v, want code %#x", err, uint64(c.code))
			}
		})
	}
}

// TestThreeNoHTTP3: a server that cannot carry HTTP/3, because it has another version of QUIC or allows no control stream.
func TestThreeNoHTTP3(t *testing.T) {
	s := startQUIC(t, &quic.Config{MaxIncomingUniStreams: -1}, func(*quic.Conn) {})
	do(t, openThree(t, targets.Spec{URL: s.url}, targets.Local{}), 0, "protocol")
	other := udpSocket(t, 0)
	go func() {
		for buf := make([]byte, 2048); ; {
			n, from, err := other.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if n < 7 {
				continue
			}
			to := buf[6 : 6+buf[5]]
			by := buf[7+len(to) : 7+len(to)+int(buf[6+len(to)])]
			// Version Negotiation (RFC 9000, section 17.2.1).
			answer := append([]byte{0x80, 0, 0, 0, 0, byte(len(by))}, by...)
			answer = append(append(answer, byte(len(to))), to...)
			_, _ = other.WriteToUDPAddrPort(append(answer, 0x1a, 0x2a, 0x3a, 0x4a), from)
		}
	}()
	do(t, openThree(t, targets.Spec{URL: "https://" + other.LocalAddr().String()}, targets.Local{}), 0, "protocol")
}

// endless repeats a text.
func endless(text string) io.Reader { return &repeated{text: text} }

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	n := copy(b, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// TestThreeMemory: a server that sends on all streams without being asked makes this machine keep no more than the windows.
func TestThreeMemory(t *testing.T) {
	const connections = 4
	s := startRawThree(t, settings, func(c *quic.Conn, stream *quic.Stream, _ int64) {
		for range 20 {
			go func() {
				if other, err := c.OpenUniStreamSync(context.Background()); err == nil {
					_, _ = io.Copy(other, endless("\x02"+strings.Repeat("x", 1000)))
				}
			}()
		}
		_, _ = io.WriteString(stream, ok200)
		stream.Close()
	})
	target := openThree(t, targets.Spec{URL: s.url, Timeout: 30 * time.Second}, targets.Local{MaxConnections: connections})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for range connections {
		all.Go(func() { do(t, target, 200, "") })
	}
	all.Wait()
	time.Sleep(300 * time.Millisecond)
	runtime.GC()
	runtime.ReadMemStats(&after)
	// Both sides are in this process: what the client keeps, and what the server repeats.
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > connections*4<<20 {
		t.Errorf("%d bytes more", grown)
	}
}
