package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

func TestRecorderMeasures(t *testing.T) {
	rec := record.NewRecorder()
	const ms = 1_000_000
	rec.Sent()
	rec.Sent()
	rec.Sent()
	rec.LateDropped(2)
	rec.Recalled(3)
	rec.Ungranted(6)
	rec.Done(record.Finished{Due: 0, Sent: 2 * ms, Done: 10 * ms, Status: 200, BytesIn: 100, BytesOut: 10})
	rec.Done(record.Finished{Due: 0, Sent: 1 * ms, Done: 50 * ms, Status: 503, Class: "status", BytesIn: 5, BytesOut: 10})

	s := record.NewSnapshot("w", "i")
	s.Record(rec)
	want := record.Counts{Sent: 3, LateDropped: 2, Recalled: 3, Ungranted: 6,
		Completed: 1, Failed: 1, BytesIn: 105, BytesOut: 20}
	if s.Counts != want {
		t.Errorf("counts %+v, want %+v", s.Counts, want)
	}
	if s.InFlight() != 1 {
		t.Errorf("in flight %d, want 1", s.InFlight())
	}
	if s.Status[200] != 1 || s.Status[503] != 1 || len(s.Status) != 2 {
		t.Errorf("status %v", s.Status)
	}
	for _, h := range []struct {
		name     string
		h        *record.Histogram
		count    int64
		min, max int64
	}{
		{"latency", s.Latency, 2, 10 * ms, 50 * ms}, // failed ones too
		{"service time", s.Service, 2, 8 * ms, 49 * ms},
		{"lag", s.Lag, 2, 1 * ms, 2 * ms},
		{"latency of the class", s.Errors["status"].Latency, 1, 50 * ms, 50 * ms},
	} {
		if h.h.Count() != h.count || !near(h.h.Min(), h.min) || !near(h.h.Max(), h.max) {
			t.Errorf("%s: %d values in %d…%d, want %d in %d…%d",
				h.name, h.h.Count(), h.h.Min(), h.h.Max(), h.count, h.min, h.max)
		}
	}
}

// near says that got is want to 3 significant digits.
func near(got, want int64) bool {
	return got >= want-want/1000-512 && got <= want+want/1000+512
}

func TestRecorderOutOfRange(t *testing.T) {
	rec := record.NewRecorder()
	rec.Done(record.Finished{Due: 0, Sent: 100, Done: record.HighestNS + 1_000_000, Class: "timeout"}) // latency and service time
	rec.Done(record.Finished{Due: 500, Sent: 100, Done: 400})                                          // clock granularity: negative
	s := record.NewSnapshot("w", "i")
	s.Record(rec)
	if s.Counts.OutOfRange != 2 {
		t.Errorf("out of range %d, want 2", s.Counts.OutOfRange)
	}
	if s.Latency.Count() != 1 || s.Latency.Min() != 0 || s.Lag.Count() != 2 {
		t.Errorf("latency %d values, lag %d, want 1 and 2", s.Latency.Count(), s.Lag.Count())
	}
	if e := s.Errors["timeout"]; e.Count != 1 || e.Latency.Count() != 0 {
		t.Errorf("class: count %d, latency %d values; want 1 and 0", e.Count, e.Latency.Count())
	}
}

func TestRecorderBoundsStatusAndClasses(t *testing.T) {
	rec := record.NewRecorder()
	for i := range 5_000 {
		rec.Done(record.Finished{Status: i - 1_000, Class: fmt.Sprint("class ", i)})
	}
	rec.Done(record.Finished{Class: strings.Repeat("x", record.MaxClassBytes+1)})
	s := record.NewSnapshot("w", "i")
	s.Record(rec)
	s.Record(rec)
	if len(s.Errors) != record.MaxClasses+1 || s.Errors[record.OtherClass].Count != 2*(5_001-record.MaxClasses) {
		t.Errorf("%d classes, %d pooled", len(s.Errors), s.Errors[record.OtherClass].Count)
	}
	if len(s.Status) != record.StatusCodes || s.Status[record.OtherStatus] != 2*4_000 { // 999 codes and the pool
		t.Errorf("%d codes, %d pooled", len(s.Status), s.Status[record.OtherStatus])
	}
}

func TestRecorderReset(t *testing.T) {
	rec := record.NewRecorder()
	for i := range int64(100) {
		rec.Sent()
		rec.Done(record.Finished{Due: 0, Sent: i, Done: i * 1_000_000, Status: 2_000 * int(i%2), Class: "c"})
	}
	rec.Reset()
	s := record.NewSnapshot("w", "i")
	s.Record(rec)
	if s.Counts != (record.Counts{}) || s.Latency.Count()+s.Service.Count()+s.Lag.Count() != 0 ||
		len(s.Status)+len(s.Errors) != 0 {
		t.Errorf("after Reset: %+v", s)
	}
}

func TestRecorderDoesNotAllocate(t *testing.T) {
	rec := record.NewRecorder()
	classes := []string{"", "timeout", "connect"}
	var i int64
	turn := func() {
		i++
		rec.Sent()
		rec.LateDropped(1)
		rec.Done(record.Finished{Due: i, Sent: i + 1_000, Done: i * 1_000_003, First: i * 900_001, Status: 200, Class: classes[i%3]})
		rec.Done(record.Finished{Due: 0, Sent: 0, Done: 2 * record.HighestNS, Status: 9_999}) // out of range
		if i%100 == 0 {
			rec.Reset()
		}
	}
	for range 10 {
		turn() // classes are made at their first sample
	}
	if n := testing.AllocsPerRun(10_000, turn); n != 0 {
		t.Errorf("%v allocations a turn, want 0", n)
	}
}

// TestRecorderOfStreamsDoesNotAllocate asserts that answers in pieces allocate nothing once values like theirs were recorded.
func TestRecorderOfStreamsDoesNotAllocate(t *testing.T) {
	rec := record.NewRecorder("a")
	stream := &record.Stream{First: 2_000_000, Last: 9_000_000, Events: 3, TokensOut: 3, Usage: true, PerToken: 3_500_000}
	turn := func() {
		rec.Gap(0, 3_000_000)
		rec.Done(record.Finished{Done: 9_000_000, Stream: stream, Judged: true, Good: true})
		rec.Reset()
	}
	turn()
	if n := testing.AllocsPerRun(1_000, turn); n != 0 {
		t.Errorf("%v allocations a turn, want 0", n)
	}
}

func BenchmarkRecorder(b *testing.B) {
	rec := record.NewRecorder()
	var i int64
	for b.Loop() {
		i++
		rec.Sent()
		rec.Done(record.Finished{Due: i, Sent: i + 20_000, Done: i + 1_000_000 + i%1_000_000, Status: 200})
	}
}

func BenchmarkRecorderWithFirstByte(b *testing.B) {
	rec := record.NewRecorder()
	var i int64
	for b.Loop() {
		i++
		rec.Sent()
		rec.Done(record.Finished{Due: i, Sent: i + 20_000, Done: i + 1_000_000 + i%1_000_000, First: i + 900_000 + i%1_000_000, Reused: true, Status: 200})
	}
}
