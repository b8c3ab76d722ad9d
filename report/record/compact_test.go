package record_test

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

// compactOf returns a Compact of these values.
func compactOf(values ...int64) *record.Compact {
	c := record.NewCompact()
	for _, v := range values {
		c.Histogram().Record(v)
	}
	return c
}

// TestCompactCodec asserts that decoding returns what was encoded, whatever the values.
func TestCompactCodec(t *testing.T) {
	all := map[string]*record.Compact{
		"none":      record.NewCompact(),
		"zero":      compactOf(0),
		"highest":   compactOf(record.HighestNS),
		"far apart": compactOf(0, 1, record.HighestNS, record.HighestNS/2, record.HighestNS/2),
		"many":      record.NewCompact(),
	}
	for range 44 { // 2^44 and more of a kind
		all["many"].Merge(all["many"])
		all["many"].Histogram().Record(5 * ms)
	}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 40))
		all[fmt.Sprint("seed ", seed)] = compactOf(reporttest.Durations(rng, 1+rng.IntN(3000))...)
	}
	for name, c := range all {
		text, err := c.MarshalText()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back record.Compact
		if err := back.UnmarshalText(text); err != nil {
			t.Fatalf("%s: %q: %v", name, text, err)
		}
		equal(t, name, back.Histogram(), c.Histogram())
	}
}

// FuzzCompactUnmarshal asserts that a text from anybody is refused, or is that of a histogram that can be written.
func FuzzCompactUnmarshal(f *testing.F) {
	for _, c := range []*record.Compact{record.NewCompact(), compactOf(0), compactOf(5*ms, 6*ms, 6*ms, record.HighestNS)} {
		text, err := c.MarshalText()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("AAAA"))
	f.Add([]byte("////////////////"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c record.Compact
		if c.UnmarshalText(text) != nil {
			return
		}
		again, err := c.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back record.Compact
		if err := back.UnmarshalText(again); err != nil {
			t.Fatal(err)
		}
		equal(t, "once more", back.Histogram(), c.Histogram())
	})
}

// TestCompactRefuses asserts that any bytes are an error, or a histogram with at most 2^53 values.
func TestCompactRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	refused := 0
	for range 3000 {
		data := make([]byte, rng.IntN(200))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		var c record.Compact
		if c.UnmarshalText([]byte(base64.StdEncoding.EncodeToString(data))) != nil {
			refused++
		} else if c.Count() < 0 || c.Count() > record.MaxCount {
			t.Errorf("%d values", c.Count())
		}
	}
	if refused < 100 {
		t.Errorf("%d of 3000 were refused", refused)
	}
}

// TestPhasesGrowSnapshotsLittle asserts that first bytes and connections add at most 15 % to what a worker publishes:
// to an interval and to the sum of a minute.
func TestPhasesGrowSnapshotsLittle(t *testing.T) {
	for _, steps := range []int{0, 5} {
		for _, qps := range []int{500, 10_000} {
			for _, seconds := range []int{1, 60} {
				with, without := published(t, steps, qps, seconds, true), published(t, steps, qps, seconds, false)
				grown := float64(with)/float64(without) - 1
				t.Logf("%5d requests/s for %2d s, %d steps: %6d bytes, with phases %6d, %4.1f %% more", qps, seconds, steps, without, with, 100*grown)
				if grown > 0.15 {
					t.Errorf("%d requests/s for %d s, %d steps: phases add %.1f %%", qps, seconds, steps, 100*grown)
				}
			}
		}
	}
}

// published returns the size of the snapshot of a worker after some seconds. Answers take 5 ms in the median, and come
// in parts, so that first bytes do not follow from the service times.
func published(t *testing.T, steps, qps, seconds int, phases bool) int {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	names := make([]string, steps)
	for i := range names {
		names[i] = fmt.Sprint("step-", i)
	}
	rec, s := record.NewRecorder(names...), record.NewSnapshot("worker-1", "a1b2c3d4")
	for range seconds {
		for i := range qps {
			lag, service := int64(50_000*rng.ExpFloat64()), int64(5e6*math.Exp(0.5*rng.NormFloat64()))
			one := record.Finished{Sent: lag, Done: lag + service, Status: 200, BytesIn: 100, BytesOut: 100, Step: i % max(steps, 1)}
			first := lag + int64(float64(service)*(0.6+0.3*rng.Float64()))
			if phases {
				one.First, one.Reused = first, i > 0
			}
			rec.Sent()
			rec.StepSent(one.Step)
			rec.Done(one)
		}
		if phases {
			rec.LookedUp(300_000)
			rec.Connected(200_000)
			rec.Secured(2 * ms)
			rec.ClosedByServer()
		}
		s.Record(rec)
		rec.Reset()
		s.Self = measured(int64(seconds))
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// measured returns what a worker at work measures of itself.
func measured(seconds int64) record.Self {
	wall := seconds * 1_000_123_456
	load := func(sum int64) record.Load { return record.NewLoad(seconds*sum, 2*wall) }
	return record.Self{
		Wall: wall, Cores: 2, Collections: seconds, CPU: load(245_123_987), Wait: load(3_123_456), Shard: load(201_345_678),
		ShardWait: load(1_234_567), Pause: load(123_456), Steal: load(0), Demand: load(345_678_901), Tardy: 1_000_000,
	}
}
