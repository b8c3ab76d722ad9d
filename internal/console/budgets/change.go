package budgets

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
)

// Above returns the rows that are in the way of a change of a rate: they hold more than is allowed then.
func Above(s ledger.State, c ledger.Change) Document {
	return Document{At: s.Now}.with(s, nil, s.With(c.Name, c.Rate).Above(), nil)
}

// Waiting says what a change waits for; "" = for nothing that is known.
func Waiting(s ledger.State, c ledger.Change) string {
	var all []string
	if why := All(s).Quiet(); why != "" {
		all = append(all, why)
	}
	d := Document{At: s.Now}.with(s, nil, s.Behind(c), nil)
	if len(d.Rows) > 0 {
		all = append(all, "runs have not reported that they obey it: "+d.Holders())
	}
	return strings.Join(all, "; ")
}

// Unobeyed says why a change is not known to be obeyed by all.
func Unobeyed(s ledger.State, c ledger.Change) string {
	return cmp.Or(Waiting(s, c), "Redis has not said so yet")
}

// Done says in a line what a change has left.
func (d Document) Done() string {
	name := d.Change.Name
	frozen := ""
	if len(d.Budgets) > 0 && d.Budgets[0].Frozen {
		frozen = "; it is frozen: no run may send there until loadctl budget thaw " + name
	}
	switch {
	case !d.Change.Changed:
		return fmt.Sprintf("%s: %s: nothing to change", name, d.Change.Command)
	case d.Change.Command == "rm":
		return name + ": the budget is removed" + frozen
	case d.Change.Command == "freeze":
		return name + ": frozen: no run may send there until loadctl budget thaw " + name
	case d.Change.Command == "thaw":
		return name + ": thawed"
	case len(d.Budgets) == 0: // somebody has removed it since
		return name + ": the budget was in force"
	}
	b := d.Budgets[0]
	return name + ": " + b.promise() + frozen
}

// promise says what all runs together may send.
func (b Budget) promise() string {
	hold := "runs hold"
	if b.Runs == 1 {
		hold = "run holds"
	}
	of := fmt.Sprintf("%d %s %s", b.Runs, hold, Rate(b.Reserved))
	if b.Left == nil {
		return fmt.Sprintf("%s per second in force, for each host that has no other budget; %s", Rate(b.Rate), of)
	}
	return fmt.Sprintf("%s per second in force, for all runs together; %s of it, %s are left", Rate(b.Rate), of, Rate(*b.Left))
}
