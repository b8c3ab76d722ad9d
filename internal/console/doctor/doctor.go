// Package doctor finds out what keeps a machine, a Redis server or an endpoint from load tests, and how to fix it.
//
//	findings := doctor.Machine(1000, 0)
//	findings = append(findings, doctor.Redis(ctx, client, 0)...)
//	findings = append(findings, doctor.Endpoint(ctx, doctor.Aim{Spec: spec})...)
//	for _, f := range findings {
//		fmt.Println(f.State, f.Check, f.Found, f.Mend)
//	}
//
// It changes nothing on the machine. On the server it creates a run and removes it again; if that is interrupted, the
// run ends by itself within half a minute. If a check cannot get an answer, that is a finding, never an error.
//
// An endpoint gets no request of a run, but over tcp and udp if only that tells whether it answers.
//
// A check is a function that returns a Finding. It is listed in serverChecks, machineChecks or Aim.shown.
package doctor

import (
	"fmt"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// The states of a finding.
const (
	OK   = "ok"
	Warn = "warn" // load tests work, with a risk that you should know
	Bad  = "bad"  // load tests do not work, or cannot be relied on
)

// Finding is the result of one check. Its texts are one line each, without passwords.
type Finding struct {
	Check string `json:"check"`          // what was checked
	State string `json:"state"`          // OK, Warn or Bad
	Found string `json:"found"`          // what was found
	Mend  string `json:"mend,omitempty"` // what to do; empty if nothing
}

// Problems returns the number of Bad findings.
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

// of sets the name of the check, and makes the texts safe to show: they quote what a server says.
func (f Finding) of(check string) Finding {
	f.Check, f.Found, f.Mend = check, shown(f.Found), shown(f.Mend)
	return f
}

func shown(s string) string { return printable.Line(fmt.Sprintf("%.700s", s)) }
