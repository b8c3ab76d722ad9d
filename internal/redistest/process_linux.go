package redistest

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the process when the thread that started it ends, see process.own.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// awaitStopped returns when every thread of a process that was sent SIGSTOP has stopped. It leaves the state in place
// (WNOWAIT), so that it can be read again.
func awaitStopped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			if err != nil {
				return fmt.Errorf("wait until pid %d has stopped: %w", pid, err)
			}
			return nil
		}
	}
}
