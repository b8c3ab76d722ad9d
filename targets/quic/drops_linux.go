package quic

import (
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// droppedAt returns how many datagrams the system dropped at a socket so far, because its buffer was full; 0 if it does
// not report that (before Linux 4.12).
func droppedAt(c *net.UDPConn) int64 {
	const drops = 8 // SK_MEMINFO_DROPS of linux/sock_diag.h
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var info [drops + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_ = raw.Control(func(fd uintptr) {
		_, _, _ = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	})
	return int64(info[drops])
}
