//go:build linux

package epoll

import (
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A bell wakes a loop from other goroutines. While the loop is busy a ring only touches two words of memory; only a
// ring that finds the loop asleep makes the system call. No ring is lost, because each side writes first and then reads
// what the other wrote:
//
//	loop: asleep = true, then does not sleep if rung
//	ring: rung = true, then makes the call if asleep
type bell struct {
	rung   atomic.Bool
	asleep atomic.Bool

	mu sync.Mutex // held while fd is written: after close its number may belong to another file
	fd int        // an eventfd; -1 when closed
}

func (b *bell) open(p *poller) error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	b.fd = fd
	// Edge-triggered, it is an event at each write, and never has to be read.
	if err := p.add(fd, ofBell, edge|unix.EPOLLIN); err != nil {
		b.close()
		return err
	}
	return nil
}

// ring wakes the loop, or keeps it from sleeping. Any goroutine may call it, at any time.
func (b *bell) ring() {
	b.rung.Store(true)
	if !b.asleep.CompareAndSwap(true, false) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd >= 0 {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(b.fd, one[:])
	}
}

// sleep is called before the loop waits; false if it must not wait. rise is called after the wait.
func (b *bell) sleep() bool {
	b.asleep.Store(true)
	if b.rung.Load() {
		b.asleep.Store(false)
		return false
	}
	return true
}

func (b *bell) rise() { b.asleep.Store(false) }

// heard tells whether it was rung since the last call.
func (b *bell) heard() bool { return b.rung.Load() && b.rung.Swap(false) }

func (b *bell) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = unix.Close(b.fd)
	b.fd = -1
}
