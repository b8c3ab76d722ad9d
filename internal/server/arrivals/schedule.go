package arrivals

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A Stall is a planned stall: it holds back all answers for Length, from At after the first arrival.
type Stall struct{ At, Length time.Duration }

// Schedule stalls the server as planned, see Server.Stall. The stalls may be in any order. It returns after the last
// stall has begun, or when ctx ends.
func (s *Server) Schedule(ctx context.Context, stalls []Stall) {
	select {
	case <-s.FirstArrival():
	case <-ctx.Done():
		return
	}
	first := time.Now()
	stalls = slices.SortedFunc(slices.Values(stalls), func(a, b Stall) int { return cmp.Compare(a.At, b.At) })
	for _, stall := range stalls {
		select {
		case <-time.After(time.Until(first.Add(stall.At))):
			s.Stall(time.Until(first.Add(stall.At + stall.Length)))
		case <-ctx.Done():
			return
		}
	}
}
