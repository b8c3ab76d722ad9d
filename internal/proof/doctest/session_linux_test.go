package doctest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// The addresses in the documents. Each session uses private ones instead.
const (
	redisAddr    = "127.0.0.1:6379"
	embeddedAddr = "127.0.0.1:6380"
	httpAddr     = "127.0.0.1:8080"
)

// step is one command of a session with the output that the document shows for it.
type step struct {
	line       int
	text       string
	background bool
	empty      bool   // of the first step: the session begins in an empty directory, else in the checkout
	program    string // of the first step: main.go in that directory; "" = there is none
	code       int
	shown      []string
}

// sessions finds the ```console blocks of a document. "<!-- exit 104 -->" in the line before one is the exit code of
// its last command; all others are 0. "<!-- empty directory -->" there lets a session begin in one, and "<!-- empty directory with
// main.go -->" in one with the ```go block before.
func sessions(text string) [][]step {
	var all [][]step
	var steps []step
	var program, main string
	code, inside, empty := 0, false, false
	exit := regexp.MustCompile(`^<!-- exit (\d+) -->$`)
	for i, line := range strings.Split(text, "\n") {
		last := len(steps) - 1
		switch {
		case !inside && line == "```console":
			inside, steps = true, nil
		case inside && line == "```":
			inside = false
			if last >= 0 {
				steps[last].code, steps[0].empty, steps[0].program = code, empty, main
			}
			all, code, empty, main = append(all, steps), 0, false, ""
		case inside && strings.HasPrefix(line, "$ "):
			text, background := strings.CutSuffix(line[2:], " &")
			steps = append(steps, step{line: i + 1, text: text, background: background})
		case inside && last >= 0 && len(steps[last].shown) == 0 && strings.HasSuffix(steps[last].text, `\`):
			text, background := strings.CutSuffix(line, " &")
			steps[last].text += "\n" + text
			steps[last].background = background
		case inside && last >= 0:
			steps[last].shown = append(steps[last].shown, line)
		case line == "<!-- empty directory -->":
			empty = true
		case line == "<!-- empty directory with main.go -->":
			empty, main = true, program
		case line == "```go":
			program, _, _ = strings.Cut(strings.Join(strings.Split(text, "\n")[i+1:], "\n"), "```\n")
		default:
			if m := exit.FindStringSubmatch(line); m != nil {
				code, _ = strconv.Atoi(m[1])
			}
		}
	}
	return all
}

func TestSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it plays all sessions of the documents")
	}
	for _, d := range documents(t) {
		for _, steps := range sessions(d.text) {
			alone := slices.ContainsFunc(steps, func(s step) bool { return strings.HasSuffix(s.text, " demo") })
			t.Run(fmt.Sprintf("%s:%d", d.name, steps[0].line), func(t *testing.T) {
				if !alone { // the demo says what it thinks of the machine
					t.Parallel()
				}
				newSession(t, d.name, steps).run(steps)
			})
		}
	}
}

// session is a terminal: its environment and its background processes.
type session struct {
	t          *testing.T
	name       string
	env        []string
	dir        string            // where its commands run
	redis      *redistest.Server // nil if the session starts one itself
	private    *strings.Replacer
	servers    []server // those that the session starts itself
	background []*process
}

// server is identified by the command that starts it.
type server struct {
	command, addr string
	stays         bool // until a signal ends it
}

// newSession provides Redis and a counting server, unless the session starts them itself.
func newSession(t *testing.T, name string, steps []step) *session {
	t.Helper()
	var all strings.Builder
	for _, s := range steps {
		all.WriteString(s.text + "\n")
	}
	s := &session{t: t, name: name}
	// own is a private address for a server, if the session starts it.
	own := func(command string, stays bool) string {
		if !strings.Contains(all.String(), command) {
			return ""
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(redistest.FreePort(t)))
		s.servers = append(s.servers, server{command, addr, stays})
		return addr
	}
	redis, embedded, web := own("redis-server ", true), own("embedded:6380", false), own("loadctl target ", true)
	if redis == "" {
		s.redis = redistest.Start(t, "--enable-debug-command", "local") // for moved
		redis = s.redis.Addr()
	}
	if web == "" {
		server, err := arrivals.Start(arrivals.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		web = server.Addr()
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	port := func(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
	private := []string{redisAddr, redis, embeddedAddr, embedded, httpAddr, web,
		"--port 6379", "--port " + port(redis), "embedded:6380", "embedded:" + port(embedded),
		"../loadctl", checkout,
		"make demo", "loadctl demo", "make build", "true"} // what they build is there
	// One folder for all: a workload lies beside its data.
	dir := t.TempDir()
	empty := len(steps) > 0 && steps[0].empty
	if s.dir = dir; !empty {
		s.dir = checkout
	} else if program := steps[0].program; program != "" {
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, made := range regexp.MustCompile(`(?:>|-keyout |-out |--log |--event-log )(\w+\.(?:csv|har|jsonl|json|log|pem|proto|sh|txt|yaml))`).FindAllStringSubmatch(all.String(), -1) {
		if !empty {
			private = append(private, made[1], filepath.Join(dir, made[1]))
		}
	}
	s.private = strings.NewReplacer(private...)
	s.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LOADCTL_REDIS=") })
	s.env = append(s.env, "PATH="+binaries+":"+os.Getenv("PATH"))
	if text := all.String(); strings.Contains(text, "--run ") || !strings.Contains(text, "loadworker run ") { // else the worker embeds a Redis
		s.env = append(s.env, "LOADCTL_REDIS=redis://"+redis)
	}
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
		p.wait()
	}
	stays := func(p *process) bool {
		return slices.ContainsFunc(s.servers, func(v server) bool { return v.stays && strings.Contains(p.step.text, v.command) })
	}
	for _, p := range s.background {
		if !stays(p) {
			p.wait() // the run is over: it ends by itself
		}
	}
	for _, p := range s.background {
		if stays(p) {
			p.kill(syscall.SIGTERM) // reaches the shell too, if there is one: the exit code may be of either
			p.end()
			p.compare()
		}
	}
}

// awaitPort waits until a server started in the background listens.
func (s *session) awaitPort(st step) {
	s.t.Helper()
	for _, v := range s.servers {
		if !strings.Contains(st.text, v.command) {
			continue
		}
		await.True(s.t, fmt.Sprintf("%s:%d: somebody to listen at %s", s.name, st.line, v.addr), func() bool {
			conn, err := net.Dial("tcp", v.addr)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
	}
}

// process is one command of a session, in its own process group.
type process struct {
	*child.Process
	session *session
	step    step
}

func (s *session) start(st step) *process {
	s.t.Helper()
	cmd := exec.Command("bash", "-c", s.private.Replace(st.text))
	cmd.Dir = s.dir
	cmd.Env = s.env
	started, err := child.Start(cmd, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	p := &process{Process: started, session: s, step: st}
	s.t.Cleanup(func() {
		p.kill(syscall.SIGKILL)
		<-p.Exited
	})
	return p
}

// printed is all that it printed. The two streams come through two pipes, so which line of one came before which of the
// other is not known.
func (p *process) printed() string { return p.Stdout.String() + p.Stderr.String() }

// kill signals the whole group: go run, for one, has a child.
func (p *process) kill(signal syscall.Signal) { _ = syscall.Kill(-p.Cmd.Process.Pid, signal) }

// says waits until the process prints a line that matches, and returns the first group.
func (p *process) says(pattern string) string {
	p.session.t.Helper()
	re := regexp.MustCompile(pattern)
	var m []string
	await.True(p.session.t, p.step.text+" to print "+pattern, func() bool {
		m = re.FindStringSubmatch(p.printed())
		return m != nil
	})
	return m[1]
}

// wait waits for the end, and compares exit code and output with the document.
func (p *process) wait() {
	p.session.t.Helper()
	p.end()
	code := p.Cmd.ProcessState.ExitCode()
	if code == 98 && p.step.code == 0 && strings.Contains(p.printed(), "the generator was the limit") {
		return // on a busy machine a run has no verdict
	}
	if code != p.step.code {
		p.session.t.Errorf("%s: exit code %d, want %d\n%s", p.where(), code, p.step.code, p.printed())
	}
	p.compare()
}

func (p *process) where() string {
	return fmt.Sprintf("%s:%d: $ %s", p.session.name, p.step.line, p.step.text)
}

func (p *process) end() {
	p.session.t.Helper()
	await.Closed(p.session.t, "the end of "+p.where(), p.Exited)
}

// compare looks for each line that the document shows.
func (p *process) compare() {
	p.session.t.Helper()
	real := p.printed()
	for _, b := range p.session.background {
		real += b.printed() // it may have printed in the meantime
	}
	for _, line := range p.step.shown {
		if !appears(line, real) {
			p.session.t.Errorf("%s: shows\n%s\nbut there was only\n%s", p.where(), line, real)
		}
	}
}

// appears reports whether the words of a line appear in order in one line of the text. Words with a digit or an @
// (figures, times, host names) are not compared, nor are bars of a plot and "…".
func appears(line, text string) bool {
	var words []string
	for w := range strings.FieldsSeq(line) {
		if !strings.ContainsAny(w, "0123456789@…█│") {
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
