package demo

import "syscall"

// dieWithUs makes the kernel kill a worker when the thread that started it ends, see worker.own. The worker has its own
// process group, so that Ctrl-C reaches only this process, which then ends the workers.
func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
