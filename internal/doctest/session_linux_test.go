package doctest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/redistest"
)

// The addresses that the documents use. Each session gets servers of its own in their place.
const (
	redisAddr = "127.0.0.1:6379"
	httpAddr  = "127.0.0.1:8080"
)

// step is one command of a session with the output that the document shows for it.
type step struct {
	line       int
	text       string
	background bool
	code       int
	shown      []string
}

// sessions finds the ```console blocks of a document. "<!-- exit 104 -->" in the line before one is the exit code of its
// last command; all others are 0.
func sessions(text string) [][]step {
	var all [][]step
	var steps []step
	code, inside := 0, false
	exit := regexp.MustCompile(`^<!-- exit (\d+) -->$`)
	for i, line := range strings.Split(text, "\n") {
		last := len(steps) - 1
		switch {
		case !inside && line == "```console":
			inside, steps = true, nil
		case inside && line == "```":
			inside = false
			if last >= 0 {
				steps[last].code = code
			}
			all, code = append(all, steps), 0
		case inside && strings.HasPrefix(line, "$ "):
			text, background := strings.CutSuffix(line[2:], " &")
			steps = append(steps, step{line: i + 1, text: text, background: background})
		case inside && last >= 0 && len(steps[last].shown) == 0 && strings.HasSuffix(steps[last].text, `\`):
			text, background := strings.CutSuffix(line, " &")
			steps[last].text += "\n" + text
			steps[last].background = background
		case inside && last >= 0:
			steps[last].shown = append(steps[last].shown, line)
		default:
			if m := exit.FindStringSubmatch(line); m != nil {
				code, _ = strconv.Atoi(m[1])
			}
		}
	}
	return all
}

func TestSessions(t *testing.T) {
	for _, d := range documents(t) {
		for _, steps := range sessions(d.text) {
			t.Run(fmt.Sprintf("%s:%d", d.name, steps[0].line), func(t *testing.T) {
				t.Parallel()
				newSession(t, d.name, steps).run(steps)
			})
		}
	}
}

// session is a terminal: its environment, and what runs in the background.
type session struct {
	t          *testing.T
	name       string
	env        []string
	private    *strings.Replacer
	ports      map[string]string // private address by what a command that opens it contains
	background []*process
}

// newSession provides Redis and a counting server, unless the session starts them itself.
func newSession(t *testing.T, name string, steps []step) *session {
	t.Helper()
	var all strings.Builder
	for _, s := range steps {
		all.WriteString(s.text + "\n")
	}
	free := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(redistest.FreePort(t))) }
	redis, web := "", ""
	s := &session{t: t, name: name, ports: map[string]string{}}
	if strings.Contains(all.String(), "redis-server ") {
		redis = free()
		s.ports["redis-server"] = redis
	} else {
		redis = redistest.Start(t).Addr()
	}
	if strings.Contains(all.String(), "examples/counter") {
		web = free()
		s.ports["examples/counter"] = web
	} else {
		server, err := arrivals.Start(arrivals.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		web = server.Addr()
	}
	_, redisPort, _ := net.SplitHostPort(redis)
	_, webPort, _ := net.SplitHostPort(web)
	s.private = strings.NewReplacer(redisAddr, redis, httpAddr, web, "--port 6379", "--port "+redisPort,
		"examples/counter", "examples/counter -addr 127.0.0.1:"+webPort)
	s.env = append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"), "LOADCTL_REDIS=redis://"+redis)
	return s
}

func (s *session) run(steps []step) {
	s.t.Helper()
	for _, step := range steps {
		if name, ok := strings.CutPrefix(step.text, "export "); ok {
			s.env = append(s.env, s.private.Replace(name))
			continue
		}
		p := s.start(step)
		if step.background {
			s.background = append(s.background, p)
			s.awaitPort(step)
			continue
		}
		p.wait(30 * time.Second)
	}
	for _, p := range s.background {
		if strings.Contains(p.step.text, "loadworker") {
			p.wait(15 * time.Second) // the run is over: they end by themselves
		} else {
			p.kill(syscall.SIGTERM)
			<-p.exited
		}
	}
}

// awaitPort waits until a server that was started in the background listens.
func (s *session) awaitPort(st step) {
	s.t.Helper()
	for what, addr := range s.ports {
		if !strings.Contains(st.text, what) {
			continue
		}
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				conn.Close()
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("%s:%d: nobody listens at %s", s.name, st.line, addr)
			}
		}
	}
}

// process is one command of a session, in a process group of its own.
type process struct {
	session *session
	step    step
	cmd     *exec.Cmd
	out     lockedBuffer
	exited  chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (s *session) start(st step) *process {
	s.t.Helper()
	p := &process{session: s, step: st, exited: make(chan struct{})}
	p.cmd = exec.Command("bash", "-c", s.private.Replace(st.text))
	p.cmd.Dir, _ = filepath.Abs(root)
	p.cmd.Env = s.env
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the child dies with the thread that started it
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		p.kill(syscall.SIGKILL)
		<-p.exited
	})
	return p
}

// kill signals the whole group: go run, for one, has a child.
func (p *process) kill(signal syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, signal) }

// wait waits for the end, and compares exit code and output with the document.
func (p *process) wait(patience time.Duration) {
	t, where := p.session.t, fmt.Sprintf("%s:%d: $ %s", p.session.name, p.step.line, p.step.text)
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("%s: does not end within %v\n%s", where, patience, p.out.String())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != p.step.code {
		t.Errorf("%s: exit code %d, want %d\n%s", where, code, p.step.code, p.out.String())
	}
	real := p.out.String()
	for _, b := range p.session.background {
		real += b.out.String() // it may have printed in the meantime
	}
	for _, line := range p.step.shown {
		if !appears(line, real) {
			t.Errorf("%s: shows\n%s\nbut there was only\n%s", where, line, real)
		}
	}
}

// appears tells whether the words of a line appear in one line of the text, in their order. What has a digit or an @ in
// it (figures, times, names of hosts) is not compared, and neither is what is left out with "…".
func appears(line, text string) bool {
	var words []string
	for w := range strings.FieldsSeq(line) {
		if !strings.ContainsAny(w, "0123456789@…") {
			words = append(words, w)
		}
	}
	for real := range strings.Lines(text) {
		left := words
		for w := range strings.FieldsSeq(real) {
			if len(left) > 0 && w == left[0] {
				left = left[1:]
			}
		}
		if len(left) == 0 {
			return true
		}
	}
	return len(words) == 0
}
