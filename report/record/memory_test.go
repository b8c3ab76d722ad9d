package record_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report/record"
)

// I12: the memory of a worker does not grow with requests or time.
func TestMemoryIsConstant(t *testing.T) {
	const perInterval = 100
	intervals := int64(10_000) // 1e6 samples
	if await.RaceEnabled || testing.Short() {
		intervals = 2_000 // the detector is slow on arrays, and nothing here is shared
	}
	rng := rand.New(rand.NewPCG(12, 12))
	pool := samples(rng, 5_000) // the hostile mix: every bucket comes into use
	rec, part, total := record.NewRecorder(), record.NewSnapshot("w", "i"), record.NewSnapshot("w", "i")
	var series record.Series

	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var early int64
	for i := range intervals {
		for range perInterval {
			feed(rec, pool[rng.IntN(len(pool))])
		}
		part.Reset()
		part.Record(rec)
		rec.Reset()
		total.Merge(part)
		series.Add(i*1e6, part)
		if i == intervals/5 {
			early = heap()
		}
	}
	late := heap()
	// The points of the series still fill up. The bound is 1,024 points of at most 3,456 buckets; this mix uses a part
	// of it.
	if late-early > 8<<20 {
		t.Errorf("heap grew from %d to %d kB", early>>10, late>>10)
	}
	if n := len(series.Points()); n > record.MaxPoints {
		t.Errorf("%d points", n)
	}
	if total.Counts.Sent != intervals*perInterval {
		t.Errorf("sent %d", total.Counts.Sent)
	}
	runtime.KeepAlive(rec)
}
