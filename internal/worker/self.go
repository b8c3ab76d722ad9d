package worker

import (
	"runtime/debug"

	"github.com/loadctl/loadctl/report"
)

// onThread is a Client that fires from this process, and not in virtual time. Thread is the id of the thread that is kept for the
// goroutine calling Poll, 0 if there is none. Any goroutine may call it.
type onThread interface{ Thread() int }

// Thread implements onThread: the goroutines of an Adapter run on any.
func (a *Adapter) Thread() int { return 0 }

// meter measures what the process gets from the machine. It is used by one goroutine.
//
// All figures are differences between two readings of counters, so nothing is missed between them. A counter that a system has not is
// left out, which is not zero.
type meter struct {
	now    func() int64
	shards []onThread
	tardy  int64 // as in shard
	cores  int64 // that the process may use

	at      int64
	cpu     int64 // CPU time of the process, ns; -1 = not known
	gc      debug.GCStats
	machine machine
}

// newMeter returns nil where the clients are none that measuring the process would tell of.
func newMeter(now func() int64, shards []*shard, cores int) *meter {
	m := &meter{now: now, cores: int64(cores)}
	for _, s := range shards {
		m.tardy = s.tardy // the same of all
		if c, ok := s.client.(onThread); ok {
			m.shards = append(m.shards, c)
		}
	}
	if len(m.shards) == 0 {
		return nil
	}
	m.machine.open()
	m.beat() // what was before is not of the first one
	return m
}

// beat is what was measured since the last call. It takes some 20 µs. Of a nil meter it is the zero Self.
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

// close frees what the meter reads from.
func (m *meter) close() {
	if m != nil {
		m.machine.close()
	}
}
