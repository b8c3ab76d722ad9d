package child

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent asks the kernel to kill the child when the thread that started it ends. The child gets a process group of its own, so Ctrl-C
// reaches this program alone, which then ends its children.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig, cmd.SysProcAttr.Setpgid = syscall.SIGKILL, true
}

// Freeze sends SIGSTOP, and returns when every thread of the process stands still. SIGCONT ends that.
func (p *Process) Freeze() error {
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		// WNOWAIT leaves the state in place for others who wait.
		err := unix.Waitid(unix.P_PID, p.Cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait until process %d stands still: %w", p.Cmd.Process.Pid, err)
		}
	}
}
