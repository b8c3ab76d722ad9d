package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// How often to measure a round trip, and the limits.
const (
	pings      = 50
	fewPings   = 3
	pingingFor = time.Second / 2 // for a slow server fewer are enough
	slow       = 50 * time.Millisecond
	slower     = 250 * time.Millisecond // how long a worker waits before it repeats its first call
	tooSlow    = 350 * time.Millisecond // a snapshot has 700 ms, and its script is sent only after the server says that it does not know it
)

// roundTrip measures how long a call takes from here.
func roundTrip(ctx context.Context, s *server) Finding {
	var took []time.Duration
	for began := time.Now(); len(took) < pings && (len(took) < fewPings || time.Since(began) < pingingFor); {
		sent := time.Now()
		if err := s.node.Ping(ctx).Err(); err != nil {
			return s.unclear(err)
		}
		took = append(took, time.Since(sent))
	}
	return judgeRoundTrips(took)
}

// judgeRoundTrips judges the median. A single slow round trip costs a repeated call, and is a warning sign.
func judgeRoundTrips(took []time.Duration) Finding {
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	found := fmt.Sprintf("median %s, worst %s of %d", short(median), short(worst), len(took))
	switch {
	case median >= tooSlow:
		return bad(found+": workers cannot report, because a snapshot takes longer than it may", "run Redis nearer to the workers")
	case median > slower:
		return warn(found+": each worker repeats its first call; changes of the rate and stops take effect late",
			"run Redis nearer to the workers")
	case median > slow:
		return warn(found+": changes of the rate and stops take effect late", "run Redis nearer to the workers")
	case worst > slower:
		return warn(found+": the server or the network stood still for a moment", "find the cause with redis-cli --latency-history and SLOWLOG GET")
	default:
		return ok(found)
	}
}

// short formats a duration with the digits that matter.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(time.Microsecond).String()
	}
}
