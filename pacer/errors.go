package pacer

import "errors"

// The errors with which a worker's part in a run ends.
var (
	ErrEnded    = errors.New("the run has ended")
	ErrStopped  = errors.New("the run was stopped")
	ErrNoState  = errors.New("the run does not exist any more")
	ErrReplaced = errors.New("another process has taken this worker's id; give each worker an --id of its own")
)
