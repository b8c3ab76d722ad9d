package compare

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/internal/output/table"
)

const (
	missing    = "–" // in place of an absent figure
	maxClasses = 20  // of errors, for people; JSON has them all
)

// rows returns the figures of both sides, the difference, and the interval with its meaning. Those that differ stand
// out.
func (r Result) rows() []table.Row {
	var all []table.Row
	for _, row := range r.Rows {
		out := table.Row{Name: row.Name, Cells: []table.Cell{
			{Text: atLeast(row.Unit.text(row.Base), row.baseBounded)}, {Text: atLeast(row.Unit.text(row.Other), row.otherBounded)},
			{Text: percent(row.Change()), Strong: row.Difference.Differs()}, {Text: row.verdict()},
		}}
		if row.Difference.Differs() {
			out.Class = "differs"
		}
		all = append(all, out)
	}
	return all
}

// percentileRows returns the percentiles, with a cell for each side.
func percentileRows(kind timed, sides []Summary) []table.Row {
	var all []table.Row
	for _, p := range percentiles() {
		row := table.Row{Name: p.name}
		for _, s := range sides {
			row.Cells = append(row.Cells, table.Cell{Text: s.cell(kind, p)})
		}
		all = append(all, row)
	}
	return all
}

// errorRows returns how many requests failed in each way, with a cell for each side, and how many ways are left out.
func errorRows(sides []Summary) (all []table.Row, hidden int) {
	names := classes(sides)
	shown := min(len(names), maxClasses)
	for _, class := range names[:shown] {
		row := table.Row{Name: class}
		for _, s := range sides {
			e := s.Errors[class]
			row.Cells = append(row.Cells, table.Cell{Text: fmt.Sprintf("%d (%s)", e.Requests, Share.text(e.Share))})
		}
		all = append(all, row)
	}
	return all, len(names) - shown
}

// runs says how many runs there are.
func (s Summary) runs() string {
	if len(s.Runs) == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", len(s.Runs))
}

// atLeast marks a figure with ≥ if it is a lower bound.
func atLeast(text string, bounded bool) string {
	if bounded {
		return "≥" + text
	}
	return text
}

// verdict returns the interval and its meaning.
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

// text formats a figure with three digits.
func (u Unit) text(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return missing
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

// percent formats a difference with its sign.
func percent(share float64) string {
	if math.IsNaN(share) {
		return missing
	}
	digits := 1
	if math.Abs(share) >= 0.9995 {
		digits = 0
	}
	return fmt.Sprintf("%+.*f %%", digits, 100*share)
}
