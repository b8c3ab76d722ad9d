//go:build linux

package main

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stamps read from sockets with the time at which the kernel received what they bring (SO_TIMESTAMPNS, socket(7)). On the loopback device that is
// while the sender is still in its write, so neither how long the reader takes to wake up nor what else runs on its processor is in it.
type stamps struct {
	message unix.Msghdr
	into    unix.Iovec
	control struct { // one control message, and nothing else was asked for
		head unix.Cmsghdr
		at   unix.Timespec
	}
	offset int64 // from CLOCK_REALTIME, which stamps are of, to CLOCK_MONOTONIC, ns
}

// stamp asks for stamps on all that socket, which listens, will accept. They read into buf.
func stamp(socket int, buf []byte) (*stamps, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return nil, err
	}
	s := &stamps{offset: monotonic() - time.Now().UnixNano()}
	s.into.Base = &buf[0]
	s.into.SetLen(len(buf))
	s.message.Iov, s.message.Iovlen = &s.into, 1
	s.message.Control = (*byte)(unsafe.Pointer(&s.control))
	return s, nil
}

// receive is read(2) without waiting. at is 0 where there is no stamp, as with the first packets after the kernel was asked for them.
func (s *stamps) receive(fd int) (n uintptr, at int64, errno unix.Errno) {
	s.message.SetControllen(int(unsafe.Sizeof(s.control)))
	n, _, errno = unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.message)), unix.MSG_DONTWAIT)
	if errno == 0 && s.message.Controllen > 0 && s.control.head.Type == unix.SCM_TIMESTAMPNS {
		at = s.control.at.Nano() + s.offset
	}
	return n, at, errno
}
