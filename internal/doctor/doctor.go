// Package doctor tells what is wrong with a machine and with a Redis server for load tests, and how to mend it.
//
//	findings := doctor.Machine(1000, 0)
//	findings = append(findings, doctor.Redis(ctx, client, 0)...)
//	for _, f := range findings {
//		fmt.Println(f.State, f.Check, f.Found, f.Mend)
//	}
//
// Nothing is changed on the machine. On the server a run is made and removed again; should that be cut short, it ends by itself
// within half a minute. What cannot be told is a finding, never an error.
//
// A check is a function that returns a Finding. It is listed in serverChecks or machineChecks.
package doctor

import (
	"fmt"

	"github.com/loadctl/loadctl/internal/printable"
)

// The states of a finding.
const (
	OK   = "ok"
	Warn = "warn" // load tests work, with a risk that should be known
	Bad  = "bad"  // they do not work, or cannot be relied upon
)

// Finding is what one check found. Its texts are one line each, and hold no password.
type Finding struct {
	Check string `json:"check"`          // what was looked at
	State string `json:"state"`          // OK, Warn or Bad
	Found string `json:"found"`          // what there is
	Mend  string `json:"mend,omitempty"` // what to do about it; empty if nothing
}

// Problems is how many of the findings are Bad.
func Problems(findings []Finding) int {
	n := 0
	for _, f := range findings {
		if f.State == Bad {
			n++
		}
	}
	return n
}

func ok(found string) Finding         { return Finding{State: OK, Found: found} }
func warn(found, mend string) Finding { return Finding{State: Warn, Found: found, Mend: mend} }
func bad(found, mend string) Finding  { return Finding{State: Bad, Found: found, Mend: mend} }

// of names the check that made the finding, and makes its texts fit to be shown: they quote what a server says.
func (f Finding) of(check string) Finding {
	f.Check, f.Found, f.Mend = check, shown(f.Found), shown(f.Mend)
	return f
}

func shown(s string) string { return printable.Line(fmt.Sprintf("%.700s", s)) }
