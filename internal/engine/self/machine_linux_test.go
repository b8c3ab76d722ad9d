package self

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report/record"
)

// thread is a client of this process with this thread.
type thread int

func (t thread) Thread() int { return int(t) }

// spin keeps the calling thread busy until it has had so much CPU time, by its own clock.
func spin(t *testing.T, d time.Duration) {
	var begun, now syscall.Rusage
	for x, rounds := 1.0, 0; ; rounds++ {
		if err := syscall.Getrusage(1, &now); err != nil { // RUSAGE_THREAD
			t.Error(err)
			return
		}
		if rounds == 0 {
			begun = now
		}
		if now.Utime.Nano()+now.Stime.Nano()-begun.Utime.Nano()-begun.Stime.Nano() >= int64(d) {
			return
		}
		for range 10_000 {
			x = math.Sqrt(x + 1)
		}
	}
}

// TestMeter: what the threads of a shard do is in the figures of the process and of shards, and of the worst one.
func TestMeter(t *testing.T) {
	const work = 200 * time.Millisecond
	tid, begin, end := make(chan int), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		tid <- syscall.Gettid()
		<-begin
		spin(t, work)
		end <- struct{}{}
		<-begin // a thread that is gone has no figures
	}()
	defer close(begin)
	start := time.Now()
	shards := []Threaded{thread(<-tid), thread(0)}
	m := NewMeter(func() int64 { return int64(time.Since(start)) }, shards, 0, runtime.GOMAXPROCS(0))
	defer m.Close()
	begin <- struct{}{}
	<-end
	runtime.GC()
	s := m.Beat()
	least := int64(work) * 9 / 10 // the scheduler's account may be a tick behind
	if s.CPU.Sum < least || s.Shard.Sum < least || s.CPU.Of != s.Wall*int64(runtime.GOMAXPROCS(0)) || s.Shard.Of != s.Wall {
		t.Errorf("%v of work: %+v", work, s)
	}
	if s.Wall < s.Shard.Sum*9/10 || s.Collections < 1 || !s.Pause.Known() || !s.Wait.Known() || !s.ShardWait.Known() {
		t.Errorf("%+v", s)
	}
	if idle := m.Beat(); idle.Shard.Sum > least/2 {
		t.Errorf("of a thread that did nothing: %+v", idle.Shard)
	}
}

// TestMeterWaits: threads that share one core wait for it, and the one that waits longest is the worst.
func TestMeterWaits(t *testing.T) {
	tids, begin, end, leave := make(chan int), make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(leave)
	const threads = 2
	for range threads {
		go func() {
			runtime.LockOSThread() // and so the thread ends with the goroutine: its core is nobody else's
			onFirstCore(t)
			tids <- syscall.Gettid()
			<-begin
			spin(t, 100*time.Millisecond)
			end <- struct{}{}
			<-leave
		}()
	}
	var shards []Threaded
	for range threads {
		shards = append(shards, thread(<-tids))
	}
	start := time.Now()
	m := NewMeter(func() int64 { return int64(time.Since(start)) }, shards, 0, runtime.GOMAXPROCS(0))
	defer m.Close()
	close(begin)
	for range threads {
		<-end
	}
	s := m.Beat()
	mean := float64(s.ShardWait.Sum) / float64(s.ShardWait.Of)
	if s.ShardWait.Sum < int64(50*time.Millisecond) || float64(s.ShardWait.Worst) < mean*1e9-1 {
		t.Errorf("%+v", s.ShardWait)
	}
}

// onFirstCore binds the calling thread to the first core that it may use.
func onFirstCore(t *testing.T) {
	var all, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Error(err)
		return
	}
	core := 0
	for !all.IsSet(core) {
		core++
	}
	first.Set(core)
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		t.Error(err)
	}
}

// threadsNow is how many threads this process has.
func threadsNow(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}

// TestMeterOfSimulation: in virtual time there is nothing to measure.
func TestMeterOfSimulation(t *testing.T) {
	m := NewMeter(func() int64 { return 0 }, nil, 0, 1)
	if m != nil {
		t.Fatal("a meter of a client that is not of this process")
	}
	if s := m.Beat(); s != (record.Self{}) {
		t.Errorf("%+v", s)
	}
	m.Close()
}

// TestMeterStaysFlat: a thread that ends is forgotten with its file, and a beat leaves nothing behind.
func TestMeterStaysFlat(t *testing.T) {
	m := NewMeter(func() int64 { return 0 }, []Threaded{thread(0)}, 0, 1)
	defer m.Close()
	for range 20 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread() // it ends with the goroutine
			m.Beat()
		}()
		<-ended
	}
	await.True(t, "the end of these threads to be known", func() bool {
		m.Beat()
		return len(m.machine.tasks) == threadsNow(t)
	})
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		line string
		ok   bool
		want [2]int64
	}{
		{"12 345 6\n", true, [2]int64{12, 345}},
		{"  12  345\n", true, [2]int64{12, 345}},
		{"12 345", false, [2]int64{12, 0}}, // cut off
		{"12\n", false, [2]int64{12, 0}},
		{"", false, [2]int64{}},
		{"x 1\n", false, [2]int64{}},
	} {
		var got [2]int64
		if ok := numbers([]byte(c.line), got[:]); ok != c.ok || got != c.want {
			t.Errorf("%q: %v %v, want %v %v", c.line, ok, got, c.ok, c.want)
		}
	}
}

func BenchmarkBeat(b *testing.B) {
	m := NewMeter(func() int64 { return 0 }, []Threaded{thread(0)}, 0, 1)
	defer m.Close()
	for b.Loop() {
		m.Beat()
	}
	b.ReportMetric(float64(len(m.machine.tasks)), "threads")
}

// TestWakeUpsAreNoWait: what the kernel counts for each time a thread is woken is taken off, and never more than
// there is.
func TestWakeUpsAreNoWait(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	task, buf := task{file: file}, make([]byte, 512)
	for _, c := range []struct{ run, wait, slices, ran, waits int64 }{
		{1_000_000, 400_000, 10, 1_000_000, 300_000},
		{301_000_000, 200_400_000, 50_010, 300_000_000, 0}, // an idle core, 50,000 turns
		{401_000_000, 400_400_000, 51_010, 100_000_000, 190_000_000},
		{401_000_000, 400_400_000, 51_010, 0, 0},
	} {
		if _, err := file.WriteAt(fmt.Appendf(nil, "%d %d %d\n", c.run, c.wait, c.slices), 0); err != nil {
			t.Fatal(err)
		}
		if !task.read(buf) || task.ran != c.ran || task.waits != c.waits {
			t.Errorf("%+v: ran %d, waits %d", c, task.ran, task.waits)
		}
	}
}
