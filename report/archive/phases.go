package archive

import (
	"cmp"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// documentPhases are report.Phases as an archive has them.
type documentPhases struct {
	FirstByte *record.Compact    `json:"first_byte,omitzero"`
	DNS       *record.Compact    `json:"dns,omitzero"`
	Connect   *record.Compact    `json:"connect,omitzero"`
	TLS       *record.Compact    `json:"tls,omitzero"`
	Steps     documentFirstBytes `json:"steps,omitempty"`
}

// phasesOf returns what is written. Without a first byte no step has one.
func phasesOf(p report.Phases) documentPhases {
	d := documentPhases{FirstByte: p.FirstByte, DNS: p.DNS, Connect: p.Connect, TLS: p.TLS}
	if !p.FirstByte.IsZero() {
		d.Steps = p.Steps
	}
	return d
}

// phases returns what was read; none of it is nil but Steps.
func (d documentPhases) phases() report.Phases {
	none := record.NewCompact
	return report.Phases{
		FirstByte: cmp.Or(d.FirstByte, none()), DNS: cmp.Or(d.DNS, none()), Connect: cmp.Or(d.Connect, none()), TLS: cmp.Or(d.TLS, none()), Steps: d.Steps,
	}
}

// IsZero reports whether there is nothing to write.
func (d documentPhases) IsZero() bool {
	return d.FirstByte.IsZero() && d.DNS.IsZero() && d.Connect.IsZero() && d.TLS.IsZero()
}

// documentFirstBytes counts histograms before the first one is unpacked, as documentSteps does.
type documentFirstBytes map[string]*record.Compact

// UnmarshalJSON implements json.Unmarshaler.
func (s *documentFirstBytes) UnmarshalJSON(text []byte) error {
	return unmarshalFew(text, (*map[string]*record.Compact)(s), "steps", record.MaxSteps+1)
}
