//go:build !linux

package targets

import "syscall"

// bindLate does nothing: only Linux can choose the local port late.
func bindLate(_, _ string, _ syscall.RawConn) error { return nil }
