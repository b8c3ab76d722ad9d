// Package self measures what this process gets from its machine: CPU time, pauses of the collector, and how long its
// threads wait for a core.
//
//	m := self.NewMeter(clock.Now, clients, tardy, runtime.GOMAXPROCS(0))
//	defer m.Close()
//	load := m.Beat() // since the last call
package self

import (
	"runtime/debug"

	"github.com/loadctl/loadctl/report/record"
)

// Threaded is a client that sends from this process, and not in virtual time. Thread returns the id of the thread
// that is kept for the goroutine calling Poll, or 0 if there is none. Any goroutine may call it.
type Threaded interface{ Thread() int }

// Meter measures what the process gets from the machine. One goroutine uses it.
//
// All figures are differences between two readings of counters, so nothing is missed. A counter that a system does
// not have is left out. That is not zero.
type Meter struct {
	now     func() int64
	clients []Threaded
	tardy   int64
	cores   int64

	at      int64
	cpu     int64 // CPU time of the process, ns; -1 = unknown
	gc      debug.GCStats
	machine machine
}

// NewMeter returns a Meter of the threads of these clients; nil if there are none. now is a clock, ns. cores are those
// that the process may use. tardy is the lateness above which a slot counts as seen late, ns.
func NewMeter(now func() int64, clients []Threaded, tardy int64, cores int) *Meter {
	if len(clients) == 0 {
		return nil
	}
	m := &Meter{now: now, clients: clients, tardy: tardy, cores: int64(cores)}
	m.machine.open()
	m.Beat() // the first beat begins here
	return m
}

// Beat returns what was measured since the last call. It takes about 20 µs. A nil Meter returns the zero Self.
func (m *Meter) Beat() record.Self {
	if m == nil {
		return record.Self{}
	}
	before, cpuBefore, gcBefore, pausedBefore := m.at, m.cpu, m.gc.NumGC, m.gc.PauseTotal
	m.at, m.cpu = m.now(), cpuTime()
	debug.ReadGCStats(&m.gc)
	s := record.Self{Wall: m.at - before, Cores: m.cores, Collections: m.gc.NumGC - gcBefore, Tardy: m.tardy}
	if m.cpu >= 0 && cpuBefore >= 0 {
		s.CPU = record.NewLoad(m.cpu-cpuBefore, s.Wall*s.Cores)
	}
	s.Pause = record.NewLoad(int64(m.gc.PauseTotal-pausedBefore), s.Wall)
	m.machine.measure(&s, m.clients)
	return s
}

// Close closes the files that the meter reads.
func (m *Meter) Close() {
	if m != nil {
		m.machine.close()
	}
}
