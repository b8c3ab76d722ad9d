package redistest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// errExited says that the server ended before it was ready: its port was taken, or an argument is wrong.
var errExited = errors.New("redis-server ended at once")

// process is one life of a redis-server.
type process struct {
	*child.Process
	log string // the file it writes its log to
}

// startProcess starts binary in dir. It does not wait until it is ready.
func startProcess(binary string, args []string, dir string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, "redis.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor; ours writes nothing

	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	p, err := child.Start(cmd, nil)
	if err != nil {
		return nil, err
	}
	return &process{Process: p, log: log.Name()}, nil
}

// awaitReady returns nil when this very process answers PING, and not another one at the same address.
func (p *process) awaitReady(t testing.TB, addr string) (err error) {
	t.Helper()
	await.True(t, "redis-server at "+addr, func() bool {
		select {
		case <-p.Exited:
			err = fmt.Errorf("%w; its log:\n%s", errExited, p.logText())
			return true
		default:
		}
		// The log line proves that the port is ours; a Sentinel uses another one.
		log := p.logText()
		return (strings.Contains(log, "Ready to accept connections") || strings.Contains(log, "Sentinel ID is ")) && answersPing(addr)
	})
	return err
}

// answersPing asks without a client library. Any answer will do (a server with a password says NOAUTH): the server is
// there. Without a limit of time: a server that is slow is there, and the connection to one that dies ends.
func answersPing(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

// logText returns the server's log, as far as it can be read.
func (p *process) logText() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// terminate asks the process to end, even if it is paused, and waits for it.
func (p *process) terminate(t testing.TB) error {
	t.Helper()
	if err := p.signal(syscall.SIGTERM, syscall.SIGCONT); errors.Is(err, os.ErrProcessDone) {
		<-p.Exited
		return nil
	} else if err != nil {
		return err
	}
	await.Closed(t, "the end of redis-server after SIGTERM", p.Exited)
	return nil
}

func (p *process) resume() error {
	return p.signal(syscall.SIGCONT)
}

// signal sends signals in order. os.Process never signals another process that got the id of a dead one.
func (p *process) signal(signals ...os.Signal) error {
	for _, sig := range signals {
		if err := p.Cmd.Process.Signal(sig); err != nil {
			return fmt.Errorf("send %v to pid %d: %w", sig, p.Cmd.Process.Pid, err)
		}
	}
	return nil
}
