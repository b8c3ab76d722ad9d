package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/await"
)

func TestServerAnswersAtItsAddress(t *testing.T) {
	t.Parallel()
	s := Start(t)
	if got, want := s.URL(), "redis://"+s.Addr()+"/0"; got != want {
		t.Errorf("URL() = %q, want %q", got, want)
	}
	options, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	byURL := redis.NewClient(options)
	defer byURL.Close()
	if err := s.Client().Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := byURL.Get(t.Context(), "key").Result(); err != nil || got != "value" {
		t.Errorf("GET by URL = %q, %v, want value", got, err)
	}
	if got := serverPid(t, s); got != s.Pid() {
		t.Errorf("the server at %s has pid %d, want %d", s.Addr(), got, s.Pid())
	}
}

func TestServersAreApart(t *testing.T) {
	t.Parallel()
	const n = 5
	servers := make([]*Server, n)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() { servers[i] = Start(t) })
	}
	wg.Wait()
	for i, s := range servers {
		if err := s.Client().Set(t.Context(), "owner", i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range servers {
		if got, err := s.Client().Get(t.Context(), "owner").Int(); err != nil || got != i {
			t.Errorf("server %d: owner = %d, %v", i, got, err)
		}
	}
}

func TestArgumentsWinOverDefaults(t *testing.T) {
	t.Parallel()
	s := Start(t, "--appendonly", "yes", "--maxmemory", "64mb", "--cluster-enabled", "yes")
	got, err := s.Client().ConfigGet(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"bind": "127.0.0.1", "save": "", "appendonly": "yes", "maxmemory": "67108864", "cluster-enabled": "yes",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
}

// The phases of one server: after each step the server is alive or not, and
// still has its data or not.
func TestLifeOfAServer(t *testing.T) {
	t.Parallel()
	for _, persistence := range []string{"no", "yes"} {
		t.Run("appendonly="+persistence, func(t *testing.T) {
			t.Parallel()
			s := Start(t, "--appendonly", persistence, "--appendfsync", "always")
			addr := s.Addr()
			steps := []struct {
				name        string
				do          func()
				alive, kept bool
			}{
				{"kill", s.Kill, false, false},
				{"kill again", s.Kill, false, false},
				{"restart after kill", s.Restart, true, persistence == "yes"},
				{"stop", s.Stop, false, false},
				{"stop again", s.Stop, false, false},
				{"restart after stop", s.Restart, true, persistence == "yes"},
				{"restart alive", s.Restart, true, persistence == "yes"},
				{"pause and restart", func() { s.Pause(); s.Restart() }, true, persistence == "yes"},
				{"pause and kill", func() { s.Pause(); s.Kill() }, false, false},
			}
			for _, step := range steps {
				if alive(s) {
					if err := s.Client().Set(t.Context(), "key", "value", 0).Err(); err != nil {
						t.Fatalf("before %s: %v", step.name, err)
					}
				}
				step.do()
				if s.Addr() != addr {
					t.Fatalf("%s: address is %s, was %s", step.name, s.Addr(), addr)
				}
				if got := alive(s); got != step.alive {
					t.Fatalf("%s: alive = %t, want %t", step.name, got, step.alive)
				}
				if step.alive {
					if got := s.Client().Get(t.Context(), "key").Val() == "value"; got != step.kept {
						t.Fatalf("%s: data kept = %t, want %t", step.name, got, step.kept)
					}
				}
				if running(s.Pid()) != step.alive {
					t.Fatalf("%s: pid %d running = %t, want %t", step.name, s.Pid(), !step.alive, step.alive)
				}
			}
		})
	}
}

func TestPausedServerIsSilentUntilResumed(t *testing.T) {
	t.Parallel()
	s := Start(t)
	for i := range 20 {
		s.Pause()
		s.Pause() // as good as once
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "INCR count\r\n")
		conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		reply := bufio.NewReader(conn)
		if line, err := reply.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("paused server: reply %q, %v, want a timeout", line, err)
		}
		s.Resume()
		conn.SetReadDeadline(time.Time{})
		if line, err := reply.ReadString('\n'); err != nil || line != fmt.Sprintf(":%d\r\n", i+1) {
			t.Fatalf("resumed server: reply %q, %v, want :%d", line, err, i+1)
		}
		conn.Close()
	}
}

// When the runtime ends a thread, the server must stay.
func TestServerOutlivesTheThreadThatAskedForIt(t *testing.T) {
	t.Parallel()
	var s *Server
	tid := onThreadThatEnds(func() { s = Start(t) })
	if s == nil {
		t.FailNow()
	}
	task := fmt.Sprintf("/proc/self/task/%d", tid)
	await.True(t, "the end of the thread", func() bool { _, err := os.Stat(task); return os.IsNotExist(err) })
	// A child that was to die with it has its signal before the thread is gone, and answers nothing more.
	if !alive(s) {
		t.Error("the server died with the thread")
	}
}

// onThreadThatEnds calls do on a thread that ends with it, and returns the
// thread's id.
func onThreadThatEnds(do func()) (tid int) {
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // never unlocked: the runtime ends the thread with the goroutine
		tid = syscall.Gettid()
		if tid == os.Getpid() { // except for the main thread, which this call now keeps busy
			tid = onThreadThatEnds(do)
			return
		}
		do()
	})
	wg.Wait()
	return tid
}

const helperEnv = "REDISTEST_HELPER"

// TestHelperStartsServerAndHangs is no test: it is the process that
// TestServerDiesWithTheTestProcess kills.
func TestHelperStartsServerAndHangs(t *testing.T) {
	if os.Getenv(helperEnv) == "" {
		return
	}
	fmt.Printf("pid %d\n", Start(t).Pid())
	select {}
}

func TestServerDiesWithTheTestProcess(t *testing.T) {
	t.Parallel()
	helper := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperStartsServerAndHangs$")
	helper.Env = append(os.Environ(), helperEnv+"=1", "TMPDIR="+t.TempDir())
	output, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	helper.Process.Kill()
	helper.Wait()
	var pid int
	if _, scanErr := fmt.Sscanf(line, "pid %d\n", &pid); err != nil || scanErr != nil {
		t.Fatalf("helper printed %q (%v, %v), want a pid", line, err, scanErr)
	}
	defer func() {
		if running(pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	await.True(t, "the end of the server whose test process was killed", func() bool { return !running(pid) })
}

func TestMissingBinaryFailsAndSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	got := fatal(t, func(tb testing.TB) { Start(tb) })
	if want := "apt-get install -y redis-server"; !strings.Contains(got, want) {
		t.Errorf("message %q does not say: %s", got, want)
	}
}

func TestBadArgumentFailsWithTheLog(t *testing.T) {
	t.Parallel()
	got := fatal(t, func(tb testing.TB) { Start(tb, "--no-such-option", "1") })
	if want := "Bad directive"; !strings.Contains(got, want) {
		t.Errorf("message %q does not contain the reason of redis-server, %q", got, want)
	}
}

// A kind of data that Contents cannot read must not look unchanged.
func TestContentsOfUnknownKind(t *testing.T) {
	t.Parallel()
	client := Embedded(t)
	if err := client.SAdd(t.Context(), "letters", "a").Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := fatal(t, func(tb testing.TB) { Contents(tb, client) }), "read key letters: it is a set"; !strings.Contains(got, want) {
		t.Errorf("message %q does not contain %q", got, want)
	}
}

// The port is taken by another server, which answers PING as well.
func TestPortClashIsNoticed(t *testing.T) {
	t.Parallel()
	other := Start(t)
	s := &Server{tb: t, binary: other.binary, dir: t.TempDir(), port: other.port}
	t.Cleanup(s.Kill)
	if err := s.launch(); !errors.Is(err, errExited) {
		t.Errorf("launch at a port in use: %v, want %v", err, errExited)
	}
	if !alive(other) {
		t.Error("the other server died")
	}
}

func TestFreePortCanBeUsed(t *testing.T) {
	t.Parallel()
	for range 20 {
		port := FreePort(t)
		if port < 10000 || port > 22767 {
			t.Fatalf("FreePort() = %d, want one in 10000…22767", port)
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return
		}
		t.Logf("lost the race for port %d: %v", port, err)
	}
	t.Error("20 free ports, none of them could be used")
}

// recorder is a testing.TB that ends the goroutine at Fatal but not the test.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Fatal(args ...any)                 { r.message = fmt.Sprint(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

// fatal returns what do gave to Fatal.
func fatal(t *testing.T, do func(testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	var wg sync.WaitGroup
	wg.Go(func() { do(r) })
	wg.Wait()
	if r.message == "" {
		t.Fatal("not fatal")
	}
	return r.message
}

func alive(s *Server) bool {
	return answersPing(s.Addr())
}

// running reports whether there is a process pid; one that is dead but not
// waited for, or whose new parent has not come round to it, is not running.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func serverPid(t *testing.T, s *Server) int {
	t.Helper()
	info, err := s.Client().InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
