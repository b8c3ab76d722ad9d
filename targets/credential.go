package targets

import (
	"errors"
	"strings"
	"sync/atomic"
)

// A Credential is what authorizes requests at this moment: the value of the Authorization header, or the keys that sign
// requests. The zero value has none yet. Any number of goroutines may set it while requests use it: each request has the
// old value or the new one.
type Credential struct {
	value atomic.Pointer[string]
	keys  atomic.Pointer[Keys]
}

// Set replaces the value, such as "Bearer abc". It fails if the value is empty or cannot stand in a header; then the old
// one stays. The error does not quote the value.
func (c *Credential) Set(value string) error {
	switch {
	case value == "":
		return errors.New("it is empty")
	case strings.ContainsFunc(value, isControl):
		return errors.New("it holds a line break or a control character; remove it")
	}
	c.value.Store(&value)
	return nil
}

// StandInCredential returns a Credential whose value text stands for. With a control character in it, it is unlike any real
// value.
func StandInCredential(text string) *Credential {
	c := new(Credential)
	c.value.Store(&text)
	return c
}

// Current returns the value; nil if there is none.
func (c *Credential) Current() *string {
	if c == nil {
		return nil
	}
	return c.value.Load()
}

// add appends the value.
func (c *Credential) add(b []byte) []byte {
	if value := c.Current(); value != nil {
		b = append(b, *value...)
	}
	return b
}

// Secrets returns all values that nobody may see: the credential without its scheme, and what signs requests.
func (c *Credential) Secrets() (all []string) {
	if value := c.Current(); value != nil {
		_, secret, found := strings.Cut(*value, " ")
		if !found {
			secret = *value
		}
		all = append(all, secret)
	}
	if c == nil {
		return all
	}
	if keys := c.keys.Load(); keys != nil {
		all = append(all, keys.SecretKey, keys.SessionToken)
	}
	return all
}
