package plot

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/loadctl/loadctl/internal/output/svg"
)

// A Bar is one line of a bar chart, with the span of the measurements. Label stands beside it.
type Bar struct {
	Name, Label      string
	Value, Low, High float64 // 0 ≤ Low ≤ Value ≤ High
}

// Bars draws values side by side, from zero.
func Bars(title string, all []Bar) string {
	const left, right, top, step = 230, 90, 40, 30
	most := math.SmallestNonzeroFloat64 // if all are 0, all bars are empty
	for _, b := range all {
		most = max(most, b.High)
	}
	var out strings.Builder
	open(&out, title, top+step*len(all)+10)
	x := func(v float64) float64 { return left + v/most*(width-left-right) }
	for i, b := range all {
		y := top + step*i
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+16, html.EscapeString(b.Name))
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%.1f" height="20" fill="%s"/>`, left, y, x(b.Value)-left, svg.Colour(i))
		fmt.Fprintf(&out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" style="stroke:#808890;stroke-width:2"/>`, x(b.Low), y+10, x(b.High), y+10)
		fmt.Fprintf(&out, `<text x="%.1f" y="%d">%s</text>`+"\n", x(b.High)+6, y+16, html.EscapeString(b.Label))
	}
	return out.String() + "</svg>\n"
}
