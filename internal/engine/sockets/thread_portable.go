//go:build !linux || portable

package sockets

// A Thread has nothing to do here: the loop waits like any goroutine.
type Thread struct{}

// ID returns 0: there is none.
func (Thread) ID() int { return 0 }

// Until returns until: the wait is never too long.
func (Thread) Until(_, until, _ int64) int64 { return until }

// Yield does nothing.
func (Thread) Yield(_, _ int64) bool { return false }

// Claim does nothing.
func (Thread) Claim() {}

// Release does nothing.
func (Thread) Release() {}
