package cli

import "errors"

// once is a flag value: a text that is given once. Of two the last would win, and the first would be passed over without a word.
type once struct {
	text  *string
	given bool
}

// String implements pflag.Value.
func (o *once) String() string {
	if o.text == nil { // as pflag makes one, to see what a zero value looks like
		return ""
	}
	return *o.text
}

// Type implements pflag.Value.
func (o *once) Type() string { return "string" }

// Set implements pflag.Value. What was given is not shown: it may hold a password.
func (o *once) Set(s string) error {
	if o.given {
		return errors.New("is given twice, and a run has one; leave one out, or make a run of each")
	}
	*o.text, o.given = s, true
	return nil
}
