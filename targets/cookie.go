package targets

import (
	"errors"
	"slices"
	"time"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/cookies"
)

// A Jar has the cookies of a flow.
type Jar struct {
	cookies.Jar
	Asked cookies.Place // where the last request went
}

// CheckCookies checks that some request may send a cookie, for a caller that knows where the setting was written.
func (s Spec) CheckCookies() error {
	if !s.Cookies || slices.ContainsFunc(s.Flows, s.remembers) {
		return nil
	}
	return errors.New("cookies: no request follows another one that could set them; add a second step to a flow, set --redirects, or leave cookies out")
}

// remembers reports whether a flow has a request that may send cookies of an answer before it.
func (s Spec) remembers(f Flow) bool { return f.walks() || s.Redirects > 0 }

// Cookies returns those of the flow; none for a nil Session.
func (s *Session) Cookies() *Jar {
	switch {
	case s == nil:
		return new(Jar)
	case s.jar == nil:
		s.jar = new(Jar)
	}
	return s.jar
}

// SetCookies keeps the cookies of an answer to the last request.
func (s *Session) SetCookies(a check.Answer) {
	lines := a.Field("Set-Cookie")
	if len(lines) == 0 || s.jar == nil {
		return
	}
	now := time.Now()
	for _, line := range lines {
		s.jar.Set(line, s.jar.Asked, now)
	}
}
