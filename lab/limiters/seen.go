package main

import (
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/proof/evenness"
)

// Use is how a limiter is used while it is measured.
type Use string

// The uses, in the order in which they are measured.
const (
	// Run is a run of two workers, as users make it.
	Run Use = "run"
	// AtOnce is the same with --spread=false: granted requests leave at once.
	AtOnce Use = "run --spread=false"
	// Rush is two callers of the library. After the first permit they rest until a window is nearly over. From then on
	// they take all permits that they can get, and use each at once or at the time that the answer says. It is the
	// worst case for a limiter.
	Rush Use = "rush"
)

// Seen is what a server saw of a limiter.
type Seen struct {
	Limiter string `json:"limiter"`
	Flags   string `json:"flags,omitempty"` // as in Limiter
	Use     Use    `json:"use"`

	Arrived      int64   `json:"arrived"`
	Missed       int64   `json:"missed"`           // requests that a run asked for but did not send, because they were too late or not granted
	Rate         float64 `json:"rate"`             // Arrived per second of the measurement
	Most100ms    int     `json:"most_in_100ms"`    // in any 100 ms
	Most10ms     int     `json:"most_in_10ms"`     // in any 10 ms
	AtBorder     int     `json:"most_at_border"`   // in any 10 ms within 100 ms of a border; windows count from the first arrival
	GapVariation float64 `json:"gap_variation"`    // standard deviation of the gaps divided by their mean: 0 for a grid
	Calls        float64 `json:"calls_per_second"` // calls to Redis for permits

	Excess  float64       `json:"excess"`         // the largest of arrived − R·W, over all times W
	Allowed float64       `json:"excess_at_most"` // its bound: the limiter's x, and R times the time from grant to arrival
	Late    time.Duration `json:"late_ns"`        // the longest time from when a permit could be used to the answer
	Within  bool          `json:"within_bound"`

	times []int64 // of arrivals, ns, sorted
}

// The spans of Seen.
const (
	short  = 10 * time.Millisecond
	long   = 100 * time.Millisecond
	around = 100 * time.Millisecond
)

// look fills in what the arrivals show. They are in ns, sorted.
func (s *Seen) look(times []int64, m Measurement) {
	s.times, s.Arrived = times, int64(len(times))
	if s.Use != Rush {
		s.Missed = max(0, int64(float64(m.QPS)*m.Duration.Seconds())-s.Arrived)
	}
	s.Rate = float64(s.Arrived) / m.Duration.Seconds()
	s.Most100ms, s.Most10ms = evenness.MaxInWindow(times, long), evenness.MaxInWindow(times, short)
	s.AtBorder = atBorder(times, m.Window)
	if len(times) > 2 {
		s.GapVariation = evenness.GapVariation(times)
	}
	s.Excess = excess(times, float64(m.QPS))
	s.Within = s.Excess <= s.Allowed
}

// atBorder returns the most arrivals in any 10 ms within 100 ms of a border between two windows.
func atBorder(times []int64, window time.Duration) (most int) {
	if len(times) == 0 {
		return 0
	}
	for border := times[0] + int64(window); border <= times[len(times)-1]+int64(around); border += int64(window) {
		first, _ := slices.BinarySearch(times, border-int64(around))
		end, _ := slices.BinarySearch(times, border+int64(around)+1)
		most = max(most, evenness.MaxInWindow(times[first:end], short))
	}
	return most
}

// excess returns the largest of n − rate·W over all spans of time, where n is the number of arrivals in a span of
// length W, both ends included. The largest is in a span that begins and ends with an arrival:
//
//	max over i ≤ j of (j − i + 1) − rate·(t(j) − t(i))
//
// It is 1 for a perfect grid, and 0 for no arrivals.
func excess(times []int64, rate float64) (most float64) {
	lowest := math.Inf(1) // of i − rate·t(i)
	for j, at := range times {
		here := float64(j) - rate*float64(at-times[0])/1e9
		lowest = min(lowest, here)
		most = max(most, here-lowest+1)
	}
	return most
}

// per10ms counts the arrivals of each 10 ms from the first one on.
func (s *Seen) per10ms() []int {
	var counts []int
	for _, at := range s.times {
		i := int((at - s.times[0]) / int64(short))
		for len(counts) <= i {
			counts = append(counts, 0)
		}
		counts[i]++
	}
	return counts
}
