package loadworker

import (
	"errors"
	"time"
)

// resolution is the shortest time between two wake-ups of a shard for due slots: it trades precision for CPU. As a flag
// it is one of the words below, or a time.
type resolution time.Duration

// The words. Auto is one value for all machines: up to 10,000 slots a second and shard, each slot has its own wake-up.
// Above that, slots are at most 100 µs late.
const (
	auto       = resolution(100 * time.Microsecond)
	precise    = resolution(0)
	economical = resolution(time.Millisecond)
)

// longestResolution is below what a shard takes for a stall.
const longestResolution = 5 * time.Millisecond

// MarshalText returns the text of the default in the help.
func (r resolution) MarshalText() ([]byte, error) {
	switch r {
	case auto:
		return []byte("auto"), nil
	case precise:
		return []byte("precise"), nil
	case economical:
		return []byte("economical"), nil
	}
	return []byte(time.Duration(r).String()), nil
}

// UnmarshalText reads the flag.
func (r *resolution) UnmarshalText(text []byte) error {
	switch string(text) {
	case "auto":
		*r = auto
	case "precise":
		*r = precise
	case "economical":
		*r = economical
	default:
		d, err := time.ParseDuration(string(text))
		if err != nil || d < 0 || d > longestResolution {
			return errors.New("give auto, precise, economical or a time up to 5ms, such as 250us")
		}
		*r = resolution(d)
	}
	return nil
}
