//go:build !linux

package demo

import "syscall"

// dieWithUs does nothing on this system. If the demo is killed (SIGKILL), its workers lose Redis within half a second.
// They write that to a closed stderr, and SIGPIPE ends them. In all other cases the demo ends them.
func dieWithUs() *syscall.SysProcAttr { return nil }
