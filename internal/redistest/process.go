package redistest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// errExited says that the server ended before it was ready: its port was
// taken, or an argument is wrong.
var errExited = errors.New("redis-server ended at once")

// process is one life of a redis-server.
type process struct {
	*os.Process
	log  string        // the file it writes its log to
	done chan struct{} // closed once it is dead and waited for
}

// startProcess starts binary in dir and returns without waiting for it to be
// ready.
func startProcess(binary string, args []string, dir string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, "redis.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor, nothing is written through ours

	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()

	p := &process{log: log.Name(), done: make(chan struct{})}
	started := make(chan error)
	go p.own(cmd, started)
	return p, <-started
}

// own starts the process and stays with it until it is dead.
//
// "Die with the parent" means, to Linux, with the parent's *thread*: a server
// started from a thread that the Go runtime later retires would be killed in
// the middle of a test. So one goroutine keeps the thread to itself from the
// start of the server to its end, and nothing but the end of the test process
// can take the thread away.
func (p *process) own(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	p.Process = cmd.Process
	started <- err
	if err != nil {
		return
	}
	_ = cmd.Wait() // however it ended, it is dead
	close(p.done)
}

// awaitReady returns nil once this very process, and not another one at the
// same address, answers PING.
func (p *process) awaitReady(addr string, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		select {
		case <-p.done:
			return fmt.Errorf("%w; its log:\n%s", errExited, p.logText())
		default:
		}
		// The log line means that the port is ours; a Sentinel says it in other words.
		log := p.logText()
		if (strings.Contains(log, "Ready to accept connections") || strings.Contains(log, "Sentinel ID is ")) && answersPing(addr) {
			return nil
		}
		if time.Now().After(deadline) {
			p.kill()
			return fmt.Errorf("no answer to PING at %s within %v; the log:\n%s", addr, patience, p.logText())
		}
	}
}

// answersPing asks without a client library: whatever the answer (a server
// with a password says NOAUTH), the server is there.
func answersPing(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // without one the read below ends with the server
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

// logText returns what the server has logged, as far as it can be read.
func (p *process) logText() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// kill returns when the process is dead, which may have been before.
func (p *process) kill() {
	_ = p.Kill() // the only error is: dead already
	<-p.done
}

// terminate asks the process to end, even if it is paused, and waits for it;
// one that does not end is killed and reported.
func (p *process) terminate(patience time.Duration) error {
	if err := p.signal(syscall.SIGTERM, syscall.SIGCONT); errors.Is(err, os.ErrProcessDone) {
		<-p.done
		return nil
	} else if err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("still alive %v after SIGTERM, so it was killed; its log:\n%s", patience, p.logText())
	}
}

func (p *process) pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitStopped(p.Pid)
}

func (p *process) resume() error {
	return p.signal(syscall.SIGCONT)
}

// signal sends signals in turn. os.Process never signals a stranger that was
// given the id of a dead process.
func (p *process) signal(signals ...os.Signal) error {
	for _, sig := range signals {
		if err := p.Signal(sig); err != nil {
			return fmt.Errorf("send %v to pid %d: %w", sig, p.Pid, err)
		}
	}
	return nil
}
