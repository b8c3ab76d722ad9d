package limit

import "time"

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

// Shadow makes a limiter decide, count and observe, and yet let all calls pass: to try a limit before it is in force.
func Shadow() Option {
	return Option{name: "Shadow", apply: func(s *Set) error { s.shadow = true; return nil }}
}

// seen observes an event, and returns what the caller gets.
func (s *Set) seen(begin time.Time, e Event) (Answer, error) {
	if s.observe != nil {
		e.Took = time.Since(begin)
		s.observe(e)
	}
	if a := &e.Answer; s.shadow && e.Err == nil && a.Granted < e.Asked {
		*a = Answer{Granted: e.Asked, ResetAfter: a.ResetAfter}
	}
	return e.Answer, e.Err
}
