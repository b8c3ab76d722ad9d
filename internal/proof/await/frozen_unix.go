//go:build unix && !linux

package await

import (
	"os"
	"syscall"
	"time"
)

// Frozen sends SIGSTOP to a child, and gives it a moment to take effect. SIGCONT ends that.
func Frozen(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	return nil
}
