//go:build !linux

package child

import (
	"os/exec"
	"syscall"
	"time"
)

// dieWithParent has nothing to offer here: a child outlives a parent that is killed, and Ctrl-C reaches both.
func dieWithParent(*exec.Cmd) {}

// Freeze sends SIGSTOP, and gives it a moment to take effect. SIGCONT ends that.
func (p *Process) Freeze() error {
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	return nil
}
