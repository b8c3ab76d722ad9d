// Command report merges what two recorders saw and prints the result. Both saw the same number of requests, one of them
// ten times slower: the merged percentiles are those of all requests together, not an average of two.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
)

const requests = 1000 // of each recorder

func main() {
	fast, slow := recorded(time.Millisecond), recorded(10*time.Millisecond)

	// A worker hands its snapshots on as bytes (MarshalBinary), so they may come from anywhere.
	one, two := record.NewSnapshot("one", "1"), record.NewSnapshot("two", "1")
	one.Record(fast)
	two.Record(slow)

	r := report.Build(report.Input{
		Run:        "example",
		StartedAt:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Duration:   10 * time.Second,
		TargetRate: 200,
		Budget:     report.Budget{Issued: 2 * requests},
		Workers: []report.WorkerInput{
			{ID: "one", State: "left", Gone: true, Leased: requests, Total: one},
			{ID: "two", State: "left", Gone: true, Leased: requests, Total: two},
		},
	})
	if err := render.Text(os.Stdout, r); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// recorded is a recorder that saw requests spread over 10 s, each sent when due and answered after latency.
func recorded(latency time.Duration) *record.Recorder {
	rec := record.NewRecorder()
	for i := range int64(requests) {
		due := i * int64(10*time.Millisecond)
		rec.Sent()
		rec.Done(record.Finished{Due: due, Sent: due, Done: due + int64(latency), Status: 200})
	}
	return rec
}
