package run

import (
	"time"

	"github.com/loadctl/loadctl/internal/engine/publishing"
)

// Present returns how many workers called recently. Members also counts a dead one until another worker notices, and
// the last one for ever.
func (s *State) Present() int64 {
	var n int64
	for _, w := range s.Workers {
		if w.State == "active" && (s.EndedAt.IsZero() || s.now.Sub(w.LastSeen) <= s.Silence()) {
			n++
		}
	}
	return min(n, s.Members)
}

// Silence returns how long a worker that can still report may be silent. Large fleets publish less often, and spread
// their last snapshots.
func (s *State) Silence() time.Duration {
	return 2*time.Second + publishing.Period(int64(len(s.Workers)))
}
