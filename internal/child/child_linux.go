package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent asks the kernel to kill the child when the thread that started it ends. The child gets a process group of its own, so Ctrl-C
// reaches this program alone, which then ends its children.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig, cmd.SysProcAttr.Setpgid = syscall.SIGKILL, true
}
