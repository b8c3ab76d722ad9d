//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// recorded is what the part that records and merges prints.
type recorded struct {
	RecordNS float64 `json:"record_ns"` // of each request
	MergeUS  float64 `json:"merge_us"`  // of all snapshots
}

// merged is the number of snapshots that are merged.
const merged = 1_000

// records measures the cost of recording a request, and of merging the snapshots of many workers.
func records(ctx context.Context, b *bench, s *section) error {
	path, err := self()
	if err != nil {
		return err
	}
	rounds, err := contend(ctx, b, s, b.rounds, []contender[recorded]{{"record", func(ctx context.Context) (r recorded, err error) {
		p, err := spawn(clientCore, []string{path, "record"}, nil)
		if err != nil {
			return r, err
		}
		if err := p.await(ctx, endPatience); err != nil {
			return r, err
		}
		return r, json.Unmarshal(p.stdout.Bytes(), &r)
	}}})
	if err != nil {
		return err
	}
	turns := rounds.take("record")
	s.table([]string{"", "median (span)"}, [][]string{
		{"recording a request: latency, service time, lag, status, bytes; ns", spanned(of(turns, func(r recorded) float64 { return r.RecordNS }), "%.0f")},
		{fmt.Sprintf("merging %s snapshots of 1,000 requests each, µs", thousands(merged)),
			spannedThousands(of(turns, func(r recorded) float64 { return r.MergeUS }))},
	})
	return nil
}

// recordPart is the process.
func recordPart([]string) error {
	random := rand.New(rand.NewPCG(1, 2))
	samples := make([]record.Finished, 1_000)
	for i := range samples {
		lag := int64(20_000 + 80_000*random.ExpFloat64())
		samples[i] = record.Finished{Sent: lag, Done: lag + int64(100_000+500_000*random.ExpFloat64()), Status: 200, BytesIn: 67, BytesOut: 60}
	}
	recorder := record.NewRecorder()
	const n = 2_000_000
	began := time.Now()
	for i := range n {
		recorder.Sent()
		recorder.Done(samples[i%len(samples)])
	}
	r := recorded{RecordNS: float64(time.Since(began)) / n}

	all := make([]*record.Snapshot, merged)
	for i := range all {
		all[i] = record.NewSnapshot(fmt.Sprint("w", i), "1")
		recorder.Reset()
		for _, s := range samples {
			s.Done += int64(random.IntN(1_000_000)) // no two snapshots are the same
			recorder.Sent()
			recorder.Done(s)
		}
		all[i].Record(recorder)
	}
	began = time.Now()
	total := record.NewSnapshot("all", "1")
	for _, s := range all {
		total.Merge(s)
	}
	r.MergeUS = float64(time.Since(began)) / 1e3
	if total.Counts.Completed != merged*int64(len(samples)) {
		return fmt.Errorf("merge snapshots: %d requests of %d", total.Counts.Completed, merged*len(samples))
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
