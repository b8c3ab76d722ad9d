// Package results is what the workers of a run counted: each publishes through a Journal, and anybody can follow the
// sums, or merge all into one report.
//
//	journal := results.NewJournal(r, worker, incarnation)
//	err := journal.Publish(ctx, interval, total, series)
//	follower, err := results.Follow(ctx, r)
//	rep, err := results.Report(ctx, r)
//
// No worker is needed to read them. What Redis did not take is in a file that a worker leaves, an Unpublished.
package results
