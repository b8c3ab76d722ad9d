// Package budget has the commands for budgets: what all runs together may send at an endpoint. They work on the ledger in
// Redis, and need no run.
package budget
