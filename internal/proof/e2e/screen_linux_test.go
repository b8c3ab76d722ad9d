package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// terminal opens a terminal of a size, where loadctl and loadworker use the bed's Redis.
func (b *bed) terminal(columns, rows int) *watchtest.Tmux {
	b.t.Helper()
	return watchtest.NewTmux(b.t, columns, rows, "LOADCTL_REDIS="+b.url(), "PATH="+binaries+":"+os.Getenv("PATH"))
}

// in returns the bed for a subtest, which ends what it starts.
func (b *bed) in(t *testing.T) *bed {
	part := *b
	part.t = t
	return &part
}

// watched starts a run with one worker, and watches it on a terminal.
func (b *bed) watched(run string, columns, rows int, flags string) (*watchtest.Tmux, *process) {
	b.t.Helper()
	w := b.worker(run, "--url", b.web.URL()+"/"+run, "--qps", "100", "--duration", "5m", "--threshold", "latency:p(99)<20s")
	b.running(run)
	m := b.terminal(columns, rows)
	m.Run("loadctl watch " + run + " " + flags + "; echo exit''=$?")
	m.See(run+"  running", "q leave")
	return m, w
}

// running waits until a run has begun.
func (b *bed) running(run string) {
	b.t.Helper()
	await.True(b.t, run+" to begin", func() bool {
		return b.read(run).Phase == "running"
	})
}

// rate returns the rate of a run in force.
func (b *bed) rate(run string) float64 {
	b.t.Helper()
	m := regexp.MustCompile(`"rate": ?([0-9.e+]+)`).FindStringSubmatch(b.loadctl("status", run, "-o", "json"))
	if m == nil {
		b.t.Fatal("status has no rate")
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// TestScreenKeys: each key does what the last line says, on small and large terminals; the run obeys.
func TestScreenKeys(t *testing.T) {
	nightly(t)
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			m, _ := b.watched("keys", size[0], size[1], "")
			m.See("+ 10 % more   - 10 % less   r rate   space pause   s stop   q leave", "asked", "latency", "CHECKS", "WORKERS 1 active", "CHANGES")
			m.Press("+", "+")
			m.See("keys  running  121/s")
			m.Press("-")
			m.See("keys  running  108.9/s")
			if got := b.rate("keys"); got != 108.9 {
				t.Errorf("rate %v", got)
			}
			m.Press("r")
			m.See("rate of the whole cluster:", "enter sets the rate   esc leaves it as it is")
			m.Type("9999")
			m.Press("BSpace", "C-u")
			m.Type("50")
			m.See(": 50")
			m.Press("Enter")
			m.See("keys  running  50/s", "set-rate 50: in force from")
			m.Press("r")
			m.Type("70")
			m.See("cluster: 70")
			m.Press("Escape")
			m.See("r rate   space pause") // else a terminal takes it and the next key for one
			m.Press("r")
			m.Type("many")
			m.Press("Enter")
			m.See("keys  running  50/s", "rate of the whole cluster: many", `rate "many": not a number of requests per second`)
			m.Press("C-u")
			m.Type("60 over 1s")
			m.Press("Enter")
			m.See("keys  running  60/s")
			m.Press("Space")
			m.See("keys  paused", "space resume")
			m.Press("Space")
			m.See("keys  running", "space pause")
			m.Press("s")
			m.See("y stops keys, any other key does not")
			m.Press("n")
			m.See("not stopped")
			m.Press("s", "y")
			m.See("exit=")
			last := m.History()
			if ended := fmt.Sprint("exit=", verdict(b.report("keys"))); !strings.Contains(last, ended) || !strings.Contains(last, "audit") {
				t.Errorf("how it ended:\n%s", last)
			}
			if !strings.Contains(b.loadctl("status", "keys", "-o", "json"), `"stopped"`) {
				t.Error("the run is not stopped")
			}
			if !strings.Contains(last, "keys  stopped") || strings.Contains(last, "10 % more") {
				t.Errorf("the last frame is not left behind, or has its keys:\n%s", last)
			}
			m.Clean()
		})
	}
}

// TestScreenNumbers: the last frame has the numbers of the report.
func TestScreenNumbers(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.worker("numbers", "--url", b.web.URL()+"/numbers", "--qps", "100")
	b.running("numbers")
	m := b.terminal(100, 40)
	m.Run("loadctl watch numbers >/dev/tty; echo exit''=$?")
	m.See("numbers  running") // else there is no frame
	b.started(300)
	b.loadctl("stop", "numbers")
	m.See("exit=0")
	r := b.report("numbers")
	seen := m.History()
	for name, n := range map[string]int64{"asked": r.Asked, "sent": r.Sent, "ok": r.Audit.Completed, "failed": r.Audit.Failed} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^%s +%d\b`, name, n)).MatchString(seen) {
			t.Errorf("no %s %d in\n%s", name, n, seen)
		}
	}
	if r.Sent < 300 {
		t.Errorf("sent %d", r.Sent)
	}
}

// TestScreenResizes: a frame fits any size, also very small ones, and uses the room again.
func TestScreenResizes(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	m, _ := b.watched("sizes", 80, 24, "")
	for _, size := range [][2]int{{200, 60}, {30, 6}, {3, 2}, {120, 30}, {80, 24}} {
		m.Resize(size[0], size[1])
		watchtest.Until(t, fmt.Sprint("a frame of ", size), func() bool {
			lines := m.Lines()
			if size[0] < 80 {
				return strings.HasPrefix(lines[len(lines)-1], "+ 10 % more"[:min(11, size[0])])
			}
			return strings.HasPrefix(lines[0], "sizes  running") && len(lines) == size[1] && strings.Contains(lines[size[1]-1], "q leave")
		}, m.Screen)
	}
	m.Press("q")
	m.See("exit=0")
	m.Clean()
}

// childOf returns the process that the shell of a terminal runs.
func childOf(t *testing.T, m *watchtest.Tmux) (pid int) {
	t.Helper()
	shell := m.Ask("pane_pid")
	watchtest.Until(t, "a process of the shell", func() bool {
		text, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	})
	return pid
}

// TestScreenEnds: however the command ends, the shell is clean, and the run goes on.
func TestScreenEnds(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.worker("ends", "--url", b.web.URL()+"/ends", "--qps", "50", "--duration", "5m")
	b.running("ends")
	for _, c := range []struct {
		name string
		end  func(m *watchtest.Tmux, pid int)
		exit string
	}{
		{"q", func(m *watchtest.Tmux, _ int) { m.Press("q") }, "exit=0"},
		{"ctrl-c", func(m *watchtest.Tmux, _ int) { m.Press("C-c") }, "exit=105"},
		{"SIGTERM", func(_ *watchtest.Tmux, pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) }, "exit=105"},
		{"SIGHUP", func(_ *watchtest.Tmux, pid int) { _ = syscall.Kill(pid, syscall.SIGHUP) }, "exit=129"},
		{"twice", func(_ *watchtest.Tmux, pid int) {
			_, _ = syscall.Kill(pid, syscall.SIGTERM), syscall.Kill(pid, syscall.SIGINT)
		}, "exit=105"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := b.in(t).terminal(80, 24)
			m.Run("loadctl watch ends; echo exit''=$?")
			m.See("ends  running")
			c.end(m, childOf(t, m))
			m.See(c.exit)
			m.Clean()
		})
	}
	t.Run("lost terminal", func(t *testing.T) {
		m := b.in(t).terminal(80, 24)
		m.Run("loadctl watch ends")
		m.See("ends  running")
		pid := childOf(t, m)
		m.Close()
		await.True(t, "the end of the command", func() bool { return syscall.Kill(pid, 0) != nil })
	})
	t.Run("stopped", func(t *testing.T) { // Ctrl-Z gives a shell, fg the screen again
		m := b.in(t).terminal(80, 24)
		m.Run("set -m; loadctl watch ends; echo exit''=$?")
		m.See("ends  running")
		m.Press("C-z")
		m.See("ready>", "exit=")
		m.Clean()
		m.Run("fg; echo exit''=$?")
		m.See("ends  running", "q leave")
		m.Press("q")
		m.See("exit=0")
		m.Clean()
	})
	await.True(t, "the rate as it was", func() bool { return b.rate("ends") == 50 }) // it is 0 before the first slot
}

// TestScreenOfRun: q goes on in lines, and Ctrl-C stops the run as it does without a screen, from both.
func TestScreenOfRun(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	for _, c := range []struct{ name, line string }{
		{"run", "loadctl run NAME --url URL --qps 50 --duration 5m --min-workers 1"},
		{"worker", "loadworker run --run NAME --url URL --qps 50 --duration 5m"},
	} {
		for _, from := range []string{"screen", "lines"} {
			name := c.name + "-" + from
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := b.in(t)
				m := b.terminal(100, 30)
				m.Run(strings.NewReplacer("NAME", name, "URL", b.web.URL()).Replace(c.line) + "; echo exit''=$?")
				if c.name == "run" {
					m.See(name+"  waiting", "begins with 1 workers")
					b.worker(name, "--allow-hosts", "127.0.0.1")
				}
				m.See(name+"  running", "q plain lines")
				if from == "lines" {
					m.Press("q")
					m.See(name+": 50/s  asked", "CHANGES")
				}
				m.Press("C-c")
				m.See("exit=105", "audit")
				m.Clean()
			})
		}
	}
}

// TestScreenReadOnly: with --read-only the keys are grey and change nothing.
func TestScreenReadOnly(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	m, _ := b.watched("read", 80, 24, "--read-only")
	for _, key := range []string{"+", "-", "r", "Space", "s"} {
		m.Press(key)
		m.See("this screen is read-only; leave out --read-only to give commands")
	}
	m.Press("y")
	lines := strings.Split(m.Styled(), "\n")
	if keys := lines[23]; strings.Count(keys, "\x1b[2m") < 5 {
		t.Errorf("the keys are not grey: %q", keys)
	}
	m.Press("q")
	m.See("exit=0")
	await.True(t, "the rate as it was", func() bool { return b.rate("read") == 100 }) // it is 0 before the first slot
	if seen := b.loadctl("events", "read"); strings.Contains(seen, "set-rate") || strings.Contains(seen, "pause") || strings.Contains(seen, "stop") {
		t.Errorf("a key gave a command:\n%s", seen)
	}
}

// TestScreenHostile: text that somebody wrote into Redis does not control the terminal.
func TestScreenHostile(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	m, _ := b.watched("hostile", 100, 30, "")
	title := m.Ask("pane_title")
	const evil = "\x1b]0;pwned\a\x1b[2J\x1b[?1049l\x1b[31mred\r\n\u009b2Jover\u202e"
	client := b.redis.Client()
	keys, err := client.Keys(t.Context(), "*hostile*events*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("%v, %v", keys, err)
	}
	newest, err := client.XRevRangeN(t.Context(), keys[0], "+", "-", 1).Result()
	if err != nil {
		t.Fatal(err)
	}
	values := newest[0].Values
	for _, field := range []string{"kind", "who", "what"} {
		values[field] = evil
	}
	if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: keys[0], Values: values}).Err(); err != nil {
		t.Fatal(err)
	}
	m.See("pwned", "red  ", "over", "CHANGES", "hostile  running")
	if got := m.Ask("pane_title"); got != title || m.Ask("alternate_on") != "1" {
		t.Errorf("the title is %q, was %q; alternate screen: %s", got, title, m.Ask("alternate_on"))
	}
	m.Press("q")
	m.See("exit=0")
	if got := m.Ask("pane_title"); got != title {
		t.Errorf("the title is %q, was %q", got, title)
	}
	m.Clean()
}

// TestScreenStays: --plain, a pipe, a dumb terminal and a job in the background get no screen.
func TestScreenStays(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	for name, line := range map[string]string{
		"pipe":  "loadctl run NAME URL | cat",
		"plain": "loadctl run NAME URL --plain",
		"file":  "loadctl run NAME URL > /dev/null",
		"keys":  "loadctl run NAME URL < /dev/null",
		"dumb":  "TERM=dumb loadctl run NAME URL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "typescript")
			b := b.in(t)
			m := b.terminal(100, 30)
			m.Run("script -q -e -c '" + strings.NewReplacer("NAME", name, "URL", "--url "+b.web.URL()+" --qps 20 --duration 2s --min-workers 1").Replace(line) + "' " + file + "; echo exit''=$?")
			m.See("created run " + name)
			b.worker(name, "--allow-hosts", "127.0.0.1")
			m.See("exit=0")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\x1b[?1049h") || strings.ContainsFunc(strings.ReplaceAll(string(text), "\x1b[K", ""), func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\r\n\t", r) }) {
				t.Errorf("it took the whole terminal:\n%q", text)
			}
		})
	}
}
