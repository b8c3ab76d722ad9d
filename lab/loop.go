//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// httpAnswer is the answer to every request over HTTP. With "keep-alive", HTTP/1.0 clients keep the connection too.
const httpAnswer = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"

// room is how many arrivals can be recorded: 4 s at a rate that no client here can reach.
const room = 16 << 20

// A loop is a server, of HTTP if the options do not say otherwise, that costs as little as possible. It has one thread and one epoll, makes one read and one
// write a request, and parses nothing. It takes each empty line for the end of a request. So requests must have no
// body and come in one piece, which is true of all tools here.
type loop struct {
	options endpointOptions
	port    int
	socket  int
	poller  int
	events  [512]unix.EpollEvent
	buf     [64 << 10]byte
	stamps  *stamps // nil: a request arrives when it is read
	answer  []byte
	end     []byte // the bytes that end a request

	framed map[int]*framed // connections with HTTP/2, by descriptor
	wheel  *wheel          // sends events; nil: answers have none

	began  time.Time // start of the loop's clock; time.Since reads that without a system call
	offset int64     // from began to CLOCK_MONOTONIC
	times  []int64   // times of arrivals
	lost   int       // arrivals that were not recorded for lack of room
}

// listen opens a loop on a free port of 127.0.0.1.
func listen(o endpointOptions) (*loop, error) {
	l := &loop{options: o, framed: map[int]*framed{}, times: make([]int64, room)}
	l.answer, l.end = spoken(o.speaks)
	if o.speaks == speakEvents {
		l.wheel = newWheel(o.events, o.gap)
	}
	for i := range l.times {
		l.times[i] = 1 // touched in advance, so that no arrival waits for a page fault
	}
	l.times = l.times[:0]
	l.began = time.Now()
	l.offset = monotonic() - int64(time.Since(l.began))
	var err error
	if l.poller, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if l.socket, err = o.open(); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if o.stamped {
		if l.stamps, err = stamp(l.socket, l.buf[:]); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	if err := l.watch(l.socket); err != nil {
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

// serve serves until the descriptor until is readable or closed. It prints when the first request came.
func (l *loop) serve(until int, say io.Writer) error {
	if err := l.watch(until); err != nil {
		return err
	}
	for {
		n, errno := l.wait()
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
				if o := l.options; o.speaks == speakDatagrams {
					l.datagrams()
				} else {
					l.accept()
				}
			default:
				l.request(fd)
			}
		}
		if l.wheel != nil {
			l.wheel.turn(l)
		}
		if before == 0 && len(l.times) > 0 {
			fmt.Fprintf(say, "first %d\n", l.times[0])
		}
		l.stall()
	}
}

// wait waits for requests; while answers have events to come, only for a tick. The calls block, and the Go scheduler is not
// notified: nothing else has to run in this process.
func (l *loop) wait() (n uintptr, errno unix.Errno) {
	events, room := uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events))
	if l.wheel != nil && len(l.wheel.left) > 0 {
		pause := unix.NsecToTimespec(int64(tick))
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.poller), events, room, uintptr(unsafe.Pointer(&pause)), 0, 0)
		return n, errno
	}
	n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.poller), events, room, ^uintptr(0), 0, 0)
	return n, errno
}

// complete returns an error if some arrivals were not recorded, or some events not sent.
func (l *loop) complete() error {
	if l.wheel != nil && l.wheel.unsent > 0 {
		return fmt.Errorf("send events: the client read too slowly for %d", l.wheel.unsent)
	}
	if l.lost > 0 {
		return fmt.Errorf("record arrivals: there was no room for %d in %d", l.lost, room)
	}
	return nil
}

// accept accepts all new connections.
func (l *loop) accept() {
	for {
		fd, _, err := unix.Accept4(l.socket, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return // there are no more, or the peer has already gone
		}
		if errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), l.watch(fd)) != nil {
			_ = unix.Close(fd)
		}
	}
}

// request answers the requests that came on a connection.
func (l *loop) request(fd int) {
	n, at, errno := l.receive(fd)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	if errno != 0 || n == 0 {
		delete(l.framed, fd)
		if l.wheel != nil {
			l.wheel.forget(fd)
		}
		_ = unix.Close(fd)
		return
	}
	if l.options.http2 || l.options.grpc {
		if l.framed[fd] == nil {
			l.framed[fd] = &framed{grpc: l.options.grpc}
		}
		if replies := l.framed[fd].answer(l.buf[:n], func() { l.arrived(at) }); len(replies) > 0 {
			l.send(fd, replies)
		}
		return
	}
	for range l.requests(fd, l.buf[:n]) {
		if l.wheel != nil {
			l.wheel.begin(l, fd)
			continue
		}
		l.arrived(at)
		l.send(fd, l.answer)
	}
}

// send writes to a connection. Its buffer always has room: answers are small, and the peer reads each before it sends the
// next request.
func (l *loop) send(fd int, b []byte) {
	_, _, _ = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
}

// arrived records an arrival.
func (l *loop) arrived(at int64) {
	if len(l.times) == cap(l.times) {
		l.lost++
	} else {
		l.times = append(l.times, at)
	}
}

// now returns the time.
func (l *loop) now() int64 { return l.offset + int64(time.Since(l.began)) }

// receive reads from a connection, and returns when the data arrived.
func (l *loop) receive(fd int) (n uintptr, at int64, errno unix.Errno) {
	if l.stamps != nil {
		if n, at, errno = l.stamps.receive(fd); at != 0 {
			return n, at, errno
		}
	} else {
		n, _, errno = unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&l.buf[0])), uintptr(len(l.buf)), unix.MSG_DONTWAIT, 0, 0)
	}
	return n, l.now(), errno
}

// stall makes the endpoint stand still, once, when that is due.
func (l *loop) stall() {
	if l.options.stallFor == 0 || len(l.times) == 0 {
		return
	}
	begin := l.times[0] + int64(l.options.stallAt)
	if left := l.now(); left >= begin {
		time.Sleep(time.Duration(begin + int64(l.options.stallFor) - left))
		l.options.stallFor = 0
	}
}
