//go:build !linux

package demo

import "syscall"

// dieWithUs has nothing to offer here. The workers of a demo that is killed (SIGKILL) find Redis gone half a second later, say so on a
// stderr that nobody reads any more, and that ends them: SIGPIPE. Every other end of the demo is theirs too.
func dieWithUs() *syscall.SysProcAttr { return nil }
