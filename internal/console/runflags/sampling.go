package runflags

import (
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// samplingFlags say what workers keep of some requests.
type samplingFlags struct {
	mode   string
	body   int64
	redact []string
}

func (f *samplingFlags) addFlags(s *pflag.FlagSet) {
	f.body = spec.DefaultSampleBody
	s.StringVar(&f.mode, "sample", spec.SampleFull, "what workers keep of failed and slow requests, `full|meta|none`: what was sent and what came without secrets, "+
		"or only times and outcomes. See docs/samples.md")
	s.Var((*Size)(&f.body), "sample-body", "how much of each body to keep, in bytes or such as 4KiB; at most 64KiB")
	s.StringArrayVar(&f.redact, "redact", nil, "`NAME` of a header, parameter or member whose values are secrets, besides those whose names say so; may be repeated")
}

// set writes the values of the flags into a spec. Defaults are not stored.
func (f *samplingFlags) set(s *spec.Spec, flags *pflag.FlagSet) {
	if f.mode != spec.SampleFull {
		s.Sample = f.mode
	}
	switch {
	case !flags.Changed("sample-body"):
	case f.body <= 0: // less than 0 is less than NoSampleBody, which the spec refuses
		s.SampleBody = f.body + spec.NoSampleBody
	case f.body != spec.DefaultSampleBody || s.Sample != "":
		s.SampleBody = f.body
	}
	s.Redact = f.redact
}
