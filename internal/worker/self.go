package worker

import (
	"runtime/debug"

	"github.com/loadctl/loadctl/report"
)

// onThread is a Client that sends from this process, and not in virtual time. Thread returns the id of the thread
// that is kept for the goroutine calling Poll, or 0 if there is none. Any goroutine may call it.
type onThread interface{ Thread() int }

// Thread implements onThread: the goroutines of an Adapter run on any thread.
func (a *Adapter) Thread() int { return 0 }

// meter measures what the process gets from the machine. One goroutine uses it.
//
// All figures are differences between two readings of counters, so nothing is missed. A counter that a system does
// not have is left out. That is not zero.
type meter struct {
	now    func() int64
	shards []onThread
	tardy  int64 // as in shard
	cores  int64 // that the process may use

	at      int64
	cpu     int64 // CPU time of the process, ns; -1 = unknown
	gc      debug.GCStats
	machine machine
}

// newMeter returns nil if no client sends from this process.
func newMeter(now func() int64, shards []*shard, cores int) *meter {
	m := &meter{now: now, cores: int64(cores)}
	for _, s := range shards {
		m.tardy = s.tardy // the same for all
		if c, ok := s.client.(onThread); ok {
			m.shards = append(m.shards, c)
		}
	}
	if len(m.shards) == 0 {
		return nil
	}
	m.machine.open()
	m.beat() // the first beat begins here
	return m
}

// beat returns what was measured since the last call. It takes about 20 µs. A nil meter returns the zero Self.
func (m *meter) beat() report.Self {
	if m == nil {
		return report.Self{}
	}
	before, cpuBefore, gcBefore, pausedBefore := m.at, m.cpu, m.gc.NumGC, m.gc.PauseTotal
	m.at, m.cpu = m.now(), cpuTime()
	debug.ReadGCStats(&m.gc)
	s := report.Self{Wall: m.at - before, Cores: m.cores, Collections: m.gc.NumGC - gcBefore, Tardy: m.tardy}
	if m.cpu >= 0 && cpuBefore >= 0 {
		s.CPU = report.NewLoad(m.cpu-cpuBefore, s.Wall*s.Cores)
	}
	s.Pause = report.NewLoad(int64(m.gc.PauseTotal-pausedBefore), s.Wall)
	m.machine.measure(&s, m.shards)
	return s
}

// close closes the files that the meter reads.
func (m *meter) close() {
	if m != nil {
		m.machine.close()
	}
}
