package embedded

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// hostile are bytes that no well-meaning client sends.
func hostile() map[string]string {
	return map[string]string{
		"no arguments": "*0\r\n", "no arguments, then a command": "*0\r\n*1\r\n$4\r\nPING\r\n", "many times none": strings.Repeat("*0\r\n", 5000),
		"nil array": "*-1\r\n", "less than nil": "*-9223372036854775808\r\n", "nil string": "*1\r\n$-1\r\n", "negative string": "*1\r\n$-5\r\n",
		"empty name": "*1\r\n$0\r\n\r\n", "huge count": "*2147483647\r\n", "largest count": "*9223372036854775807\r\n$1\r\nx\r\n",
		"count beyond int": "*9223372036854775808\r\n", "huge string": "*1\r\n$2147483647\r\n", "largest string": "*1\r\n$9223372036854775807\r\n",
		"string that wraps round": "*1\r\n$9223372036854775806\r\nx", "many large strings": "*1000000\r\n" + strings.Repeat("$67108864\r\n", 10),
		"empty line": "\r\n", "LF": "\n", "CR": "\r", "short": "*\r\n", "short string": "*1\r\n$\r\n", "NULs": strings.Repeat("\x00", 10000),
		"inline": "PING\r\n", "inline with arguments": "SET a b\r\n", "HTTP": "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"half a count": "*1", "half a message": "*2\r\n$3\r\nGET\r\n", "half a string": "*1\r\n$10\r\nPIN", "line without end": "*" + strings.Repeat("1", 1<<20),
		"nested": "*1\r\n*1\r\n$4\r\nPING\r\n", "deeply nested": strings.Repeat("*1\r\n", 100000), "integer": "*1\r\n:1\r\n", "status": "*1\r\n+PING\r\n",
		"LF alone": "*1\n$4\nPING\n", "sign": "*+1\r\n$+4\r\nPING\r\n", "zeros": "*0001\r\n$0004\r\nPING\r\n", "spaces": "* 1\r\n$ 4\r\nPING\r\n",
		"longer than its length": "*1\r\n$2\r\nPING\r\n", "without its end": "*1\r\n$4\r\nPINGxx*0\r\n", "replies": "+OK\r\n$-1\r\n", "map": "%1\r\n+a\r\n+b\r\n",
		"binary": "*1\r\n$4\r\n\xff\x00\r\n\r\n",
	}
}

// attack sends bytes, closes its side, and reads until the server hangs up. It does not check the reply.
func attack(t *testing.T, s *Server, text []byte) {
	t.Helper()
	c, err := net.Dial("tcp", s.socket.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write(text)
	_ = c.(*net.TCPConn).CloseWrite()
	await.Done(t, fmt.Sprintf("the end of the connection, after %.60q", text), func() { _, _ = io.Copy(io.Discard, c) })
}

// TestHostileBytes: whatever one client sends, the server goes on to serve the others.
func TestHostileBytes(t *testing.T) {
	s := start(t)
	client := connect(t, s)
	for name, text := range hostile() {
		attack(t, s, []byte(text))
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	await.True(t, "the end of the others", func() bool { return s.Clients() == 1 })
}

// TestEmptyCommands: empty commands are skipped, also between others and in pieces; arguments are bytes.
func TestEmptyCommands(t *testing.T) {
	s := start(t)
	value := "\x00*0\r\n$-1\r\n*\xff" + strings.Repeat("*0\r\n", 3000)
	request := "*0\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + strconv.Itoa(len(value)) + "\r\n" + value + "\r\n*-1\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*0\r\n"
	want := "+OK\r\n$" + strconv.Itoa(len(value)) + "\r\n" + value + "\r\n"
	for _, size := range []int{1, 7, len(request)} {
		c, err := net.Dial("tcp", s.socket.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for b := []byte(request); len(b) > 0; b = b[min(size, len(b)):] {
				if _, err := c.Write(b[:min(size, len(b))]); err != nil {
					return
				}
			}
		}()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			t.Errorf("in pieces of %d: %v, got %.60q, want %.60q", size, err, got, want)
		}
	}
}

// Of hostile bytes the server sees only whole commands with arguments, or the beginning of one.
func FuzzRequests(f *testing.F) {
	for _, text := range hostile() {
		if len(text) < 1000 {
			f.Add([]byte(text), uint8(1))
			f.Add([]byte(text), uint8(100))
		}
	}
	s, err := Start("127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	options, err := redis.ParseURL(s.URL())
	if err != nil {
		f.Fatal(err)
	}
	client := redis.NewClient(options)
	f.Cleanup(func() { client.Close() })
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		seen := drain(newRequests(pieces{bytes.NewReader(text), int(size) + 1}))
		if again := drain(newRequests(pieces{bytes.NewReader(seen), 1 << 20})); !bytes.Equal(again, seen) {
			t.Errorf("%q is seen as %q, and that as %q", text, seen, again)
		}
		attack(t, s, text)
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
	})
}

// pieces is a connection that delivers some bytes at a time.
type pieces struct {
	*bytes.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error)     { return p.Reader.Read(b[:min(len(b), p.size)]) }
func (pieces) Write(b []byte) (int, error)      { return len(b), nil }
func (pieces) Close() error                     { return nil }
func (pieces) LocalAddr() net.Addr              { return nil }
func (pieces) RemoteAddr() net.Addr             { return nil }
func (pieces) SetDeadline(time.Time) error      { return nil }
func (pieces) SetReadDeadline(time.Time) error  { return nil }
func (pieces) SetWriteDeadline(time.Time) error { return nil }

func drain(r io.Reader) []byte {
	seen, _ := io.ReadAll(r)
	return seen
}

func BenchmarkPipeline(b *testing.B) {
	s, err := Start("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	options, _ := redis.ParseURL(s.URL())
	client := redis.NewClient(options)
	defer client.Close()
	for b.Loop() {
		if _, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
			for range 100 {
				p.Set(b.Context(), "key", "value", 0)
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}
