package report_test

import (
	"fmt"
	"os"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
)

// Two shards record, their snapshots are merged, the report is printed.
func Example() {
	const ms = int64(time.Millisecond)
	total := record.NewSnapshot("host-1", "a1b2")
	for shard := range int64(2) {
		rec := record.NewRecorder() // one goroutine each
		for i := range int64(500) {
			due := i * 10 * ms
			rec.Sent()
			rec.Done(record.Finished{Due: due, Sent: due, Done: due + (1+shard)*ms, Status: 200})
		}
		total.Record(rec)
	}
	total.Final = true // its process will record nothing more
	r := report.Build(report.Input{
		Run:      "example",
		Duration: 5 * time.Second,
		Budget:   report.Budget{Issued: 1000},
		Workers:  []report.WorkerInput{{ID: "host-1", Incarnation: "a1b2", State: "left", Gone: true, Leased: 1000, Total: total}},
	})
	fmt.Printf("asked %d, sent %d at %v/s, complete: %t\n", r.Asked, r.Audit.Sent, r.Rate, r.Complete)
	fmt.Println("p99", time.Duration(r.Latency.P99).Round(10*time.Microsecond))
	// Output:
	// asked 1000, sent 1000 at 200/s, complete: true
	// p99 2ms
}

// Users feel the latency from the intended time on.
func ExampleRecorder() {
	const ms = int64(time.Millisecond)
	rec := record.NewRecorder()
	rec.Sent()
	rec.Done(record.Finished{Due: 0, Sent: 30 * ms, Done: 40 * ms, Status: 200})
	s := record.NewSnapshot("host-1", "a1b2")
	s.Record(rec)
	for _, h := range []*record.Histogram{s.Latency, s.Service, s.Lag} {
		fmt.Println(time.Duration(h.Max()).Round(100 * time.Microsecond))
	}
	// Output:
	// 40ms
	// 10ms
	// 30ms
}

// Snapshots travel as bytes and merge by bucket counts.
func ExampleSnapshot_Merge() {
	sum := record.NewSnapshot("", "")
	for _, latency := range []time.Duration{time.Millisecond, time.Second} {
		s := record.NewSnapshot("host", "a1b2")
		s.Counts.Completed = 1
		s.Latency.Record(latency.Nanoseconds())
		data, err := s.MarshalBinary()
		if err != nil {
			panic(err)
		}
		var received record.Snapshot
		if err := received.UnmarshalBinary(data); err != nil {
			panic(err)
		}
		sum.Merge(&received)
	}
	fmt.Println(sum.Counts.Completed, sum.Latency.Count(), time.Duration(sum.Latency.Quantile(1)).Round(10*time.Millisecond))
	// Output: 2 2 1s
}

// A worker publishes closed points once, and open points each time.
func ExampleSeries() {
	var series record.Series
	s := record.NewSnapshot("host-1", "a1b2")
	s.Counts.Sent = 100
	var second int64
	for beat := range int64(5) {
		series.Add(beat*1_000_000+500_000, s)
		whole, open, next := series.Since(second)
		fmt.Println(len(whole), len(open))
		second = next // after a successful write
	}
	// Output:
	// 0 1
	// 0 2
	// 2 1
	// 0 2
	// 2 1
}

// The output is chosen by name.
func ExampleFormat() {
	render, err := render.Format("csv")
	if err != nil {
		panic(err)
	}
	r := report.Build(report.Input{Duration: 2 * time.Second, AskedBy: func(from, to int64) int64 { return (to - from) / 10_000 }})
	if err := render(os.Stdout, r); err != nil {
		panic(err)
	}
	// Output:
	// t,asked,sent,ok,failed,p50_ns,p99_ns,p90_ns,p999_ns
	// 0,100,0,0,0,0,0,0,0
	// 1,100,0,0,0,0,0,0,0
}
