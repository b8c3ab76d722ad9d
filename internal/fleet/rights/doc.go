// Package rights gets a run the rights to send at endpoints that other runs share, and keeps them
// (docs/adr/0045-endpoint-budgets.md).
//
//	r, created, err := rights.Create(ctx, client, "checkout", asked, run.Options{}) // reserves the peak of its plan first
//	change, err := rights.Change(ctx, r, func() (run.Change, error) { return r.SetRate(ctx, to, 0) })
//	go rights.Keep(ctx, r, "host-1/2f3e", log)                                  // in every worker: one of them is the judge
//
// The arithmetic is that of package reserve, the ledger is called by package ledger, and lua/right.lua stores what a run may
// send. A run has a right at each endpoint that it sends to. They bound its rate by the share of its requests there.
package rights
