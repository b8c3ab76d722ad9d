// Package report says what happened: it records requests, merges what many
// workers recorded, audits the sum against the budget, and renders the result.
//
// Data flows one way: Recorder → Snapshot → Merge → Build → a Renderer.
//
//	rec := report.NewRecorder()                // one per shard, one goroutine
//	rec.Sent()
//	rec.Done(report.Sample{Due: due, Sent: sent, Done: done, Status: 200})
//	interval := report.NewSnapshot("host-1", "a1b2")
//	interval.Record(rec)                       // at each hand-over
//	rec.Reset()
//	total.Merge(interval)                      // cumulative, or over workers
//	r := report.Build(report.Input{Workers: []report.WorkerInput{{Total: total}}})
//	err := report.Text(os.Stdout, r)
//
// The guarantees:
//
//   - Latency is done−due, so time a request spent waiting inside the generator
//     counts; service time (done−sent) and lag (sent−due) stand beside it.
//   - There is one histogram layout (see [Histogram]). Merging adds bucket
//     counts, so percentiles of a merge are identical to those of one histogram
//     that saw every sample. Percentiles are never averaged.
//   - Values beyond the range are counted in Counts.OutOfRange, not clamped.
//   - Memory is constant for a run of any length and rate, whatever the
//     endpoint answers: status codes and error classes are bounded.
//   - Decoding accepts bytes from anywhere: sizes and layouts are checked before
//     anything is allocated, and a newer version is refused by name.
//   - The audit is exact: asked = sent + (each named reason for not sending);
//     [Audit.Check] names the equation that does not hold.
//
// Nothing in this package locks: each value belongs to one goroutine at a time,
// and functions keep no reference to what they are given unless they say so.
package report
