//go:build unix

package self

import "golang.org/x/sys/unix"

// cpuTime returns what the process has used so far, ns; -1 if it is unknown.
func cpuTime() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return -1
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
