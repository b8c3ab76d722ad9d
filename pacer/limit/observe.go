package limit

import (
	"errors"
	"time"
)

// Event is what became of one call of Take, TakeUpTo or TakeMany.
type Event struct {
	Key      string
	Asked    int64
	Answer   Answer // as decided, also in a shadow
	Err      error
	Took     time.Duration // of TakeMany: all its calls together
	Fallback bool          // the store was away: FailOpen, FailClosed or FailShare decided
}

// Observe calls a function after each call for permits, for metrics. It must be fast, and safe for concurrent use.
func Observe(f func(Event)) Option {
	return Option{name: "Observe", apply: func(s *Set) error { s.observe = f; return nil }}
}

// Shadow makes a limiter decide, count and observe, and yet let all calls pass at once: to try a limit before it is in force. Calls
// that it can never grant pass too. An error of the store is still one.
func Shadow() Option {
	return Option{name: "Shadow", apply: func(s *Set) error { s.shadow = true; return nil }}
}

// seen observes an event, and returns what the caller gets.
func (s *Set) seen(begin time.Time, e Event) (Answer, error) {
	if s.observe != nil {
		e.Took = time.Since(begin)
		s.observe(e)
	}
	if !s.shadow || e.Err != nil && !errors.Is(e.Err, ErrNever) {
		return e.Answer, e.Err
	}
	e.Err, e.Answer.RetryAfter = nil, 0
	if e.Answer.Granted < e.Asked {
		e.Answer = Answer{Granted: e.Asked, ResetAfter: e.Answer.ResetAfter}
	}
	return e.Answer, e.Err
}
