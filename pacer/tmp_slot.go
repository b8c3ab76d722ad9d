package pacer

import "errors"

// Slot is one.
type Slot struct{ Generation, Number, Due int64 }

var (
	ErrEnded    = errors.New("a")
	ErrStopped  = errors.New("b")
	ErrReplaced = errors.New("c")
	ErrNoState  = errors.New("d")
)
