package doctor

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// How to read the clock, and how far the two clocks may differ without a warning.
const (
	clockReadings = 3
	clockPause    = 2 * time.Millisecond // the clocks of some servers advance only once a millisecond
	clockApart    = time.Second
)

// reading is the server's clock beside this machine's.
type reading struct {
	redis time.Time
	here  time.Time     // the middle of the call
	took  time.Duration // length of the call
}

// clock checks TIME in a script, which the schedule goes by.
func clock(ctx context.Context, s *server) Finding {
	var readings []reading
	for range clockReadings {
		sent := time.Now()
		text, err := s.node.Eval(ctx, "return redis.call('TIME')", nil).StringSlice()
		took := time.Since(sent)
		if err != nil {
			return s.unclear(err)
		}
		at, err := parseTime(text)
		if err != nil {
			return bad(err.Error(), "use Redis, or a server whose scripts have a clock")
		}
		readings = append(readings, reading{at, sent.Add(took / 2), took})
		time.Sleep(clockPause)
	}
	return judgeClock(readings)
}

// parseTime reads the reply to TIME: seconds since 1970, and microseconds.
func parseTime(text []string) (time.Time, error) {
	bad := fmt.Errorf("TIME in a script is %.40q", text)
	if len(text) != 2 {
		return time.Time{}, bad
	}
	s, err := strconv.ParseInt(text[0], 10, 64)
	us, err2 := strconv.ParseInt(text[1], 10, 64)
	if err != nil || err2 != nil || s <= 0 {
		return time.Time{}, bad
	}
	return time.Unix(s, us*1000), nil
}

// judgeClock judges the readings. A wrong clock is harmless, because it is the only one; a clock that stands still or
// goes back is not.
func judgeClock(readings []reading) Finding {
	const mend = "fix the clock of the Redis server; behind a proxy, give the address of one server"
	best := readings[0]
	for i, r := range readings[1:] {
		if r.redis.Before(readings[i].redis) {
			return bad("TIME went back by "+readings[i].redis.Sub(r.redis).String()+" from one call to the next", mend)
		}
		if r.took < best.took {
			best = r
		}
	}
	if readings[len(readings)-1].redis.Equal(readings[0].redis) {
		return bad("TIME stands still", mend)
	}
	ahead := best.here.Sub(best.redis)
	switch {
	case ahead > clockApart:
		return warn("this machine is "+short(ahead)+" ahead of Redis", "harmless: runs use Redis' clock; for logs that agree, set both by NTP")
	case ahead < -clockApart:
		return warn("this machine is "+short(-ahead)+" behind Redis", "harmless: runs use Redis' clock; for logs that agree, set both by NTP")
	default:
		return ok("runs, this machine is " + short(ahead.Abs()) + " off")
	}
}
