// Package report says what happened in a run: it merges what workers recorded, audits the sum against the budget, and
// judges it.
//
// Data flows one way: report/record → Build → report/render, or report/archive.
//
//	r := report.Build(report.Input{Workers: []report.WorkerInput{{Total: total}}}) // a *record.Snapshot
//	err := r.CheckAudit()
//	err = render.Text(os.Stdout, r)
//
// For an open loop of your own there is a [Meter]:
//
//	meter := report.NewMeter(profile)
//	meter.Go(due, func() record.Finished { … })
//	err := render.Text(os.Stdout, meter.Report())
//
// The audit is exact: asked = sent + (each named reason for not sending). [Audit.Check] names the equation that does
// not hold.
package report
