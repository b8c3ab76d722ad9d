//go:build !linux

package targets

import "syscall"

// bindLate does nothing: choosing the local port late is a thing of Linux.
func bindLate(_, _ string, _ syscall.RawConn) error { return nil }
