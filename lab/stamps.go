//go:build linux

package main

import (
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stamps reads from sockets, with the time at which the kernel received the data (SO_TIMESTAMPNS, socket(7)). On the
// loopback device the kernel receives data while the sender is still in its write. So the time does not include how
// long the reader takes to wake up, or other work on the reader's processor.
type stamps struct {
	message unix.Msghdr
	into    unix.Iovec
	control struct { // one control message: nothing else was asked for
		head unix.Cmsghdr
		at   unix.Timespec
	}
	offset int64 // from CLOCK_REALTIME, the clock of the stamps, to CLOCK_MONOTONIC, ns
}

// stamp asks for stamps on all connections that the listening socket will accept. They read into buf.
func stamp(socket int, buf []byte) (*stamps, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return nil, err
	}
	return newStamps(stampOffset(), buf), nil
}

// stampOffset returns the difference from the clock of the stamps to CLOCK_MONOTONIC, in ns.
func stampOffset() int64 { return toMonotonic(func() int64 { return time.Now().UnixNano() }) }

// newStamps reads into buf.
func newStamps(offset int64, buf []byte) *stamps {
	s := &stamps{offset: offset}
	s.into.Base = &buf[0]
	s.into.SetLen(len(buf))
	s.message.Iov, s.message.Iovlen = &s.into, 1
	s.message.Control = (*byte)(unsafe.Pointer(&s.control))
	return s
}

// toMonotonic returns the difference from a clock to CLOCK_MONOTONIC, in ns. It reads the clock between two readings of
// CLOCK_MONOTONIC and takes their middle. Of ten such readings the shortest is right to half its length:
// others may have lost the processor between two readings.
func toMonotonic(clock func() int64) (offset int64) {
	shortest := int64(math.MaxInt64)
	for range 10 {
		before := monotonic()
		at := clock()
		if took := monotonic() - before; took < shortest {
			shortest, offset = took, before+took/2-at
		}
	}
	return offset
}

// receive is read(2) without waiting. at is 0 if there is no stamp. The first packets after the kernel was asked for
// stamps have none.
func (s *stamps) receive(fd int) (n uintptr, at int64, errno unix.Errno) {
	s.message.SetControllen(int(unsafe.Sizeof(s.control)))
	n, _, errno = unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.message)), unix.MSG_DONTWAIT)
	if errno == 0 && s.message.Controllen > 0 && s.control.head.Type == unix.SCM_TIMESTAMPNS {
		at = s.control.at.Nano() + s.offset
	}
	return n, at, errno
}
