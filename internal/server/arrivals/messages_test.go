package arrivals_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// TestMessages: a client of another implementation gets its messages back, each is counted once, and pings and handshakes
// are not.
func TestMessages(t *testing.T) {
	s, err := arrivals.Start(arrivals.Options{Echo: arrivals.Messages})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, _, err := websocket.Dial(t.Context(), s.URL()+"/any/path", nil) //nolint:bodyclose // the connection is closed below
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	for _, sent := range []string{"", "hello", strings.Repeat("€", 100_000)} {
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			if err := c.Write(t.Context(), kind, []byte(sent)); err != nil {
				t.Fatal(err)
			}
			if got, message, err := c.Read(t.Context()); err != nil || got != kind || string(message) != sent {
				t.Fatalf("%v, %v, %d bytes", err, got, len(message))
			}
		}
	}
	pinging, cancel := context.WithCancel(t.Context())
	go c.CloseRead(pinging)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	if n := s.Count(); n != 6 || s.Connections() != 1 {
		t.Errorf("%d messages, %d connections", n, s.Connections())
	}
}

// TestMessagesRefused: what is no handshake gets an error, and a client that breaks the protocol is cut off.
func TestMessagesRefused(t *testing.T) {
	s, err := arrivals.Start(arrivals.Options{Echo: arrivals.Messages})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := http.Get("http://" + s.Addr() + "/")
	if err != nil {
		t.Fatal(err)
	}
	if r.Body.Close(); r.StatusCode != http.StatusUpgradeRequired {
		t.Error(r.Status)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: h\r\nSec-WebSocket-Key: x\r\n\r\n\x81\x01a") // a frame without a mask
	br := bufio.NewReader(conn)
	upgraded, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = upgraded.Body.Close() // it has none
	frame := make([]byte, 4)
	if _, err := br.Read(frame); err != nil || string(frame) != "\x88\x02\x03\xea" || s.Count() != 0 {
		t.Errorf("%q, %v, %d messages", frame, err, s.Count())
	}
}
