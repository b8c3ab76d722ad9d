package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/loadctl/loadctl/internal/console/limiters"
	"github.com/loadctl/loadctl/lab/plot"
)

// key explains the columns of WriteSeen.
const key = `
MOST IN 10ms, 100ms: most arrivals in any such time; AT A BORDER: most in any 10ms around the end of a window.
GAPS: standard deviation / mean of the times between arrivals, 0 for a grid. CALLS/s: calls to Redis for permits.
X: most arrivals beyond R·W in any time W; AT MOST: its bound, the limiter's promise plus R times the time from grant to arrival.
rush: callers of the library rest until a window is nearly over, then take all permits they can get.
`

// WriteSeen writes the results for people.
func WriteSeen(w io.Writer, all []Seen) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LIMITER\tUSE\tRATE\tMOST IN 10ms\t100ms\tAT A BORDER\tGAPS\tCALLS/s\tX\tAT MOST\t")
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%s\t%.1f\t%d\t%d\t%d\t%.2f\t%.0f\t%.1f\t%.1f\t%s\n",
			s.Title(), s.Use, s.Rate, s.Most10ms, s.Most100ms, s.AtBorder, s.GapVariation, s.Calls, s.Excess, s.Allowed, s.verdict())
	}
	fmt.Fprint(t, key)
	return t.Flush()
}

// verdict returns the remark beside the figures.
func (s *Seen) verdict() string {
	const few = 100 // a hundredth needs no remark
	switch {
	case !s.Within:
		return "BEYOND ITS BOUND"
	case s.Missed > s.Arrived/few:
		return fmt.Sprintf("%d not sent: too late, or not granted", s.Missed)
	default:
		return ""
	}
}

// Line returns the result in one line.
func (s *Seen) Line() string {
	return fmt.Sprintf("%-16s %-18s %8.1f/s, at most %d in any 10ms, %d in any 100ms", s.Title(), s.Use, s.Rate, s.Most10ms, s.Most100ms)
}

// Title returns the limiter's name and flags.
func (s *Seen) Title() string { return limiters.Limiter{Name: s.Limiter, Flags: s.Flags}.Title() }

// Plot draws the arrivals of each 10 ms as SVG: a strip for each row, with lines at the borders of windows.
func Plot(all []Seen, window time.Duration) string {
	var strips []plot.Strip
	for _, s := range all {
		kind := slices.Index([]Use{Run, AtOnce, Rush}, s.Use)
		strips = append(strips, plot.Strip{Name: s.Title() + ", " + string(s.Use), Kind: kind, Counts: s.per10ms()})
	}
	return plot.Strips("Arrivals in each 10 ms", short, window, strips)
}
