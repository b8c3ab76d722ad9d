package demo

import (
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// second is one second of the run, counted from its start.
type second struct {
	asked   int64 // the integral of the rate in force
	arrived int64 // as the target counted
	marks   []string
	whole   bool // the run did not end in it
	moved   bool // a step of the story happened in it
	shaken  bool // a worker died in it, or just before
}

// count divides the run into seconds. asked is the integral of the rate up to an instant; times are the arrivals in ns
// since 1970, sorted. Every request asked for or arrived is in a second: the columns add up to the totals.
func count(asked func(time.Time) int64, start time.Time, length time.Duration, times []int64, moments []moment) []second {
	arrived := arrivals.PerSecond(times, start.UnixNano())
	seconds := make([]second, max(len(arrived), int((length+time.Second-1)/time.Second)))
	early, _ := slices.BinarySearch(times, start.UnixNano()) // the workers' clocks are off by some µs
	seconds[0].arrived = int64(early)
	for i, n := range arrived {
		seconds[i].arrived += int64(n)
	}
	before := int64(0)
	for i := range seconds {
		end := time.Duration(i+1) * time.Second
		upTo := asked(start.Add(end))
		seconds[i].asked, before = upTo-before, upTo
		seconds[i].whole = end <= length
	}
	for _, m := range moments {
		at := int(m.at.Sub(start) / time.Second)
		if m.at.Before(start) || at >= len(seconds) {
			continue // before the start, or after the last arrival
		}
		if m.mark != "" {
			seconds[at].marks = append(seconds[at].marks, m.mark)
		}
		seconds[at].moved = seconds[at].moved || m.step
		for i := at; m.shakes && i < min(at+aftermath, len(seconds)); i++ {
			seconds[i].shaken = true
		}
	}
	return seconds
}

// steady tells whether nothing in the story could affect the count of the second.
func (s second) steady() bool { return s.whole && !s.moved && !s.shaken }

// deviation returns the difference between arrived and asked, in percent of asked; 0 if nothing was asked for.
func (s second) deviation() float64 {
	if s.asked == 0 {
		return 0
	}
	return 100 * float64(s.arrived-s.asked) / float64(s.asked)
}

// tolerance is how far a second may be off, in percent.
const tolerance = 1

// worse tells whether the second is further off than another one.
func (s second) worse(than second) bool {
	if s.near() != than.near() {
		return than.near()
	}
	return math.Abs(s.deviation()) > math.Abs(than.deviation())
}

// near tells whether the count of arrivals is within the tolerance. One request is always tolerated: it may be due at
// the very end of a second and arrive in the next one.
func (s second) near() bool {
	off := max(s.arrived-s.asked, s.asked-s.arrived)
	return off <= 1 || 100*off <= tolerance*s.asked
}
