// Package record measures: a recorder for each goroutine that sends, snapshots of what it saw, and their sums.
//
//	rec := record.NewRecorder() // one per shard, one goroutine
//	rec.Sent()
//	rec.Done(record.Finished{Due: due, Sent: sent, Done: done, Status: 200})
//	interval := record.NewSnapshot("host-1", "a1b2")
//	interval.Record(rec) // at each hand-over
//	rec.Reset()
//	total.Merge(interval) // cumulative, or over workers
//
// The guarantees:
//
//   - Latency is done−due, so time a request spent waiting inside the generator counts. Service time (done−sent), lag
//     (sent−due) and the first byte of the answer (first−sent) stand beside it.
//   - There is one histogram layout (see [Histogram]). Merging adds bucket counts, so percentiles of a merge are those
//     of one histogram that saw every sample. Percentiles are never averaged.
//   - Values beyond the range are counted in Counts.OutOfRange, not clamped.
//   - Memory is constant for a run of any length and rate, whatever the endpoint answers: status codes and error
//     classes are bounded.
//   - Decoding accepts bytes from anywhere: sizes and layouts are checked before anything is allocated.
//
// Nothing in this package locks: each value belongs to one goroutine at a time.
package record
