//go:build linux

package loop

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// A tinyServer answers each read of at least one byte with 200, in one thread with its own epoll, and does not
// allocate: so the client's cost is visible.
type tinyServer struct {
	url     string
	events  int // an epoll
	socket  int
	stopped atomic.Bool
	running sync.WaitGroup
	open    map[int]struct{}
	buf     []byte
}

const tinyAnswer = "HTTP/1.1 200 OK\r\nServer: tiny\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"

// startTiny serves until the test ends; on core, unless that is negative.
func startTiny(t testing.TB, core int) *tinyServer {
	t.Helper()
	s := &tinyServer{open: map[int]struct{}{}, buf: make([]byte, 64<<10)}
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	var err error
	s.events, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	must(err)
	s.socket, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	must(err)
	must(unix.Bind(s.socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(unix.Listen(s.socket, 4096))
	name, err := unix.Getsockname(s.socket)
	must(err)
	at := name.(*unix.SockaddrInet4)
	s.url = "http://" + net.JoinHostPort(netip.AddrFrom4(at.Addr).String(), strconv.Itoa(at.Port)) + "/"
	must(s.watch(s.socket))
	s.running.Go(func() { s.serve(core) })
	t.Cleanup(func() {
		s.stopped.Store(true)
		unix.Shutdown(s.socket, unix.SHUT_RDWR) // is an event
		s.running.Wait()
		unix.Close(s.events)
		unix.Close(s.socket)
	})
	return s
}

// pin keeps the calling goroutine's thread on a core.
func pin(core int) {
	runtime.LockOSThread()
	if core >= 0 {
		var set unix.CPUSet
		set.Set(core)
		unix.SchedSetaffinity(0, &set)
	}
}

// watch registers a descriptor.
func (s *tinyServer) watch(fd int) error {
	return unix.EpollCtl(s.events, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (s *tinyServer) serve(core int) {
	pin(core) // and end with the thread
	events := make([]unix.EpollEvent, 512)
	for !s.stopped.Load() {
		n, err := unix.EpollWait(s.events, events, 0)
		if n == 0 {
			n, err = unix.EpollWait(s.events, events, -1)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(err)
		}
		for i := range max(0, n) {
			s.handle(int(events[i].Fd))
		}
	}
	for fd := range s.open {
		unix.Close(fd)
	}
}

func (s *tinyServer) handle(fd int) {
	switch fd {
	case s.socket:
		for {
			fd, _, err := unix.Accept4(s.socket, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			if err != nil {
				return
			}
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
			s.open[fd] = struct{}{}
			s.watch(fd)
		}
	default:
		n, err := unix.Read(fd, s.buf)
		if n > 0 {
			unix.Write(fd, []byte(tinyAnswer))
			return
		}
		if !errors.Is(err, unix.EAGAIN) {
			delete(s.open, fd)
			unix.Close(fd)
		}
	}
}
