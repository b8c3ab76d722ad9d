//go:build unix && !linux

package child

import (
	"syscall"
	"time"
)

// Freeze sends SIGSTOP, and gives it a moment to take effect. SIGCONT ends that.
func (p *Process) Freeze() error {
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	return nil
}
