package preview

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/loadctl/loadctl/report/units"
)

// The size of the plot without its axes. With the widest label it has 80 columns.
const (
	columns = 64
	rows    = 10
)

// Text writes the figures and the plot, for people.
func (p Preview) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "peak\t%s/s\n", units.Rate(p.Peak))
	fmt.Fprintf(t, "mean\t%s/s\n", units.Rate(p.Mean))
	fmt.Fprintf(t, "requests\t%s\n", p.requests())
	fmt.Fprintf(t, "length\t%s\n\n", p.length())
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	if _, err := io.WriteString(w, p.plot()); err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}

func (p Preview) requests() string {
	switch {
	case p.Requests != nil:
		return fmt.Sprint(*p.Requests)
	case p.Period > 0:
		return fmt.Sprintf("%d every %s", p.perTurn, units.Length(p.Period))
	default:
		return "without end"
	}
}

func (p Preview) length() string {
	text := "until stopped"
	if p.Length > 0 {
		text = units.Length(p.Length)
	}
	if p.Period > 0 {
		text += ", repeats every " + units.Length(p.Period)
	}
	if p.Shown != p.Length {
		text += "; the plot shows " + units.Length(p.Shown)
	}
	return text
}

// plot draws a column for each point: the mean as a block, and what the peak has above it as a shade.
func (p Preview) plot() string {
	labels := map[int]string{} // by row
	if p.Peak > 0 {
		labels = map[int]string{rows: units.Rate(p.Peak), rows / 2: units.Rate(p.Peak / 2)}
	}
	width := max(1, len(labels[rows]), len(labels[rows/2]))
	var b strings.Builder
	for row := rows; row > 0; row-- {
		var line strings.Builder
		for _, at := range p.Points {
			line.WriteString(cell(at, row, p.Peak))
		}
		fmt.Fprintf(&b, "%*s │%s\n", width, labels[row], strings.TrimRight(line.String(), " "))
	}
	fmt.Fprintf(&b, "%*s └%s\n", width, "0", strings.Repeat("─", len(p.Points)))
	b.WriteString(p.times(width + 2))
	return b.String()
}

// cell returns what a point has in a row, of which 1 is the lowest. A mean above zero shows, however low it is.
func cell(at Point, row int, peak float64) string {
	if peak <= 0 {
		return " "
	}
	eighths := func(rate float64) int { return int(math.Round(rate / peak * rows * 8)) }
	level, above := eighths(at.Mean), eighths(at.Peak)
	if at.Mean > 0 {
		level = max(1, level)
	}
	below := (row - 1) * 8
	switch part := level - below; {
	case part >= 8:
		return "█"
	case part > 0:
		return string([]rune("▁▂▃▄▅▆▇")[part-1])
	case above > below:
		return "░"
	default:
		return " "
	}
}

// times returns the labels of the time axis: the start, the middle and the end.
func (p Preview) times(indent int) string {
	n := len(p.Points)
	middle, end := units.Length(p.Shown/2), units.Length(p.Shown)
	if p.Shown%2 != 0 || n < columns || len(middle)+len(end) > columns/2-4 {
		middle = ""
	}
	line := []byte(strings.Repeat(" ", indent+max(n, len(end)+2)))
	copy(line[indent:], "0")
	copy(line[indent+n/2:], middle)
	copy(line[len(line)-len(end):], end)
	return string(line) + "\n"
}
