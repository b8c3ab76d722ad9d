//go:build linux

package loop

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutExactWaits is set in the environment of a process that must do without epoll_pwait2.
const withoutExactWaits = "LOADCTL_TEST_WITHOUT_EPOLL_PWAIT2"

// TestMain keeps the memory of all tests together small: some send and receive tens of megabytes, many at the same time.
func TestMain(m *testing.M) {
	debug.SetMemoryLimit(450 << 20)
	if os.Getenv(withoutExactWaits) != "" {
		if err := forbid(unix.SYS_EPOLL_PWAIT2); err != nil {
			fmt.Fprintln(os.Stderr, "forbid epoll_pwait2:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// forbid makes the kernel refuse a system call to this process, with EPERM, as containers do.
func forbid(call uint32) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	if _, _, errno = unix.Syscall6(uintptr(call), 0, 0, 0, 0, 0, 0); errno != unix.EPERM {
		return fmt.Errorf("the call returns %w", errno)
	}
	return nil
}
