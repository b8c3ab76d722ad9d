//go:build linux

package epoll

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// batch bounds the events of one wait.
const batch = 512

// Ids of events that belong to no connection; connections use their index.
const (
	ofBell  = -1
	ofTimer = -2
)

// A poller waits for events or a time, exact to the nanosecond.
type poller struct {
	fd     int
	timer  int // a timerfd, if the kernel has no epoll_pwait2 (before 5.11); else -1
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

// remove ends the events of a descriptor that stays open. An error means that there are none.
func (p *poller) remove(fd int) { _ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil) }

// look returns how many events are pending.
func (p *poller) look() (int, error) {
	n, errno := epollNow(p.fd, p.events)
	return counted("epoll_pwait", n, errno)
}

// wait waits for events for at most ns, more than 0; it may return early without any.
func (p *poller) wait(ns int64) (int, error) {
	if p.timer >= 0 {
		return p.waitTimer(ns)
	}
	p.left = timespec{ns / 1e9, ns % 1e9}
	n, errno := epollWait(p.fd, p.events, &p.left)
	// System call filters of containers return EPERM for calls that they do not know.
	if errno != unix.ENOSYS && errno != unix.EPERM {
		return counted("epoll_pwait2", n, errno)
	}
	if err := p.openTimer(); err != nil {
		return 0, err
	}
	return p.waitTimer(ns)
}

// openTimer registers a timer as one of the events.
func (p *poller) openTimer() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	p.timer = fd
	return p.add(fd, ofTimer, edge|unix.EPOLLIN)
}

// waitTimer is wait with the timer. The timer is edge-triggered, so it need not be read; setting it again re-arms it.
func (p *poller) waitTimer(ns int64) (int, error) {
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(ns)}
	if err := unix.TimerfdSettime(p.timer, 0, &when, nil); err != nil {
		return 0, os.NewSyscallError("timerfd_settime", err)
	}
	n, errno := epollForever(p.fd, p.events)
	return counted("epoll_pwait", n, errno)
}

// counted returns n, or the error of a wait. A signal, with which Go interrupts long turns, is no error.
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
