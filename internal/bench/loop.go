//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// answer is that to all requests. With "keep-alive" also HTTP/1.0 keeps the connection.
const answer = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"

// room is how many arrivals are kept: 10 s of what no client here can send.
const room = 4 << 20

// A loop is an HTTP server that costs as little as possible: one thread, one epoll, one read and one write a request,
// nothing parsed. A request is what ends with an empty line and comes in one piece, which is so for all that is fired
// at it here; it has no body.
type loop struct {
	options endpointOptions
	port    int
	socket  int
	poller  int
	events  [512]unix.EpollEvent
	buf     [64 << 10]byte
	stamps  *stamps // nil: requests arrive when they are read
	answer  []byte
	end     []byte // of a request

	began  time.Time // what times are measured from, read from the kernel's page and not by a call
	offset int64     // from that to CLOCK_MONOTONIC
	times  []int64   // of arrivals
	lost   int       // arrivals that there was no room for
}

// listen opens a loop on a free port of 127.0.0.1.
func listen(o endpointOptions) (*loop, error) {
	l := &loop{options: o, answer: []byte(answer), end: []byte("\r\n\r\n"), times: make([]int64, room)}
	for i := range l.times {
		l.times[i] = 1 // touched now, so that no arrival waits for a page
	}
	l.times = l.times[:0]
	l.began = time.Now()
	l.offset = monotonic() - int64(time.Since(l.began))
	var err error
	if l.poller, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if l.socket, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if o.stamped {
		if l.stamps, err = stamp(l.socket, l.buf[:]); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	local := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.Bind(l.socket, local), unix.Listen(l.socket, 4096), l.watch(l.socket)); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	name, err := unix.Getsockname(l.socket)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.port = name.(*unix.SockaddrInet4).Port
	return l, nil
}

func (l *loop) close() {
	_ = unix.Close(l.socket)
	_ = unix.Close(l.poller)
}

func (l *loop) watch(fd int) error {
	return unix.EpollCtl(l.poller, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// serve serves until the descriptor until is readable or ended. It says when the first request came.
func (l *loop) serve(until int, say io.Writer) error {
	if err := l.watch(until); err != nil {
		return err
	}
	for {
		// Blocking as it is, the scheduler is not told: nothing else is to run here.
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.poller), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)),
			^uintptr(0), 0, 0)
		if errno != 0 && !errors.Is(errno, unix.EINTR) {
			return fmt.Errorf("wait for requests: %w", errno)
		}
		if errno != 0 {
			continue
		}
		before := len(l.times)
		for i := range n {
			switch fd := int(l.events[i].Fd); fd {
			case until:
				return l.complete()
			case l.socket:
				l.accept()
			default:
				l.request(fd)
			}
		}
		if before == 0 && len(l.times) > 0 {
			fmt.Fprintf(say, "first %d\n", l.times[0])
		}
		l.stall()
	}
}

// complete says whether all arrivals are known.
func (l *loop) complete() error {
	if l.lost > 0 {
		return fmt.Errorf("record arrivals: there was no room for %d in %d", l.lost, room)
	}
	return nil
}

// accept takes all new connections.
func (l *loop) accept() {
	for {
		fd, _, err := unix.Accept4(l.socket, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return // there are no more; of one that is gone already nothing is expected
		}
		if errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), l.watch(fd)) != nil {
			_ = unix.Close(fd)
		}
	}
}

// request answers what came on a connection.
func (l *loop) request(fd int) {
	n, at, errno := l.receive(fd)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	if errno != 0 || n == 0 {
		_ = unix.Close(fd)
		return
	}
	for range bytes.Count(l.buf[:n], l.end) {
		if len(l.times) == cap(l.times) {
			l.lost++
		} else {
			l.times = append(l.times, at)
		}
		// An answer is small, and the peer reads it before it sends the next request: there is always room for it.
		_, _, _ = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&l.answer[0])), uintptr(len(l.answer)),
			unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	}
}

// receive reads what came, and tells when that was.
func (l *loop) receive(fd int) (n uintptr, at int64, errno unix.Errno) {
	if l.stamps != nil {
		if n, at, errno = l.stamps.receive(fd); at != 0 {
			return n, at, errno
		}
	} else {
		n, _, errno = unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&l.buf[0])), uintptr(len(l.buf)), unix.MSG_DONTWAIT, 0, 0)
	}
	return n, l.offset + int64(time.Since(l.began)), errno
}

// stall stands still once, when it is time.
func (l *loop) stall() {
	if l.options.stallFor == 0 || len(l.times) == 0 {
		return
	}
	begin := l.times[0] + int64(l.options.stallAt)
	if left := l.offset + int64(time.Since(l.began)); left >= begin {
		time.Sleep(time.Duration(begin + int64(l.options.stallFor) - left))
		l.options.stallFor = 0
	}
}
