//go:build unix

package watch

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground tells whether this process may use the terminal. A job in the background would be stopped if it tried.
func foreground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
