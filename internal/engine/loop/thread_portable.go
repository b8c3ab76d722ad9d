//go:build !linux || portable

package loop

// A thread has nothing to do here: the loop waits like any goroutine.
type thread struct{}

// Thread returns 0: the loop has no thread of its own.
func (*Client) Thread() int { return 0 }

func (thread) until(_, until, _ int64) int64 { return until }

func (thread) yield(_, _ int64) bool { return false }

func (thread) claim() {}

func (thread) release() {}
