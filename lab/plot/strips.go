package plot

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/output/svg"
)

// A Strip is one of several small plots, one below the other: a count for each span of time.
type Strip struct {
	Name   string
	Kind   int   // strips of one kind have the same colour
	Counts []int // of consecutive spans
}

// Strips draws the counts of spans of a length over the same time, each strip to its own scale, which is written at its
// right end. Lines divide the time at multiples of mark. Both lengths are more than 0.
func Strips(title string, span, mark time.Duration, all []Strip) string {
	const left, right, top, step, high = 10, 110, 36, 84, 50
	bottom, longest := top+step*len(all), 1
	for _, s := range all {
		longest = max(longest, len(s.Counts))
	}
	var out strings.Builder
	open(&out, title, bottom+24)
	scale := float64(width-left-right) / float64(longest)
	for at := time.Duration(0); at <= time.Duration(longest)*span; at += mark {
		x := left + at.Seconds()/span.Seconds()*scale
		fmt.Fprintf(&out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text x="%.1f" y="%d">%v</text>`+"\n", x, top, x, bottom, x+3, bottom+14, at)
	}
	for i, s := range all {
		floor, most := top+step*(i+1)-10, 0
		if len(s.Counts) > 0 {
			most = slices.Max(s.Counts)
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d" style="fill:%s">%s</text>`, left+3, floor-high-8, svg.Colour(s.Kind), html.EscapeString(s.Name))
		fmt.Fprintf(&out, `<line x1="%d" y1="%d" x2="%d" y2="%d"/>`, left, floor, width-right, floor)
		fmt.Fprintf(&out, `<text x="%d" y="%d">up to %d</text>`, width-right+8, floor-high+10, most)
		fmt.Fprintf(&out, `<path fill="%s" d="`, svg.Colour(s.Kind))
		for j, n := range s.Counts {
			if n > 0 {
				tall := float64(n) / float64(most) * high
				fmt.Fprintf(&out, "M%.1f %dv-%.1fh%.1fv%.1fz", left+float64(j)*scale, floor, tall, scale, tall)
			}
		}
		out.WriteString(`"/>` + "\n")
	}
	return out.String() + "</svg>\n"
}
