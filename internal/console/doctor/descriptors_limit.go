//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// descriptorLimit returns how many descriptors this process may have, and how many it may allow itself.
func descriptorLimit() (soft, hard uint64, known bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, 0, false
	}
	return limit.Cur, limit.Max, true
}
