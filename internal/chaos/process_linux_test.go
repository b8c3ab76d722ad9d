package chaos

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// process is a command that runs during the test.
type process struct {
	t              *testing.T
	name, id       string // of the command, and of the worker it is
	cmd            *exec.Cmd
	stdout, stderr output
	exited         chan struct{}
}

// output is what a process printed, to be read while it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start starts one of the commands with this LOADCTL_REDIS, in the network n, or in the test's network if n is nil.
func start(t *testing.T, n *network, redis, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, exited: make(chan struct{})}
	p.cmd = exec.Command(command(name), args...)
	p.cmd.Dir = t.TempDir() // for the files of counts that Redis did not take
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "LOADCTL_") })
	p.cmd.Env = append(p.cmd.Env, "LOADCTL_REDIS="+redis)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The child is born into the thread's network and dies with the thread. So this goroutine keeps the thread
		// until the child has ended, and then ends with the thread still locked.
		runtime.LockOSThread()
		err := n.enter()
		if err == nil {
			err = p.cmd.Start()
		}
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // its exit code tells
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as a crash would, if it has not ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the only error is: ended already
	<-p.exited
}

// signal sends signals in turn to a process that has not ended.
func (p *process) signal(s ...os.Signal) {
	p.t.Helper()
	for _, s := range s {
		if err := p.cmd.Process.Signal(s); err != nil {
			p.t.Errorf("send %v to %s: %v", s, p.name, err)
		}
	}
}

// freeze stops the process until it is sent SIGCONT.
func (p *process) freeze() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			p.t.Fatalf("wait until %s stands still: %v", p.name, err)
		}
	}
}

// ends waits for the end and returns the exit code; −1 if the process was killed, or had to be.
func (p *process) ends(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		p.t.Errorf("%s does not end:\n%s", p.name, p.stderr.String())
		p.kill()
	}
	return p.cmd.ProcessState.ExitCode()
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
