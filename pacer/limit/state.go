package limit

import (
	"math"
	"time"
)

// state is what a limiter knows of a key in memory. It is the script of the limiter in Go: the same steps with the same
// numbers. They are floats as in Lua, and integers below 2⁵³, so they are exact. Times are µs. lua/limiter.lua describes
// decide and undo.
type state interface {
	decide(now float64, l *law, n float64, all bool) reply
	undo(at, n float64, name int64) float64
}

// law is a limit as the scripts know it. up and down are its rate in lowest terms: up permits each down µs.
type law struct {
	count, window, burst, option float64
	up, down                     float64
	name                         int64 // of the call
}

func (l Limit) law(option, name int64) law {
	up, down := l.Count, l.Window.Microseconds()
	for down > 0 {
		up, down = down, up%down
	}
	return law{
		count: float64(l.Count), window: float64(l.Window.Microseconds()), burst: float64(l.burst()), option: float64(option),
		up: float64(l.Count / up), down: float64(l.Window.Microseconds() / up), name: name,
	}
}

// capacity returns the most permits that can ever be granted at once.
func (k kind) capacity(l law) float64 {
	switch {
	case !k.bursts:
		return l.count
	case k.option == "Debt" && l.option == 1:
		return math.Floor(maxDrops / l.down)
	}
	return l.burst
}

// reply is what decide returns. lives is for how long the changed state must be kept, µs; 0 = nothing has changed, or its
// end has not.
type reply struct{ granted, remaining, retry, reset, at, lives float64 }

func (r reply) answer(name int64) Answer {
	return Answer{
		Granted: int64(r.granted), Remaining: int64(r.remaining),
		RetryAfter: time.Duration(r.retry) * time.Microsecond, ResetAfter: time.Duration(r.reset) * time.Microsecond,
		at: int64(r.at), name: name,
	}
}

// portion is how many of n are granted if there is room for free.
func portion(free, n float64, all bool) float64 {
	switch {
	case free >= n:
		return n
	case all:
		return 0
	}
	return max(0, free)
}

// lifetime is how long a state must be kept that is of no use after reset µs.
func lifetime(reset float64) float64 { return math.Ceil(reset/1000)*1000 + spare }

// recount converts drops from the rate up/down to that of the law (lua/bucket.lua).
func recount(drops, up, down float64, l *law, round func(float64) float64) float64 {
	if up == l.up && down == l.down {
		return drops
	}
	permits := math.Floor(drops / down)
	drops = permits*l.down + round((drops-permits*down)/down*l.down)
	most := max(l.burst*l.down, min(maxDrops, maxWindow.Seconds()*1e6*l.up))
	return max(-most, min(most, drops))
}
