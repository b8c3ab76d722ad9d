//go:build linux && !portable

package sockets

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Package unix tells Go's scheduler about each call, in case it blocks. These calls do not block, so they go directly
// to the kernel, which saves a tenth of a request's cost. The address of a buffer is taken in the argument list of the
// call, where the compiler keeps it alive. Only what send writes may be empty: a datagram.

// edge is EPOLLET, which is negative in package unix.
const edge = 1 << 31

// timespec is struct __kernel_timespec, which is the same on all machines; package unix has another one.
type timespec struct{ sec, nsec int64 }

// sendNow writes as much of b as the peer takes. A missing peer is an error, not a signal.
func sendNow(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO,
		uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// receiveNow reads available data into b.
func receiveNow(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// epollNow returns the pending events.
func epollNow(fd int, events []unix.EpollEvent) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}

// epollWait waits for events. It blocks, so the scheduler has to know; package unix has no epoll_pwait2.
func epollWait(fd int, events []unix.EpollEvent, t *timespec) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2,
		uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(t)), 0, 0)
	return int(n), errno
}

// epollForever waits for events without a timeout; one of them must be a timer.
func epollForever(fd int, events []unix.EpollEvent) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), ^uintptr(0), 0, 0)
	return int(n), errno
}
