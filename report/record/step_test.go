package record_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

// Steps have the counts and latencies of their requests, in a recorder, a snapshot, a merge, and after a journey.
func TestSteps(t *testing.T) {
	rec := record.NewRecorder("pay", "list", "pay")
	rng := rand.New(rand.NewPCG(1, 2))
	want := map[string]*record.Histogram{"pay": record.NewHistogram(), "list": record.NewHistogram()}
	sum := record.NewSnapshot("w", "1")
	for i := range 30_000 {
		step, name := i%3, []string{"pay", "list", "pay"}[i%3]
		latency := int64(math.Exp(rng.Float64() * math.Log(3.6e12)))
		s := record.Finished{Done: latency, Step: step}
		if i%5 == 0 {
			s.Class = "status"
		}
		rec.Sent()
		rec.StepSent(step)
		rec.Done(s)
		want[name].Record(latency)
		if i%1000 == 999 {
			rec.LateDropped(1)
			rec.StepLate(1)
			sum.Record(rec)
			rec.Reset()
		}
	}
	text, err := sum.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	back := new(record.Snapshot)
	if err := back.UnmarshalBinary(text); err != nil {
		t.Fatal(err)
	}
	twice := record.NewSnapshot("all", "1")
	twice.Merge(sum)
	twice.Merge(back)
	for name, each := range map[string]int64{"pay": 20_000, "list": 10_000} {
		s := twice.Steps[name]
		if s.Sent != 2*each || s.Completed+s.Failed != 2*each || s.Failed != 2*each/5 || s.Errors["status"] != s.Failed {
			t.Errorf("%s: %+v", name, s)
		}
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
			if got, want := s.Latency.Quantile(q), want[name].Quantile(q); got != want || back.Steps[name].Latency.Quantile(q) != want {
				t.Errorf("%s: quantile %v is %d, want %d", name, q, got, want)
			}
		}
	}
	if n := twice.Steps["list"].LateDropped; n != 60 || twice.Counts.LateDropped != 60 {
		t.Errorf("%d dropped late", n)
	}
	times := record.NewSnapshot("", "")
	times.TakeTimes(twice)
	if n := times.Steps["pay"].Latency.Count(); n != 40_000 || twice.Steps["pay"].Latency.Count() != 0 || twice.Steps["pay"].Sent != 40_000 {
		t.Errorf("%d times taken", n)
	}
	sum.Reset()
	if len(sum.Steps) != 0 {
		t.Error(sum.Steps)
	}
}

// Steps beyond the limit are pooled, whoever meets them first.
func TestStepsArePooled(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint("s", i))
	}
	rec := record.NewRecorder(names...)
	for i := range names {
		rec.StepSent(i)
	}
	one := record.NewSnapshot("w", "1")
	one.Record(rec)
	if len(one.Steps) != record.MaxSteps+1 || one.Steps[record.OtherStep].Sent != 68 || one.Steps["s31"].Sent != 1 {
		t.Errorf("%d steps, %+v", len(one.Steps), one.Steps[record.OtherStep])
	}
	other := record.NewSnapshot("v", "1")
	for i := range 40 {
		other.Step(fmt.Sprint("t", i)).Sent++
	}
	one.Merge(other)
	if len(one.Steps) != record.MaxSteps+1 || one.Steps[record.OtherStep].Sent != 68+40 {
		t.Errorf("%d steps, %+v", len(one.Steps), one.Steps[record.OtherStep])
	}
}

// A damaged or hostile snapshot is refused with one line.
func TestBadSteps(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf(`"s%d": {}`, i))
	}
	for steps, want := range map[string]string{
		`"a": null`:                                               "is empty",
		`"a": {"sent": -1}`:                                       "count sent = -1",
		`"a": {"errors": {"x": -1}}`:                              "count errors = -1",
		`"` + strings.Repeat("a", 70) + `": {}`:                   "step of 70 bytes",
		strings.Join(many, ","):                                   "40 steps, more than 33",
		`"a": {"latency": "x"}`:                                   "histogram",
		`"a": {"completed": 90071992547409930}`:                   "count completed",
		`"a": {"errors": {"` + strings.Repeat("x", 65) + `": 1}}`: "class of 65 bytes",
	} {
		err := new(record.Snapshot).UnmarshalBinary([]byte(`{"v": 1, "worker": "w", "incarnation": "i", "seq": 1, "steps": {` + steps + `}}`))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40s: %v, want %s", steps, err, want)
		}
	}
	fine := new(record.Snapshot)
	if err := fine.UnmarshalBinary([]byte(`{"v": 1, "worker": "w", "incarnation": "i", "seq": 1, "steps": {"a": {}}}`)); err != nil {
		t.Fatal(err)
	}
	fine.Merge(fine) // nothing in it is nil
}

// 32 steps whose latencies are anywhere between 1 µs and 10 s take less than 40 MiB: two recorders, as a shard has, and
// three snapshots, as a worker has. Recording allocates nothing.
func TestStepsMemory(t *testing.T) {
	var names []string
	for i := range record.MaxSteps {
		names = append(names, fmt.Sprint("s", i))
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	recorders := []*record.Recorder{record.NewRecorder(names...), record.NewRecorder(names...)}
	snapshots := []*record.Snapshot{record.NewSnapshot("a", "1"), record.NewSnapshot("b", "1"), record.NewSnapshot("c", "1")}
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func() {
		for _, rec := range recorders {
			for i := range 100_000 {
				rec.Done(record.Finished{Done: int64(1e3 * math.Exp(rng.Float64()*math.Log(1e7))), Step: i % record.MaxSteps})
			}
			for _, s := range snapshots {
				s.Record(rec)
			}
			rec.Reset()
		}
	}
	fill()
	used := heap() - before
	t.Logf("%.1f MiB", float64(used)/(1<<20))
	if used > 40<<20 {
		t.Errorf("%d bytes", used)
	}
	n := testing.AllocsPerRun(100, func() { recorders[0].Done(record.Finished{Done: 5_000_000, Step: 3}) })
	if n != 0 {
		t.Errorf("%v allocations a request", n)
	}
	runtime.KeepAlive(snapshots)
}
