//go:build linux && !portable

package sockets

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// batch bounds the events of one wait.
const batch = 512

// Ids of events that belong to no connection; connections use their index.
const (
	ofInterrupt = -1
	ofTimer     = -2
)

// connectEvents are the events of a connection, registered once. Edge-triggered, they cost nothing unless something
// happens.
const connectEvents = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | edge

// Events that say that there is something to read, even an error; and that nothing follows it.
const (
	readEvents   = unix.EPOLLIN | hangUpEvents
	hangUpEvents = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// A Poller waits for events or a time, exact to the nanosecond.
type Poller struct {
	fd     int
	timer  int // a timerfd, if the kernel has no epoll_pwait2 (before 5.11); else -1
	events []unix.EpollEvent
	left   timespec

	mu     sync.Mutex // held while wakeup is written: after close its number may belong to another file
	wakeup int        // an eventfd; -1 when closed
}

// Open opens the poller.
func (p *Poller) Open() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	p.fd, p.timer, p.wakeup, p.events = fd, -1, -1, make([]unix.EpollEvent, batch)
	if p.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		p.Close()
		return os.NewSyscallError("eventfd", err)
	}
	// Edge-triggered, it is an event at each write, and never has to be read.
	if err := p.add(p.wakeup, ofInterrupt, edge|unix.EPOLLIN); err != nil {
		p.Close()
		return err
	}
	return nil
}

// add registers a descriptor. Its events carry id.
func (p *Poller) add(fd int, id int32, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: id}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &e))
}

// remove ends the events of a descriptor that stays open. An error means that there are none.
func (p *Poller) remove(fd int) { _ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil) }

// Event returns the i-th event of the last look or wait, and the index of its socket; below 0 it is of none.
func (p *Poller) Event(i int) (index int32, what Event) {
	e := &p.events[i]
	if e.Events&readEvents != 0 {
		what |= CanRead
	}
	if e.Events&(unix.EPOLLOUT|hangUpEvents) != 0 {
		what |= CanWrite
	}
	if e.Events&hangUpEvents != 0 {
		what |= PeerClosed
	}
	return e.Fd, what
}

// interrupt ends a wait, or the next one. Any goroutine may call it, at any time.
func (p *Poller) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wakeup >= 0 {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(p.wakeup, one[:])
	}
}

// Look returns how many events are pending.
func (p *Poller) Look() (int, error) {
	n, errno := epollNow(p.fd, p.events)
	return counted("epoll_pwait", n, errno)
}

// Wait waits for events for at most ns, more than 0; it may return early without any.
func (p *Poller) Wait(ns int64) (int, error) {
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
func (p *Poller) openTimer() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	p.timer = fd
	return p.add(fd, ofTimer, edge|unix.EPOLLIN)
}

// waitTimer is wait with the timer. The timer is edge-triggered, so it need not be read; setting it again re-arms it.
func (p *Poller) waitTimer(ns int64) (int, error) {
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

// Close closes the poller. It may still be interrupted.
func (p *Poller) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fd := range []int{p.fd, p.timer, p.wakeup} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	p.wakeup = -1
}
