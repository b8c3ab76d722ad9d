//go:build !linux

package redistest

import (
	"syscall"
	"time"
)

// dieWithParent has nothing to offer here: a server outlives a test process
// that is killed. Cleanup still ends it in every other case.
func dieWithParent() *syscall.SysProcAttr {
	return nil
}

// awaitStopped gives SIGSTOP a moment to take effect.
func awaitStopped(int) error {
	time.Sleep(10 * time.Millisecond)
	return nil
}
