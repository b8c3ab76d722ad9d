// Package wstest is a table of what servers of WebSocket may do, good and hostile, and a server that does it, over real
// sockets. All clients of package ws are tested with it.
package wstest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets/ws"
)

// A Case is a server, and the outcome of a request to it: the text "hello".
type Case struct {
	Name      string
	Handshake string // answer to the handshake; KEY stands for what accepts it, and "" for a good one
	Hello     string // is sent with the answer to the handshake
	Answer    string // is sent for each message
	Later     string // is sent a moment after that
	HangUp    bool   // the server closes the connection after that
	Reply     string // as --reply; "-" = none is expected
	Check     string
	Limit     int64 // bytes of a message
	Silent    bool  // no answer comes, so the request needs a short timeout

	Class  string
	Status int
	Kept   bool // the connection carries the next request
}

// Good is a good answer to a handshake.
const Good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n\r\n"

// Text returns a text of a server.
func Text(s string) string { return Frame(ws.Text, s) }

// Frame returns a frame of a server.
func Frame(op ws.Opcode, s string) string {
	return string(ws.AppendFrame(nil, op, []byte(s), 0))
}

// Closing returns a closing frame of a server.
func Closing(code int) string { return string(ws.AppendClose(nil, code, 0)) }

// Cases returns the table.
func Cases() []Case {
	return append(append(answers(), broken()...), handshakes()...)
}

// answers are servers that follow the protocol.
func answers() []Case {
	long := strings.Repeat("x", 70_000)
	return []Case{
		{Name: "echo", Answer: Text("hello"), Check: "body has hello", Kept: true},
		{Name: "no reply expected", Reply: "-", Kept: true},
		{Name: "binary", Answer: Frame(ws.Binary, "\xff\xfe"), Check: "size < 3B", Kept: true},
		{Name: "empty", Answer: Text(""), Check: "size < 1B", Kept: true},
		{Name: "long", Answer: Text(long), Check: "size > 69kB", Kept: true},
		{Name: "json", Answer: Text(`{"a": {"b": 7}}`), Check: "json a.b = 7", Kept: true},
		{Name: "check fails", Answer: Text("no"), Check: "body has hello", Class: "check body has hello", Kept: true},
		{Name: "third message", Answer: Text("one") + Text("two") + Text("hello"), Reply: "messages 3", Check: `body matches /^hello$/`, Kept: true},
		{Name: "message that matches", Answer: Text("push 1") + Text("push 2") + Text("id=7"), Reply: `matches /id=\d/`, Check: "body has id=7", Kept: true},
		{Name: "pushes behind the reply", Answer: Text("hello") + Text("push") + Text(long), Check: "body has hello", Kept: true},
		{Name: "push with the handshake", Hello: Text("welcome"), Answer: Text("hello"), Check: "body has hello", Kept: true},
		{Name: "push that begins with the handshake", Hello: Text("welcome")[:4], Answer: Text("welcome")[4:] + Text("hello"), Check: "body has hello", Kept: true},
		{Name: "long push that begins with the handshake", Hello: "\x82\x7f\x00\x00\x00\x00\x00\x01\x11\x70", Answer: long + Text("hello"), Limit: 5, Check: "body has hello", Kept: true},
		{Name: "fragments with a ping between", Answer: "\x01\x02he" + Frame(ws.Ping, "p") + "\x80\x03llo", Check: "body has hello", Kept: true},
		{Name: "ping before and behind", Answer: Frame(ws.Ping, "a") + Text("hello") + Frame(ws.Ping, "b"), Check: "body has hello", Kept: true},
		{Name: "pong nobody asked for", Answer: Frame(ws.Pong, "p") + Text("hello"), Check: "body has hello", Kept: true},
		{Name: "close instead", Answer: Closing(1011), Class: "closed 1011"},
		{Name: "close without a code", Answer: Closing(ws.NoCode), Class: "closed"},
		{Name: "close by the application", Answer: Closing(4001), Class: "closed 4xxx"},
		{Name: "close by a library", Answer: Closing(3999), Class: "closed 3xxx"},
		{Name: "close in the reply", Answer: "\x01\x02he" + Closing(1001), Class: "closed 1001"},
		{Name: "close behind the reply", Answer: Text("hello") + Closing(1000), Check: "body has hello"},
		{Name: "end without close", HangUp: true, Class: "eof"},
		{Name: "end in the reply", Answer: Text("hello")[:4], HangUp: true, Class: "eof"},
		{Name: "end in a head", Answer: "\x81", HangUp: true, Class: "eof"},
		{Name: "end behind the reply", Answer: Text("hello"), HangUp: true},
		{Name: "exactly the limit", Answer: Text("hello"), Limit: 5, Kept: true},
		{Name: "more than the limit", Answer: Text("hello!"), Limit: 5, Class: "body-limit"},
		{Name: "fragments of more than the limit", Answer: "\x01\x03hel\x80\x03lo!", Limit: 5, Class: "body-limit"},
		{Name: "announced more than the limit", Answer: "\x82\x7f\x00\x40\x00\x00\x00\x00\x00\x00", Class: "body-limit"},
		{Name: "nothing comes", Silent: true, Class: "timeout"},
		{Name: "half a message comes", Answer: "\x81\x05he", Silent: true, Class: "timeout"},
		{Name: "fragments without end", Answer: strings.Repeat("\x01\x00"+strings.Repeat("\x00\x00", 500), 1), Silent: true, Class: "timeout"},
		{Name: "no message matches", Answer: Text("a") + Text("b"), Reply: "matches /c/", Silent: true, Class: "timeout"},
		{Name: "too few messages", Answer: Text("a") + Text("b"), Reply: "messages 3", Silent: true, Class: "timeout"},
	}
}

// broken are servers that break RFC 6455 after the handshake.
func broken() (all []Case) {
	for name, frames := range map[string]string{
		"reserved bit": "\xc1\x01a", "reserved opcode": "\x83\x00", "reserved control opcode": "\x8b\x00", "masked": "\x81\x81keyya",
		"long ping": "\x89\x7e\x00\x7e", "fragmented ping": "\x09\x00", "continuation of nothing": "\x80\x00", "message in a message": "\x01\x01a\x81\x01b",
		"short length in 16 bits": "\x81\x7e\x00\x05hello", "short length in 64 bits": "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x05hello",
		"negative length": "\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00", "text that is not UTF-8": "\x81\x02a\xff", "text that ends in a character": "\x81\x02\xe2\x82",
		"close with half a code": "\x88\x01\x03", "close with a forbidden code": "\x88\x02\x03\xed", "close with code 0": "\x88\x02\x00\x00",
		"close with a reason that is not UTF-8": "\x88\x03\x03\xe8\xff", "HTTP in place of frames": "HTTP/1.1 400 Bad Request\r\n\r\n",
	} {
		all = append(all, Case{Name: name, Answer: frames, Class: "protocol"})
	}
	return all
}

// handshakes are servers that refuse the handshake, or answer it wrongly.
func handshakes() []Case {
	with := func(old, new string) string { return strings.Replace(Good, old, new, 1) }
	return []Case{
		{Name: "other case and words", Handshake: "HTTP/1.1 101 x\r\nserver: y\r\nupgrade: WebSocket\r\nconnection: keep-alive, upgrade\r\nsec-websocket-accept: KEY\r\n\r\n", Answer: Text("hello"), Kept: true},
		{Name: "a hint before", Handshake: "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + Good, Answer: Text("hello"), Kept: true},
		{Name: "not found", Handshake: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Class: "status", Status: 404},
		{Name: "unauthorized, with an endless body", Handshake: "HTTP/1.1 401 Unauthorized\r\nContent-Length: 999999999\r\n\r\nx", Class: "status", Status: 401},
		{Name: "a page", Handshake: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Class: "status", Status: 200},
		{Name: "redirect", Handshake: "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n", Class: "status", Status: 301},
		{Name: "wrong key", Handshake: with("KEY", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), Class: "protocol"},
		{Name: "no key", Handshake: with("Sec-WebSocket-Accept: KEY\r\n", ""), Class: "protocol"},
		{Name: "no upgrade", Handshake: with("Upgrade: websocket\r\n", ""), Class: "protocol"},
		{Name: "another protocol", Handshake: with("websocket", "h2c"), Class: "protocol"},
		{Name: "no connection", Handshake: with("Connection: Upgrade\r\n", ""), Class: "protocol"},
		{Name: "an extension", Handshake: with("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"), Class: "protocol"},
		{Name: "a subprotocol", Handshake: with("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat\r\n\r\n"), Class: "protocol"},
		{Name: "no HTTP", Handshake: "SSH-2.0-OpenSSH_9.2\r\n", Class: "protocol"},
		{Name: "head without end", Handshake: "HTTP/1.1 101 x\r\n" + strings.Repeat("A: "+strings.Repeat("x", 1000)+"\r\n", 70), Class: "head-limit"},
		{Name: "hints without end", Handshake: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100), Class: "protocol"},
		{Name: "half a head", Handshake: "HTTP/1.1 101 Switch", HangUp: true, Class: "eof"},
		{Name: "half a head, and silence", Handshake: "HTTP/1.1 101 Switch", Silent: true, Class: "timeout"},
	}
}

// A Server plays a case.
type Server struct {
	URL         string
	Connections atomic.Int64
	Messages    atomic.Int64 // texts "hello" that came
	mu          sync.Mutex
	others      []string // all else that came: "pong …", "close 1002", "error …"
}

// Others returns what came beside texts.
func (s *Server) Others() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.others...)
}

// Start starts a server that ends with the test. config makes it one with TLS; nil = without.
func Start(t *testing.T, c Case, config *tls.Config) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: "ws://" + l.Addr().String() + "/"}
	if config != nil {
		l = tls.NewListener(l, config)
		s.URL = "wss" + strings.TrimPrefix(s.URL, "ws")
	}
	var open sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.Connections.Add(1)
			open.Go(func() {
				defer conn.Close()
				stop := make(chan struct{})
				defer close(stop)
				go func() { // the test ends before its client
					select {
					case <-t.Context().Done():
						conn.Close()
					case <-stop:
					}
				}()
				s.play(conn, c)
			})
		}
	})
	return s
}

// play plays the case on one connection.
func (s *Server) play(conn net.Conn, c Case) {
	br := bufio.NewReader(conn)
	r, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	answer := c.Handshake
	if answer == "" {
		answer = Good
	}
	_, _ = conn.Write([]byte(strings.Replace(answer, "KEY", ws.Accept(r.Header.Get("Sec-WebSocket-Key")), 1) + c.Hello))
	if c.Handshake != "" && c.HangUp {
		return
	}
	frames := ws.Reader{Masked: true, Keep: 1 << 10}
	for buf := make([]byte, 4096); ; {
		n, err := br.Read(buf)
		if err != nil {
			return
		}
		for b := buf[:n]; len(b) > 0; {
			n, event, err := frames.Next(b)
			b = b[n:]
			if !s.came(&frames, event, err) {
				return
			}
			if event != ws.GotMessage {
				continue
			}
			_, _ = conn.Write([]byte(c.Answer))
			if c.Later != "" {
				time.Sleep(5 * time.Millisecond)
				_, _ = conn.Write([]byte(c.Later))
			}
			if c.HangUp {
				return
			}
		}
	}
}

// came notes what came. It reports false at the end of a connection.
func (s *Server) came(r *ws.Reader, event ws.Event, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := func(format string, a ...any) { s.others = append(s.others, fmt.Sprintf(format, a...)) }
	switch {
	case err != nil:
		note("error %v", err)
		return false
	case event == ws.GotClose:
		note("close %d", r.Code())
		return false
	case event == ws.GotPing:
		note("ping %s", r.Control())
	case event == ws.GotMessage && r.Text() && string(r.Content()) == "hello":
		s.Messages.Add(1)
	case event == ws.GotMessage:
		note("message %q", r.Content())
	case event == ws.GotPong:
		note("pong %s", r.Control())
	}
	return true
}
