package cli

import (
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// Duration is a flag value: Go's syntax, and d for days as in 2d or 1d12h.
type Duration time.Duration

// String implements pflag.Value.
func (d *Duration) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (d *Duration) Type() string { return "duration" }

// Set implements pflag.Value.
func (d *Duration) Set(s string) error {
	v, err := pacer.ParseDuration(s)
	if err == nil {
		*d = Duration(v)
	}
	return err
}
