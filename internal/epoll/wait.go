//go:build linux

package epoll

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// batch is how many events one wait brings at most.
const batch = 512

// Events of these are told apart from those of connections, which have an index.
const (
	ofBell  = -1
	ofTimer = -2
)

// A poller waits for events and for time, to the nanosecond.
type poller struct {
	fd     int
	timer  int // a timerfd, where the kernel has no epoll_pwait2 (before 5.11); else -1
	events []unix.EpollEvent
	left   timespec
}

func (p *poller) open() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	p.fd, p.timer, p.events = fd, -1, make([]unix.EpollEvent, batch)
	return nil
}

// add registers a descriptor. Its events carry id.
func (p *poller) add(fd int, id int32, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: id}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &e))
}

// look returns how many events there are now.
func (p *poller) look() (int, error) {
	n, errno := epollNow(p.fd, p.events)
	return counted("epoll_pwait", n, errno)
}

// wait waits for events for ns at most, more than 0; it may return without any before.
func (p *poller) wait(ns int64) (int, error) {
	if p.timer >= 0 {
		return p.waitTimer(ns)
	}
	p.left = timespec{ns / 1e9, ns % 1e9}
	n, errno := epollWait(p.fd, p.events, &p.left)
	// Of a call that they do not know, filters of containers say EPERM.
	if errno != unix.ENOSYS && errno != unix.EPERM {
		return counted("epoll_pwait2", n, errno)
	}
	if err := p.openTimer(); err != nil {
		return 0, err
	}
	return p.waitTimer(ns)
}

// openTimer makes a timer be one of the events.
func (p *poller) openTimer() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	p.timer = fd
	return p.add(fd, ofTimer, edge|unix.EPOLLIN)
}

// waitTimer is wait by the timer. As it is an edge it need not be read; setting it again makes it new.
func (p *poller) waitTimer(ns int64) (int, error) {
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(ns)}
	if err := unix.TimerfdSettime(p.timer, 0, &when, nil); err != nil {
		return 0, os.NewSyscallError("timerfd_settime", err)
	}
	n, errno := epollForever(p.fd, p.events)
	return counted("epoll_pwait", n, errno)
}

// counted is n, or the error of a wait. A signal, with which Go interrupts long turns, is none.
func counted(call string, n int, errno unix.Errno) (int, error) {
	switch {
	case errno == 0:
		return n, nil
	case errors.Is(errno, unix.EINTR):
		return 0, nil
	}
	return 0, os.NewSyscallError(call, errno)
}

func (p *poller) close() {
	_ = unix.Close(p.fd)
	if p.timer >= 0 {
		_ = unix.Close(p.timer)
	}
}
