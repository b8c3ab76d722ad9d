package limiters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/console/cli"
)

// A Limiter holds the facts about a limiter. R is the rate, c the number of permits in a window, b the burst, m the
// number of parts of a window.
type Limiter struct {
	Name  string `json:"name"`            // as --limiter takes it
	Flags string `json:"flags,omitempty"` // distinguishes limiters of the same name

	Extra    string `json:"extra"`     // the x of the promise: at most R·W + x permits in any time of length W
	AtOnce   string `json:"at_once"`   // the most that one instant can grant
	AtBorder string `json:"at_border"` // the most that come together at the border of two windows

	Commands int `json:"commands"`       // Redis commands within a call that grants one permit, without the call itself
	Sent     int `json:"sent_bytes"`     // in a call
	Received int `json:"received_bytes"` // in its reply

	Memory    int  `json:"memory_bytes"` // of a key with Crowd permits in its window
	PerPermit bool `json:"per_permit"`   // the memory grows with the permits; else it does not depend on them

	When string `json:"when"` // when to use it

	Library bool       `json:"-"` // pacer/limit has it
	Bursts  bool       `json:"-"` // it has a burst
	Queues  bool       `json:"-"` // its permits are for later
	Terms   [3]float64 `json:"-"` // Extra as multiples of c, b and 1
}

// Crowd is the number of permits in the window for which Memory is measured.
const Crowd = 10_000

// Parts is m, the default number of parts of a sliding window.
const Parts = 10

// Table lists all limiters, the default limiter of runs first.
func Table() []Limiter {
	return []Limiter{
		{
			Name: "gcra", Extra: "1", AtOnce: "1", AtBorder: "1", Terms: [3]float64{0, 0, 1},
			Commands: 5, Sent: 495, Received: 110,
			When: "runs: even, and without a call for each request",
		},
		{
			Name: "gcra", Flags: "--burst", Extra: "b", AtOnce: "b", AtBorder: "b", Terms: [3]float64{0, 1, 0},
			Commands: 5, Sent: 206, Received: 49, Memory: 152, Library: true, Bursts: true,
			When: "as the token bucket; with a burst of 1 evenly spaced",
		},
		{
			Name: "token-bucket", Extra: "b", AtOnce: "b", AtBorder: "b", Terms: [3]float64{0, 1, 0},
			Commands: 5, Sent: 222, Received: 49, Memory: 152, Library: true, Bursts: true,
			When: "a mean rate, with bursts that were saved up",
		},
		{
			Name: "leaky-bucket", Extra: "1", AtOnce: "b wait", AtBorder: "1", Terms: [3]float64{0, 0, 1},
			Commands: 5, Sent: 238, Received: 58, Memory: 168, Library: true, Bursts: true, Queues: true,
			When: "to be even: callers are told when to go",
		},
		{
			Name: "sliding-log", Extra: "c", AtOnce: "c", AtBorder: "c", Terms: [3]float64{1, 0, 0},
			Commands: 9, Sent: 220, Received: 49, Memory: 1_300_000, PerPermit: true, Library: true,
			When: "small counts that must be exact in every window",
		},
		{
			Name: "sliding-list", Extra: "c", AtOnce: "c", AtBorder: "c", Terms: [3]float64{1, 0, 0},
			Commands: 17, Sent: 222, Received: 49, Memory: 101_000, PerPermit: true, Library: true,
			When: "the same with less memory",
		},
		{
			Name: "sliding-window", Extra: "c·(1 + 2/m)", AtOnce: "c", AtBorder: "c", Terms: [3]float64{1 + 2./Parts, 0, 0},
			Commands: 6, Sent: 227, Received: 49, Memory: 136, Library: true,
			When: "large counts, nearly exact",
		},
		{
			Name: "fixed-window", Extra: "2c", AtOnce: "c", AtBorder: "2c", Terms: [3]float64{2, 0, 0},
			Commands: 4, Sent: 222, Received: 49, Memory: 152, Library: true,
			When: `quotas ("1000 a day"); where twice as much around a border does no harm`,
		},
	}
}

// Names returns the names that Named knows.
func Names() []string {
	var names []string
	for _, l := range Table() {
		names = append(names, l.Name)
	}
	return slices.Compact(names)
}

// Named returns the limiters with these names, alone or with flags as in the table; without names, all of them.
func Named(names ...string) ([]Limiter, error) {
	all := Table()
	if len(names) == 0 {
		return all, nil
	}
	called := func(l Limiter, name string) bool { return l.Name == name || l.Title() == name }
	for _, name := range names {
		if !slices.ContainsFunc(all, func(l Limiter) bool { return called(l, name) }) {
			known := Names()
			return nil, fmt.Errorf("limiter %.40q: there is none; %stake one of %s", name, cli.Similar(name, known), strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(l Limiter) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return called(l, name) })
	}), nil
}

// Title returns the name and flags of a limiter.
func (l Limiter) Title() string { return strings.TrimSpace(l.Name + " " + l.Flags) }

// Most returns Extra as a number, for count permits in a window and a burst.
func (l Limiter) Most(count, burst int64) float64 {
	return l.Terms[0]*float64(count) + l.Terms[1]*float64(burst) + l.Terms[2]
}
