package pacer

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxConcurrency is the most requests that a closed loop may have in flight.
const MaxConcurrency = 1_000_000

// ParseConcurrency reads "c=64": how many requests of a closed loop are in flight at the same time. It returns false if the text
// does not begin so.
func ParseConcurrency(s string) (n int64, is bool, err error) {
	text, is := strings.CutPrefix(s, "c=")
	if !is {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > MaxConcurrency {
		return 0, true, fmt.Errorf("concurrency %q: give a number from 1 to %d, such as c=64", clip(s), MaxConcurrency)
	}
	return n, true, nil
}

// Concurrent returns a segment of a closed loop that has n requests in flight. Such a profile has no rate, so that of its pieces
// carries the number: n in 1,000,000 s. A d of 0 means until stopped.
func Concurrent(n int64, d time.Duration) Segment {
	r := Rate{Num: n, Den: maxDen}
	return Constant(r, d).Segments[0]
}

// Concurrency returns the number of the segment that the piece was made of; 0 if it has a rate.
func (p Piece) Concurrency() int64 {
	if p.Den != maxDen || p.R0 != p.R1 {
		return 0
	}
	return p.R0
}

// Concurrency returns that of the piece which the law is.
func (g *Law) Concurrency() int64 { return Piece{R0: g.R0, R1: g.R1, Den: g.Den}.Concurrency() }
