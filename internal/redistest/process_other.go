//go:build !linux

package redistest

import (
	"syscall"
	"time"
)

// dieWithParent does nothing on this system: if a test process is killed, its servers stay. In all other cases cleanup
// ends them.
func dieWithParent() *syscall.SysProcAttr {
	return nil
}

// awaitStopped gives SIGSTOP a moment to take effect.
func awaitStopped(int) error {
	time.Sleep(10 * time.Millisecond)
	return nil
}
