package watchtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// Tmux is a terminal with a shell in it, as a person has one. It ends with the test.
type Tmux struct {
	t      *testing.T
	socket string
}

// NewTmux opens a terminal of this size. env are variables of its shell: NAME=VALUE.
func NewTmux(t *testing.T, columns, rows int, env ...string) *Tmux {
	t.Helper()
	dir, err := os.MkdirTemp("", "tmux") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	start := filepath.Join(dir, "start") // what the shell reads first
	var settings strings.Builder
	settings.WriteString("PS1='ready> '\n")
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&settings, "export %s='%s'\n", name, value)
	}
	if err := os.WriteFile(start, []byte(settings.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &Tmux{t: t, socket: filepath.Join(dir, "s")}
	server := exec.Command("tmux", "-D", "-S", m.socket, "-f", "/dev/null")
	server.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	p, err := child.Start(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		_ = os.RemoveAll(dir)
	})
	Until(t, "tmux", func() bool { _, err := os.Stat(m.socket); return err == nil })
	m.tmux("new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-e", "ENV="+start, "sh")
	m.See("ready>")
	return m
}

// tmux gives a command to the terminal.
func (m *Tmux) tmux(args ...string) string {
	m.t.Helper()
	c := exec.Command("tmux", append([]string{"-u", "-S", m.socket}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Type types a text as it is.
func (m *Tmux) Type(text string) {
	m.t.Helper()
	m.tmux("send-keys", "-l", text)
}

// Press presses keys, by the names that tmux has for them: Enter, C-c, Space.
func (m *Tmux) Press(keys ...string) {
	m.t.Helper()
	m.tmux(append([]string{"send-keys"}, keys...)...)
}

// Run types a command line.
func (m *Tmux) Run(line string) {
	m.t.Helper()
	m.Type(line)
	m.Press("Enter")
}

// Resize gives the terminal another size.
func (m *Tmux) Resize(columns, rows int) {
	m.t.Helper()
	m.tmux("resize-window", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows))
}

// Lines returns what is on the terminal now, a line each.
func (m *Tmux) Lines() []string {
	m.t.Helper()
	return strings.Split(strings.TrimSuffix(m.tmux("capture-pane", "-p"), "\n"), "\n")
}

// Screen returns what is on the terminal now.
func (m *Tmux) Screen() string { return strings.Join(m.Lines(), "\n") }

// History returns all that was on the terminal, but for what programs that took the whole screen have shown.
func (m *Tmux) History() string {
	m.t.Helper()
	return m.tmux("capture-pane", "-p", "-J", "-S", "-")
}

// Styled is Screen with escape codes of colours and styles.
func (m *Tmux) Styled() string {
	m.t.Helper()
	return m.tmux("capture-pane", "-p", "-e")
}

// Ask returns a variable of the terminal: alternate_on is 1 while a program has the whole screen.
func (m *Tmux) Ask(variable string) string {
	m.t.Helper()
	return strings.TrimSpace(m.tmux("display-message", "-p", "#{"+variable+"}"))
}

// See waits until all these texts are on the terminal.
func (m *Tmux) See(texts ...string) {
	m.t.Helper()
	missing := ""
	Until(m.t, fmt.Sprintf("%q on the terminal", texts), func() bool {
		now := m.Screen()
		for _, text := range texts {
			if missing = text; !strings.Contains(now, text) {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("no %q in\n%s", missing, m.Screen()) })
}

// Clean checks that the shell is as it was: it has lines, echo and a cursor, and the screen is the ordinary one.
func (m *Tmux) Clean() {
	m.t.Helper()
	m.See("ready>")
	if got := m.Ask("alternate_on") + m.Ask("cursor_flag") + m.Ask("mouse_any_flag"); got != "010" {
		m.t.Errorf("alternate screen, cursor and mouse are %s, want 010", got)
	}
	m.Run("clear; stty -a")
	m.See("icanon")
	for _, mode := range []string{"-icanon", "-isig", "-echo ", "-opost", "-icrnl"} {
		if now := m.Screen(); strings.Contains(now, mode) {
			m.t.Errorf("the terminal has %s:\n%s", mode, now)
		}
	}
	m.Run("clear; echo it $((6*7)) works")
	m.See("it 42 works")
}

// Close closes the terminal, as if its connection broke: the kernel hangs up.
func (m *Tmux) Close() {
	m.t.Helper()
	m.tmux("kill-session")
}

// Until waits for a condition. say, if it is given, tells why it is not there.
func Until(t *testing.T, what string, ok func() bool, say ...func() string) {
	t.Helper()
	there := false
	defer func() {
		for _, s := range say {
			if !there {
				t.Log(s())
			}
		}
	}()
	await.True(t, what, func() bool {
		if there = ok(); !there {
			time.Sleep(20 * time.Millisecond) // a look at a terminal is a process
		}
		return there
	})
}
