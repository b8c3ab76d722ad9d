// Package budgetsim lets runs, people and servers share the budget of an endpoint in virtual time, under faults of all
// kinds, and compares at every step what all runs may send with the budget.
//
//	result := budgetsim.Run(budgetsim.Draw(seed), model.WithoutBudget{})
//
// The ledger is the one of internal/proof/model, and the steps are those of internal/fleet/reserve. A run is simple here: its
// rate and its leases, without slots. internal/proof/sim shows that a run keeps to its own rate.
package budgetsim
