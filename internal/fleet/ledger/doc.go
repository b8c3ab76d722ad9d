// Package ledger calls the ledger of budgets in Redis: what all runs together may send at an endpoint, and a row for each
// run that may send there (docs/adr/0045-endpoint-budgets.md).
//
//	l := ledger.Ledger{Client: client}
//	name, err := endpoint.Parse("api.example.com")
//	change, err := l.Set(ctx, name, rate, false, ledger.Note{Text: "agreed with payments"})
//	err = l.Changed(ctx, change) // returns when all runs obey it
//	grant, err := l.Ask(ctx, reading.Raise(rate), people.Text())
//
// Each call is one script, or only reads. Package reserve says what a run does with a Grant. Rates are requests per
// 1,000,000 s, as there.
package ledger
