package demo

import "syscall"

// dieWithUs lets the kernel kill a worker when the thread that started it ends, see worker.own. The worker is in a process group of
// its own, so that Ctrl-C reaches this process alone, which then ends the workers.
func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
