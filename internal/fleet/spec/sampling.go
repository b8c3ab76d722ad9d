package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// What workers keep of some requests.
const (
	SampleFull = "full" // what was sent and what came, without secrets
	SampleMeta = "meta" // times and outcomes
	SampleNone = "none"
)

// The bounds of SampleBody, in bytes, and of Redact.
const (
	DefaultSampleBody = 2 << 10
	MaxSampleBody     = 64 << 10
	NoSampleBody      = -1 // SampleBody 0 is the default
	maxRedacted       = 32
	maxRedactedBytes  = 64
)

// SampledBody returns how many bytes of each body workers keep of a request; −1 = they keep no messages.
func (s Spec) SampledBody() int {
	switch {
	case s.sample() != SampleFull:
		return -1
	case s.SampleBody == NoSampleBody:
		return 0
	}
	return int(cmp.Or(s.SampleBody, DefaultSampleBody))
}

// sample returns Sample, or its default.
func (s Spec) sample() string { return cmp.Or(s.Sample, SampleFull) }

// Samples reports whether workers keep requests.
func (s Spec) Samples() bool { return s.sample() != SampleNone }

// validateSampling checks what workers keep.
func (s Spec) validateSampling() error {
	switch mode := s.sample(); {
	case !slices.Contains([]string{SampleFull, SampleMeta, SampleNone}, mode):
		return fmt.Errorf("--sample %.40q: write %s, %s or %s", mode, SampleFull, SampleMeta, SampleNone)
	case s.SampleBody != 0 && mode != SampleFull:
		return fmt.Errorf("--sample-body has no effect with --sample %s; remove it", mode)
	case s.SampleBody < NoSampleBody || s.SampleBody > MaxSampleBody:
		return fmt.Errorf("--sample-body: give 0 to 64KiB")
	case len(s.Redact) > 0 && mode != SampleFull:
		return fmt.Errorf("--redact has no effect with --sample %s; remove it", mode)
	case len(s.Redact) > maxRedacted:
		return fmt.Errorf("--redact: at most %d names; leave some out", maxRedacted)
	}
	for i, name := range s.Redact {
		switch {
		case name == "" || len(name) > maxRedactedBytes || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return fmt.Errorf("--redact %.40q: give the name of a header, parameter or member, of at most %d bytes, without spaces", name, maxRedactedBytes)
		case slices.ContainsFunc(s.Redact[:i], func(o string) bool { return strings.EqualFold(o, name) }):
			return fmt.Errorf("--redact %.40q: is given twice; leave one out", name)
		case targets.SecretName(name):
			return fmt.Errorf("--redact %.40q: the name says that it is a secret, so it is redacted in any case; leave it out", name)
		}
	}
	return nil
}

// sampledBody returns the value of --sample-body.
func (s Spec) sampledBody() int64 { return max(0, cmp.Or(s.SampleBody, DefaultSampleBody)) }
