package render

import (
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// connectionsText says how many connections there were, and how long their phases took.
func connectionsText(c report.Connections) string {
	counts := fmt.Sprintf("%d opened, %d reused, %d closed by the server", c.Opened, c.Reused, c.ClosedByServer)
	var phases []string
	for _, p := range phasesOf(c) {
		phases = append(phases, fmt.Sprintf("%s p50 %s, p99 %s, max %s", p.name, units.Duration(p.P50), units.Duration(p.P99), units.Duration(p.Max)))
	}
	return strings.Join(append([]string{counts}, phases...), "; ")
}

// A phase is a part of opening a connection.
type phase struct {
	name, help string
	record.Distribution
	n int64 // how often it was measured
}

// phasesOf returns the phases that there were, in their order.
func phasesOf(c report.Connections) (all []phase) {
	for _, p := range []phase{
		{"dns", "Lookups of the host's name.", c.DNS, c.Lookups},
		{"connect", "From the first packet of a connection until the peer accepted.", c.Connect, c.Opened},
		{"tls", "The handshake of TLS after that.", c.TLS, c.Handshakes},
	} {
		if p.n > 0 {
			all = append(all, p)
		}
	}
	return all
}
