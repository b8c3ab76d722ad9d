package compare

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/internal/printable"
)

// WriteText writes a result for people.
func (r Result) WriteText(w io.Writer, base, other Side) error {
	if _, err := printable.Fprintf(w, "base        %s, %s\nother       %s, %s\n\n", base.Name, base.runs(), other.Name, other.runs()); err != nil {
		return err
	}
	printable.Fprintf(w, "%-15s%12s%12s%13s   %s\n", "", "base", "other", "difference", "95 % interval, of all rows together")
	for _, row := range r.Rows {
		printable.Fprintf(w, "%-15s%12s%12s%13s   %s\n", row.Name, row.Unit.text(row.Base), row.Unit.text(row.Other), percent(row.Change()), row.verdict())
	}
	printable.Fprintf(w, "\n")
	for _, note := range r.Notes {
		printable.Fprintf(w, "note        %s\n", note)
	}
	return nil
}

// runs is how many there are.
func (s Side) runs() string {
	if len(s.Runs) == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", len(s.Runs))
}

// verdict is the interval, and what it means.
func (r Row) verdict() string {
	if r.Difference == nil {
		return "none: " + r.Why
	}
	text := fmt.Sprintf("%s to %s", percent(r.Difference.Low), percent(r.Difference.High))
	switch {
	case r.Difference.Low > 0:
		return text + ": higher"
	case r.Difference.High < 0:
		return text + ": lower"
	default:
		return text + ": no difference seen"
	}
}

// text is a figure with three digits.
func (u Unit) text(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case u == Share:
		return strconv.FormatFloat(100*v, 'f', 2, 64) + " %"
	case u == PerSecond:
		return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + "/s"
	}
	d, digit := time.Duration(v), time.Duration(1)
	for d/digit >= 1000 {
		digit *= 10
	}
	return d.Round(digit).String()
}

// percent is a difference with its sign.
func percent(share float64) string {
	if math.IsNaN(share) {
		return "–"
	}
	digits := 1
	if math.Abs(share) >= 0.9995 {
		digits = 0
	}
	return fmt.Sprintf("%+.*f %%", digits, 100*share)
}
