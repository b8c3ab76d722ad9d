package trace

import (
	"errors"
	"strconv"
	"strings"
)

// A Share is a part of all traces, in millionths. The zero value is none of them.
type Share int64

// All is the share of all traces.
const All Share = 1_000_000

// Sampled reports whether the trace of an ordinal is one of the share p: if
//
//	⌊(n+1)·p⌋ ≠ ⌊n·p⌋
//
// So any window of w ordinals has w·p of them, less than one more or less. Multiples of a million change nothing, so they
// are left out: n·p could overflow.
func (s Share) Sampled(ordinal uint64) bool {
	n := int64(ordinal % uint64(All))
	return (n+1)*int64(s)/int64(All) != n*int64(s)/int64(All)
}

// errShare says what a share looks like.
var errShare = errors.New("give a share such as 1% or 0.01, from 0 to 100%, with at most 0.0001%")

// ParseShare reads a share: 1%, 0.5% or 0.005.
func ParseShare(text string) (Share, error) {
	digits, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	places := 6 // behind the point
	if percent {
		places = 4
	}
	whole, rest, point := strings.Cut(strings.TrimSpace(digits), ".")
	rest = strings.TrimRight(rest, "0")
	if whole == "" || point && len(rest) > places || len(whole) > 3 {
		return 0, errShare
	}
	n, err := strconv.ParseUint(whole+rest+strings.Repeat("0", places-len(rest)), 10, 32)
	if err != nil || n > uint64(All) {
		return 0, errShare
	}
	return Share(n), nil
}

// String returns the share as ParseShare reads it, in percent.
func (s Share) String() string {
	return strconv.FormatFloat(float64(s)/1e4, 'f', -1, 64) + "%"
}

// Float returns the share as a number from 0 to 1.
func (s Share) Float() float64 { return float64(s) / float64(All) }

// MarshalText implements encoding.TextMarshaler.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(text []byte) (err error) {
	*s, err = ParseShare(string(text))
	return err
}
