package plot

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/loadctl/loadctl/internal/output/svg"
)

// A Curve is one line of a plot.
type Curve struct {
	Name   string
	Values []float64 // at least one, sorted, more than zero, µs
}

// Distribution draws, for each curve, the share of the values that are at most x. Times differ by factors, so x is
// logarithmic, from 1 µs to 1 s; values outside are drawn at the edge.
func Distribution(title string, curves []Curve) string {
	const left, right, top, height = 50, 190, 40, 300
	const decades = 6
	var out strings.Builder
	open(&out, title, top+height+40)
	x := func(us float64) float64 {
		return left + min(max(math.Log10(us), 0), decades)/decades*(width-left-right)
	}
	y := func(share float64) float64 { return top + (1-share)*height }
	for i, name := range []string{"1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"} {
		at := x(math.Pow10(i))
		fmt.Fprintf(&out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`,
			at, top, at, top+height, at, top+height+18, name)
	}
	for percent := 0; percent <= 100; percent += 25 {
		at := y(float64(percent) / 100)
		fmt.Fprintf(&out, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%d %%</text>`+"\n",
			left, at, width-right, at, left-6, at+4, percent)
	}
	for i, c := range curves {
		fmt.Fprintf(&out, `<polyline stroke="%s" points="`, svg.Colour(i))
		const points = 400
		for p := range points {
			share := float64(p) / (points - 1)
			v := c.Values[int(share*float64(len(c.Values)-1))]
			fmt.Fprintf(&out, "%.1f,%.1f ", x(v), y(share))
		}
		fmt.Fprintf(&out, `"/><text x="%d" y="%d" style="fill:%s">%s</text>`+"\n", width-right+10, top+14+20*i, svg.Colour(i), html.EscapeString(c.Name))
	}
	return out.String() + "</svg>\n"
}
