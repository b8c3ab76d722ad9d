//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The bytes of an answer of server-sent events. Each event is a chunk, of the size that events of language models have.
const (
	eventsHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	eventsEnd  = "0\r\n\r\n"
	eventData  = `data: {"id":"chatcmpl-4711","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"logprobs":null,"finish_reason":null}]}` + "\n\n"
)

// A wheel sends the events of many answers, each at a pace of one event a gap. It has a slot for each tick of a gap, and
// each answer has its place in one of them. Places are spread evenly, however the requests came: so each client gets the
// same load.
type wheel struct {
	slots  [][]int     // descriptors
	left   map[int]int // events that are still to be sent
	events int         // of an answer
	chunk  []byte
	placed int // answers so far
	turned int64
	began  time.Time
	unsent int // events for which a connection had no room
}

// tick is the time between two slots.
const tick = 100 * time.Microsecond

func newWheel(events int, gap time.Duration) *wheel {
	return &wheel{
		slots: make([][]int, max(1, gap/tick)), left: map[int]int{}, events: events,
		chunk: fmt.Appendf(nil, "%x\r\n%s\r\n", len(eventData), eventData), began: time.Now(),
	}
}

// begin begins an answer. Its first event is due within a gap. What was due before is not: the wheel stands still without
// answers.
func (w *wheel) begin(l *loop, fd int) {
	w.turn(l)
	l.send(fd, []byte(eventsHead))
	const golden = 0.6180339887498949 // multiples of it are spread evenly in [0, 1)
	at := float64(w.placed) * golden
	slot := int((at - float64(int(at))) * float64(len(w.slots)))
	w.placed++
	w.slots[slot] = append(w.slots[slot], fd)
	w.left[fd] = w.events
}

// forget ends the answer of a connection that was closed.
func (w *wheel) forget(fd int) {
	if _, open := w.left[fd]; !open {
		return
	}
	delete(w.left, fd)
	for i, slot := range w.slots {
		w.slots[i] = slices.DeleteFunc(slot, func(other int) bool { return other == fd })
	}
}

// turn sends all events that are due.
func (w *wheel) turn(l *loop) {
	for due := int64(time.Since(w.began) / tick); w.turned < due; w.turned++ {
		slot := &w.slots[w.turned%int64(len(w.slots))]
		kept := (*slot)[:0]
		for _, fd := range *slot {
			l.arrived(l.now())
			w.send(fd, w.chunk)
			if w.left[fd]--; w.left[fd] > 0 {
				kept = append(kept, fd)
				continue
			}
			delete(w.left, fd)
			w.send(fd, []byte(eventsEnd))
		}
		*slot = kept
	}
}

// send writes to a connection.
func (w *wheel) send(fd int, b []byte) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	if errno == unix.EAGAIN || errno == 0 && int(n) < len(b) {
		w.unsent++
	}
}
