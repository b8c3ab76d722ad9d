package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// mostMemory is what a worker with 1,000 connections to a hostile endpoint may take.
const mostMemory = 150 << 20

// TestEndlessHeads: 1,000 connections with endless heads cost the worker little memory, and are failed requests of
// their own class.
func TestEndlessHeads(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		network, begin, with string
		encrypted            bool
	}{
		"header":           {network: "tcp", begin: ok + "X: ", with: "x"},
		"location":         {network: "tcp", begin: "HTTP/1.1 302 Found\r\nLocation: /", with: "x"},
		"locations":        {network: "tcp", begin: "HTTP/1.1 302 Found\r\n", with: "Location: /" + strings.Repeat("x", 30<<10) + "\r\n"},
		"header lines":     {network: "tcp", begin: ok, with: "X: x\r\n"},
		"trailer":          {network: "tcp", begin: ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", with: "x"},
		"header by socket": {network: "unix", begin: ok + "X: ", with: "x"},
		"header by TLS":    {network: "tcp", begin: ok + "X: ", with: "x", encrypted: true},
	} {
		t.Run(name, func(t *testing.T) {
			address := filepath.Join(t.TempDir(), "s")
			if c.network == "tcp" {
				address = "127.0.0.1:0"
			}
			e := startEndless(t, c.network, address, c.begin, c.with, c.encrypted)
			args := []string{"--qps", "max", "--max-connections", "1000", "--timeout", "10m"}
			switch {
			case c.network == "unix":
				args = append(args, "--url", "http://endless/", "--unix-socket", address)
			case c.encrypted:
				args = append(args, "--url", "https://"+e.Addr().String(), "--insecure")
			default:
				args = append(args, "--url", "http://"+e.Addr().String())
			}
			p := b.worker(strings.ReplaceAll(name, " ", "-"), args...)
			await.True(t, "each connection to be given up twice", func() bool { return e.given.Load() >= 2000 })
			most := peak(t, p.Cmd.Process.Pid)
			if err := p.Cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			p.wait(105)
			t.Logf("at most %d MB", most>>20)
			if most > mostMemory {
				t.Errorf("%d MB, want at most %d", most>>20, mostMemory>>20)
			}
			if !strings.Contains(p.Stdout.String(), `"head-limit": `) {
				t.Errorf("the class is not shown: %s", p.Stderr.String())
			}
		})
	}
}

// peak returns the largest memory that a process has had, in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[0] == "VmHWM:" {
			kB, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kB << 10
		}
	}
	t.Fatalf("no VmHWM in %s", text)
	return 0
}

// endless answers without end. The first 1,000 connections all get a long part of a head before one of them gets more.
type endless struct {
	net.Listener
	waiting atomic.Int64
	all     chan struct{} // closed when 1,000 connections have their part
	given   atomic.Int64  // connections that the client has closed
}

func startEndless(t *testing.T, network, address, begin, with string, encrypted bool) *endless {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if encrypted {
		s := httptest.NewUnstartedServer(nil)
		s.StartTLS() // only to get its certificate
		s.Close()
		l = tls.NewListener(l, s.TLS)
	}
	t.Cleanup(func() { l.Close() })
	e := &endless{Listener: l, all: make(chan struct{})}
	part := []byte(begin + strings.Repeat(with, 60<<10/len(with)))
	more := []byte(strings.Repeat(with, (16<<10+len(with))/len(with)))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go e.serve(c, part, more)
		}
	}()
	return e
}

func (e *endless) serve(c net.Conn, part, more []byte) {
	defer c.Close()
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return
	}
	_, err := c.Write(part)
	if e.waiting.Add(1) == 1000 {
		close(e.all)
	}
	for <-e.all; err == nil; {
		_, err = c.Write(more)
	}
	e.given.Add(1)
}
