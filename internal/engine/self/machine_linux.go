package self

import (
	"bytes"
	"os"
	"strconv"

	"github.com/loadctl/loadctl/report/record"
)

// tick is the unit of /proc/stat, ns: USER_HZ is 100 on all systems that Go runs on.
const tick = 10_000_000

// wakeUp is the cost of one wake-up in a thread's wait time, ns. The kernel counts the time between waking a thread
// and running it. That is some µs even on an idle core: at 50,000 turns a second it would look like a core that is
// hard to get. If threads do compete for a core, each wait is 100 µs or more.
const wakeUp = 10_000

// machine reads what Linux reports of threads and of the machine. Files stay open, as opening one takes longer than
// reading it.
type machine struct {
	list  *os.File         // /proc/self/task; nil if there is none
	stat  *os.File         // /proc/stat; nil if there is none
	tasks map[string]*task // by id
	known bool             // tasks were read before
	total int64            // ticks of the machine: all cores, all states
	steal int64            // those taken by the hypervisor
	buf   []byte
}

// task is one thread.
type task struct {
	file              *os.File
	run, wait, slices int64 // ns, ns, and how many times it began to run, at the last reading
	ran, waits        int64 // since the reading before; waits without the cost of wake-ups
}

func (m *machine) open() {
	m.list, _ = os.Open("/proc/self/task") // without them there is nothing to report
	m.stat, _ = os.Open("/proc/stat")
	m.tasks = map[string]*task{}
	m.buf = make([]byte, 512)
}

func (m *machine) close() {
	_, _ = m.list.Close(), m.stat.Close() // nil files may be closed too
	for _, t := range m.tasks {
		_ = t.file.Close()
	}
}

// measure fills in the loads that only Linux reports.
func (m *machine) measure(s *record.Self, shards []Threaded) {
	total, steal := m.total, m.steal
	if m.readStat() && total > 0 {
		s.Steal = record.NewLoad((m.steal-steal)*tick, (m.total-total)*tick)
	}
	known := m.known
	if m.known = m.readTasks(); !known || !m.known {
		return
	}
	var wait int64
	for _, t := range m.tasks {
		wait += t.waits
	}
	s.Wait = record.NewLoad(wait, s.Wall*s.Cores)
	m.measureShards(s, shards)
}

// measureShards adds up the threads of shards. The worst of them is the worst of the beat.
func (m *machine) measureShards(s *record.Self, shards []Threaded) {
	var n, ran, waits int64
	var worstRan, worstWaits record.Load
	for _, c := range shards {
		t := m.tasks[strconv.Itoa(c.Thread())]
		if t == nil {
			continue
		}
		n, ran, waits = n+1, ran+t.ran, waits+t.waits
		if l := record.NewLoad(t.ran, s.Wall); l.Worst > worstRan.Worst {
			worstRan = l
		}
		if l := record.NewLoad(t.waits, s.Wall); l.Worst > worstWaits.Worst {
			worstWaits = l
		}
	}
	s.Shard, s.ShardWait = record.NewLoad(ran, n*s.Wall), record.NewLoad(waits, n*s.Wall)
	s.Shard.Worst, s.ShardWait.Worst = worstRan.Worst, worstWaits.Worst
}

// readTasks reads all threads. It forgets threads that are gone, with their last figures. It returns false if the
// kernel does not count: then each line is zeros.
func (m *machine) readTasks() (counts bool) {
	if _, err := m.list.Seek(0, 0); err != nil {
		return false
	}
	ids, err := m.list.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, id := range ids {
		if m.tasks[id] == nil {
			if f, err := os.Open("/proc/self/task/" + id + "/schedstat"); err == nil {
				m.tasks[id] = &task{file: f}
			}
		}
	}
	for id, t := range m.tasks {
		if !t.read(m.buf) {
			_ = t.file.Close()
			delete(m.tasks, id)
		}
		counts = counts || t.run > 0
	}
	return counts
}

// read reads the line of a thread: ns that it ran, ns that it waited to run, and how many times it ran.
func (t *task) read(buf []byte) bool {
	var f [3]int64
	if n, _ := t.file.ReadAt(buf, 0); !numbers(buf[:n], f[:]) {
		return false
	}
	t.ran, t.waits = f[0]-t.run, max(0, f[1]-t.wait-wakeUp*(f[2]-t.slices))
	t.run, t.wait, t.slices = f[0], f[1], f[2]
	return true
}

// readStat reads the machine's line: "cpu" and the ticks in user, nice, system, idle, iowait, irq, softirq, steal.
// Guests are in the first two.
func (m *machine) readStat() bool {
	n, _ := m.stat.ReadAt(m.buf, 0)
	line, ok := bytes.CutPrefix(m.buf[:n], []byte("cpu "))
	var f [8]int64
	if !ok || !numbers(line, f[:]) {
		return false
	}
	m.total, m.steal = 0, f[7]
	for _, ticks := range f {
		m.total += ticks
	}
	return true
}

// numbers reads the first len(into) numbers of a line.
func numbers(line []byte, into []int64) bool {
	for i := range into {
		line = bytes.TrimLeft(line, " ")
		end := bytes.IndexAny(line, " \n")
		if end < 0 {
			return false
		}
		n, err := strconv.ParseInt(string(line[:end]), 10, 64)
		if err != nil {
			return false
		}
		into[i], line = n, line[end:]
	}
	return true
}
