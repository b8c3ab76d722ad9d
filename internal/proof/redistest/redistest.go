// Package redistest gives every test its own Redis server.
//
//	func TestRenew(t *testing.T) {
//		server := redistest.Start(t)
//		client := server.Client()
//		…
//		server.Pause() // Redis hangs: connections stay, nothing answers
//	}
//
// Each runs a test on such a server and on an embedded one.
//
// A server listens on 127.0.0.1 only, keeps nothing on disk unless asked to, and ends with the test. It also ends when
// the test process is killed, so nothing is left behind. Tests may run in parallel. If redis-server is not installed,
// the test fails and says what to install. It is never skipped, because a skipped test proves nothing.
package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
)

const startTries = 10

// Server is a private redis-server. It keeps its address through Kill, Stop and Restart. Its methods fail the test if
// they do not succeed, and may be called from any goroutine.
type Server struct {
	tb     testing.TB
	binary string
	dir    string
	args   []string
	own    func() []string // what comes before args; nil = arguments
	port   int
	client rdb.Client

	mu      sync.Mutex
	process *process // the last one started; it may be dead
}

// Start starts a server and returns when it answers PING. The args follow our own on the command line of redis-server
// and override them: "--appendonly", "yes" keeps data across Restart. They must not set --port, --daemonize or logging.
// The server inherits the environment of the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return (&Server{tb: t, dir: t.TempDir(), args: args}).start(t)
}

// start begins the first life of the server, at a free port.
func (s *Server) start(t testing.TB) *Server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed, and this test needs it: apt-get install -y redis-server")
	}
	s.binary = binary
	t.Cleanup(s.Kill)
	for try := 1; ; try++ {
		s.port = FreePort(t)
		err := s.launch()
		if err == nil {
			break
		}
		// Another process may have taken the port since we looked.
		if !errors.Is(err, errExited) || try == startTries {
			t.Fatalf("start redis-server (try %d of %d): %v", try, startTries, err)
		}
	}
	s.client = newClient(t, s.URL())
	return s
}

// launch begins a new life of the server at s.port.
func (s *Server) launch() error {
	own := s.own
	if own == nil {
		own = s.arguments
	}
	p, err := startProcess(s.binary, append(own(), s.args...), s.dir)
	if err != nil {
		return err
	}
	s.process = p
	return p.awaitReady(s.tb, s.Addr())
}

// arguments returns our own arguments.
func (s *Server) arguments() []string {
	return []string{
		"--bind", "127.0.0.1",
		"--port", strconv.Itoa(s.port),
		"--dir", s.dir,
		"--save", "",
		"--appendonly", "no",
	}
}

// Patient returns the URL of a client that waits for each answer, however slow the machine is. A limit that the URL
// names itself stays. A server that is gone refuses connections at once, whatever the limits are.
func Patient(url string) string {
	separator := "?"
	if strings.Contains(url, separator) {
		separator = "&"
	}
	for _, limit := range []string{"dial_timeout", "read_timeout"} { // those of writes and of the pool follow
		if !strings.Contains(url, limit+"=") {
			url += separator + limit + "=1h"
			separator = "&"
		}
	}
	return url
}

// Answered returns what connect returns when a server has answered it: a client, or a refusal. One attempt of the
// product to connect lasts some seconds, which no option changes. A slow server may need more of them.
func Answered[T any](t testing.TB, what string, connect func() (T, error)) (made T, err error) {
	t.Helper()
	await.True(t, "an answer of "+what, func() bool {
		made, err = connect()
		late, network := errors.AsType[net.Error](err)
		return !network || !late.Timeout()
	})
	return made, err
}

// newClient returns a client that is closed when the test ends.
func newClient(t testing.TB, url string) rdb.Client {
	t.Helper()
	options, err := redis.ParseURL(Patient(url))
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled = true
	options.DialerRetries = 1 // a dead server is part of many tests: fail at once
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

// Addr returns host:port.
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// URL returns the address as redis.ParseURL takes it, database 0.
func (s *Server) URL() string {
	return "redis://" + s.Addr() + "/0"
}

// Client returns the server's own client, the same at each call, closed when the test ends. Use it to set up and read
// state. It waits for answers without a limit of its own, obeys context deadlines, and retries as go-redis does.
func (s *Server) Client() rdb.Client {
	return s.client
}

// Pid returns the process id of the server, or of the last one if it is dead.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Cmd.Process.Pid
}

// Stop ends the server as an operator would (SIGTERM) and waits for it. A stopped server stays stopped until Restart.
func (s *Server) Stop() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.terminate(s.tb); err != nil {
		s.tb.Fatalf("stop redis-server: %v", err)
	}
}

// Kill ends the server as a crash would (SIGKILL) and waits for it. Killing a
// dead server does nothing.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Kill()
	}
}

// Restart starts the server again at the same address, after a Stop if it is still alive. It comes back empty unless it
// was started with persistence.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for try := 1; ; try++ {
		err := s.launch()
		if err == nil {
			return
		}
		if !errors.Is(err, errExited) || try == startTries {
			s.tb.Fatalf("restart redis-server at %s (try %d of %d): %v", s.Addr(), try, startTries, err)
		}
		time.Sleep(100 * time.Millisecond) // the address must stay the same, so wait for it
	}
}

// Pause freezes the server (SIGSTOP): the kernel still accepts connections and data, but nothing answers. After Pause
// returns no further command is executed.
func (s *Server) Pause() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := await.Frozen(s.process.Cmd.Process); err != nil {
		s.tb.Fatalf("pause redis-server: %v", err)
	}
}

// Resume lets a paused server go on (SIGCONT). It executes what has arrived in the meantime, even from clients that
// gave up waiting.
func (s *Server) Resume() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.resume(); err != nil {
		s.tb.Fatalf("resume redis-server: %v", err)
	}
}

// FreePort returns a TCP port on 127.0.0.1 at which nobody listened a moment ago. Callers must be ready to lose a race
// for it.
//
// It is drawn from 10000…22767, below the range from which the kernel takes ports of outgoing connections (32768 and
// up). So is the port + 10000, which Redis Cluster uses. So a test with thousands of connections cannot take it by
// chance while the server is down.
func FreePort(t testing.TB) int {
	t.Helper()
	var err error
	for range 100 {
		port := 10000 + rand.IntN(12768)
		var l net.Listener
		if l, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatalf("find a free port on 127.0.0.1 in 10000…22767: 100 tries, the last one: %v", err)
	return 0
}

// SetUser changes a user by rules of ACL SETUSER.
func (s *Server) SetUser(t *testing.T, user string, rules ...any) {
	t.Helper()
	if err := s.Client().Do(t.Context(), append([]any{"ACL", "SETUSER", user}, rules...)...).Err(); err != nil {
		t.Fatal(err)
	}
}
