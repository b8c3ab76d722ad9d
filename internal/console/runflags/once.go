package runflags

import "fmt"

// once is a flag value: a text that may be given only once. Else the last one would silently win.
type once struct {
	text  string
	times int // a shell's completion sets it more often
}

// String implements pflag.Value.
func (o *once) String() string { return o.text }

// Type implements pflag.Value.
func (o *once) Type() string { return "string" }

// Set implements pflag.Value.
func (o *once) Set(s string) error {
	o.text = s
	o.times++
	return nil
}

// check returns an error if the flag of this name was given more than once. The value is not shown, as it may be a
// password.
func (o *once) check(name string) error {
	if o.times > 1 {
		return fmt.Errorf("--%s: is given twice, and a run has one; leave one out, or make a run of each", name)
	}
	return nil
}
