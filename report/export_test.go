package report

// What tests need.
var NewAudit = newAudit

const MaxEvents = maxEvents
const ClosedLoop = closedLoop

// Shortfall is shortfall.
func (r *Report) Shortfall() { r.shortfall() }
