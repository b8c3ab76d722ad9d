package compare

import (
	"bytes"
	"io"
	"math"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// Text writes c for people: for each other side the figures beside those of the base, the errors, and the percentiles
// on a scale.
func Text(w io.Writer, c Comparison) error {
	var b bytes.Buffer
	base := c.Sides[0]
	for i, r := range c.Results {
		other := c.Sides[i+1]
		printable.Fprintf(&b, "base        %s, %s\nother       %s, %s\n\n", base.Name, base.runs(), other.Name, other.runs())
		textFigures(&b, r)
		textErrors(&b, base, other)
		for _, kind := range timesOf([]Summary{base, other}) {
			textPercentiles(&b, kind, base, other)
		}
		b.WriteByte('\n')
		notes := c.notes(i)
		for _, note := range notes {
			printable.Fprintf(&b, "note        %s\n", note)
		}
		if len(notes) > 0 && i < len(c.Results)-1 {
			b.WriteByte('\n')
		}
	}
	for _, warning := range c.Warnings {
		printable.Fprintf(&b, "warning     %s\n", warning)
	}
	for _, line := range c.lines() {
		printable.Fprintf(&b, "fail-on     %s\n", line)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func textFigures(b *bytes.Buffer, r Result) {
	width := 15
	for _, row := range r.Rows {
		width = max(width, len(row.Name))
	}
	printable.Fprintf(b, "%-*s%12s%12s%13s   %s\n", width, "", "base", "other", "difference", "95 % interval, of all rows together")
	for _, row := range r.rows() {
		cells := row.Cells
		printable.Fprintf(b, "%-*s%12s%12s%13s   %s\n", width, row.Name, cells[0].Text, cells[1].Text, cells[2].Text, cells[3].Text)
	}
}

// textErrors writes how many requests failed in each way, and their share of the requests that ended.
func textErrors(b *bytes.Buffer, base, other Summary) {
	all := classes([]Summary{base, other})
	if len(all) == 0 {
		return
	}
	printable.Fprintf(b, "\n%-15s%12s%12s%12s%12s\n", "failed", "base", "", "other", "")
	for _, class := range all[:min(len(all), maxClasses)] {
		from, to := base.Errors[class], other.Errors[class]
		printable.Fprintf(b, "%-15s%12d%12s%12d%12s\n", class, from.Requests, Share.text(from.Share), to.Requests, Share.text(to.Share))
	}
	if hidden := len(all) - maxClasses; hidden > 0 {
		printable.Fprintf(b, "and %d more\n", hidden)
	}
}

// textPercentiles writes the curves of both sides over one another, turned by 90°: a line for each percentile.
func textPercentiles(b *bytes.Buffer, kind timed, base, other Summary) {
	ofBase, ofOther := kind.put(&base), kind.put(&other)
	if !ofBase.any() && !ofOther.any() {
		return
	}
	const width = 38
	low, high := span(*ofBase, *ofOther)
	place := func(ns int64) int {
		if ns <= 0 {
			return -1
		}
		return int(math.Round(math.Log(float64(ns)/low) / math.Log(high/low) * (width - 1)))
	}
	from, to := Nanoseconds.text(low), Nanoseconds.text(high)
	printable.Fprintf(b, "\n%-15s%12s%12s   %s%*s\n", strings.ToLower(kind.title), "base ○", "other ●", from, width-len([]rune(from)), to)
	for _, p := range percentiles() {
		line := []rune(strings.Repeat("·", width))
		from, to := place(*p.put(ofBase)), place(*p.put(ofOther))
		if from >= 0 {
			line[from] = '○'
		}
		if to >= 0 {
			line[to] = '●'
		}
		if from >= 0 && from == to {
			line[to] = '◉'
		}
		printable.Fprintf(b, "%-15s%12s%12s   %s\n", p.name, base.cell(kind, p), other.cell(kind, p), string(line))
	}
}

// span returns the range of these percentiles, in ns, widened on the logarithmic scale to the next 1, 2 or
// 5.
func span(all ...Percentiles) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, of := range all {
		for _, p := range percentiles() {
			if ns := float64(*p.put(&of)); ns > 0 {
				low, high = min(low, ns), max(high, ns)
			}
		}
	}
	from, to := 1.0, 0.0
	for decade := 1.0; to < high; decade *= 10 {
		for _, step := range []float64{decade, 2 * decade, 5 * decade} {
			if step <= low {
				from = step
			}
			if to < high {
				to = step
			}
		}
	}
	return from, max(to, 2*from)
}
