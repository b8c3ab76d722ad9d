package chaos

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// process is a command that runs during the test.
type process struct {
	*child.Process
	t        *testing.T
	name, id string // of the command, and the worker's id
}

// start starts one of the commands with this LOADCTL_REDIS, in the network n, or in the test's network if n is nil.
func start(t *testing.T, n *network, redis, name string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(command(name), args...)
	cmd.Dir = t.TempDir() // workers save counts here that Redis did not take
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "LOADCTL_") })
	cmd.Env = append(cmd.Env, "LOADCTL_REDIS="+redis)
	p, err := child.Start(cmd, n.enter)
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(p.Kill)
	return &process{Process: p, t: t, name: name}
}

// signal sends signals in turn to a process that has not ended.
func (p *process) signal(s ...os.Signal) {
	p.t.Helper()
	for _, s := range s {
		if err := p.Cmd.Process.Signal(s); err != nil {
			p.t.Errorf("send %v to %s: %v", s, p.name, err)
		}
	}
}

// freeze stops the process until it is sent SIGCONT.
func (p *process) freeze() {
	p.t.Helper()
	if err := await.Frozen(p.Cmd.Process); err != nil {
		p.t.Fatalf("freeze %s: %v", p.name, err)
	}
}

// ends waits for the end and returns the exit code; −1 if the process was killed.
func (p *process) ends() int {
	p.t.Helper()
	await.Closed(p.t, "the end of "+p.name, p.Exited)
	return p.Cmd.ProcessState.ExitCode()
}
