package demo

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The least width of a bar in columns; a narrower terminal breaks lines.
const leastBar = 10

// plot returns a row for each second: requests asked for, requests arrived, their difference, a bar of what arrived
// with a mark where it should end, and events. No row is wider than the look, as long as there is room for a bar.
func plot(seconds []second, l look) string {
	full, mark := "#", "|"
	if l.blocks {
		full, mark = "█", "│"
	}
	most, notes := int64(1), 0
	for _, s := range seconds {
		most = max(most, s.asked, s.arrived)
		notes = max(notes, utf8.RuneCountInString(s.note()))
	}
	head := fmt.Sprintf("%6s %8s %8s %10s  ", "second", "asked", "arrived", "deviation")
	width := max(leastBar, l.width-len(head)-1-notes)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s arrived, %s asked\n", head, full, mark)
	for i, s := range seconds {
		colour := green
		if !s.near() {
			colour = yellow
		}
		deviation := ""
		if s.asked > 0 && (s.whole || s.asked >= 100) { // a part of a second may hold too few requests for percents
			deviation = fmt.Sprintf("%+.*f %%", digits(s.deviation()), s.deviation())
		}
		fmt.Fprintf(&b, "%6d %8d %8d %10s  ", i, s.asked, s.arrived, deviation)
		b.WriteString(strings.TrimRight(s.bar(most, width, full, mark, l, colour)+" "+s.note(), " ") + "\n")
	}
	return b.String()
}

// digits returns the decimals of a deviation: above a thousand percent the column has no room for any.
func digits(deviation float64) int {
	if deviation >= 1000 {
		return 0
	}
	return 2
}

// note returns the events in the second.
func (s second) note() string { return strings.Join(s.marks, ", ") }

// bar has width columns, the last one for a mark at the end of the scale. The mark stands where the bar of what was
// asked for would end: if both are equal, right after the bar.
func (s second) bar(most int64, width int, full, mark string, l look, colour string) string {
	columns := func(n int64) int { return int((2*n*int64(width-1) + most) / (2 * most)) } // rounded
	filled, at := columns(s.arrived), columns(s.asked)
	left := min(filled, at)
	right := max(0, filled-at-1)
	return l.paint(colour, strings.Repeat(full, left)) + strings.Repeat(" ", at-left) + mark +
		l.paint(colour, strings.Repeat(full, right)) + strings.Repeat(" ", width-at-1-right)
}
