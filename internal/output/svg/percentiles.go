// Package svg draws plots for documents and for people: plain SVG that fetches nothing.
//
//	picture := svg.Percentiles("latency", 720, []svg.PercentileCurve{{Name: "before", Points: points}})
//
// It returns a whole picture as text. It is legible on light and dark backgrounds: the text is grey, the colours have medium
// brightness, and there is no background of its own. Names may contain any text.
package svg

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"
)

// A PercentileCurve is one line: the latency that each share of the requests did not exceed. Curves of one kind look
// alike and have one name.
type PercentileCurve struct {
	Name   string
	Kind   int
	Points []PercentilePoint // sorted by share
}

// A PercentilePoint is a point of a curve: 0 ≤ Share < 1, NS > 0.
type PercentilePoint struct{ Share, NS float64 }

// percentileFrame maps values into the picture: x by the decades of 1/(1 − share), y by the logarithm of ns.
type percentileFrame struct {
	left, right, top, bottom float64
	decades                  float64
	low, high                float64 // logarithms
}

func (f percentileFrame) x(share float64) float64 {
	return f.left - math.Log10(max(1-share, math.Pow(10, -f.decades)))/f.decades*(f.right-f.left)
}

func (f percentileFrame) y(ns float64) float64 {
	return f.bottom - (math.Log(ns)-f.low)/(f.high-f.low)*(f.bottom-f.top)
}

// Percentiles draws curves over one another, in this width. The slowest requests matter most, so the axis of shares has
// the same room from 0 to 90 % as from there to 99 %, and so on. Latencies differ by factors, so their axis is
// logarithmic. Text takes its colour from the surrounding page. The picture contains no styles, so a page may forbid
// them.
func Percentiles(title string, wide int, curves []PercentileCurve) string {
	var names []string
	for _, c := range curves {
		for len(names) <= c.Kind {
			names = append(names, "")
		}
		names[c.Kind] = c.Name
	}
	const row = 20
	f := frameOf(curves)
	f.left, f.right, f.top = 56, float64(wide)-30, float64(row*len(names)+16)
	f.bottom = f.top + min(400, 0.75*float64(wide))
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" role="img" font-family="system-ui, sans-serif" font-size="13" fill="currentColor">`+"\n<title>%s</title>\n",
		wide, f.bottom+28, html.EscapeString(title))
	for kind, name := range names {
		y := float64(row*kind + 14)
		fmt.Fprintf(&out, `<line x1="%.0f" y1="%.0f" x2="%.0f" y2="%.0f" %s/>`, f.left, y-4, f.left+32, y-4, stroke(kind))
		fmt.Fprintf(&out, `<text x="%.0f" y="%.0f">%s</text>`+"\n", f.left+40, y, html.EscapeString(shortened(name, (wide-112)/8)))
	}
	f.grid(&out)
	for _, c := range curves {
		if len(c.Points) == 0 {
			continue
		}
		fmt.Fprintf(&out, `<polyline fill="none" %s points="`, stroke(c.Kind))
		for _, p := range c.Points {
			fmt.Fprintf(&out, "%.1f,%.1f ", f.x(p.Share), f.y(p.NS))
		}
		out.WriteString(`"/>` + "\n")
	}
	return out.String() + "</svg>\n"
}

// frameOf returns the frame that holds all points.
func frameOf(curves []PercentileCurve) percentileFrame {
	f := percentileFrame{decades: 2, low: math.Inf(1), high: math.Inf(-1)}
	for _, c := range curves {
		for _, p := range c.Points {
			f.decades = max(f.decades, math.Ceil(-math.Log10(1-p.Share)-1e-9))
			f.low, f.high = min(f.low, math.Log(p.NS)), max(f.high, math.Log(p.NS))
		}
	}
	if f.low > f.high { // there are no points
		f.low, f.high = math.Log(1e6), math.Log(1e9)
	}
	room := max(0.2, (f.high-f.low)/20)
	f.low, f.high = f.low-room, f.high+room
	return f
}

// grid draws labelled lines at round values.
func (f percentileFrame) grid(out *strings.Builder) {
	for _, share := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} {
		if -math.Log10(1-share) > f.decades+1e-9 {
			break
		}
		x := f.x(share)
		fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="currentColor" stroke-opacity="0.2"/>`, x, f.top, x, f.bottom)
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x, f.bottom+18, "p"+strconv.FormatFloat(math.Round(share*1e8)/1e6, 'f', -1, 64))
	}
	for _, ns := range f.ticks() {
		y := f.y(ns)
		fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="currentColor" stroke-opacity="0.2"/>`, f.left, y, f.right, y)
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="end">%v</text>`+"\n", f.left-6, y+4, time.Duration(ns))
	}
}

// ticks returns 1, 2, 5, 10, … ns within the frame; if they are many, only powers of 10.
func (f percentileFrame) ticks() []float64 {
	const many = 10
	for _, steps := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 2, 5}, {1}} {
		var all []float64
		for decade := 1.0; decade <= 1e13; decade *= 10 {
			for _, step := range steps {
				if l := math.Log(step * decade); l >= f.low && l <= f.high {
					all = append(all, step*decade)
				}
			}
		}
		if len(all) <= many || len(steps) == 1 {
			return all
		}
	}
	return nil
}

// stroke returns the line style of curves of a kind, which is distinct even without colours.
func stroke(kind int) string {
	dashes := []string{"", ` stroke-dasharray="7 3"`, ` stroke-dasharray="2 3"`, ` stroke-dasharray="9 3 2 3"`}[kind%4]
	return fmt.Sprintf(`stroke="%s" stroke-width="2"%s`, Colour(kind), dashes)
}

// shortened returns the end of a name, which says more than the folders at its beginning.
func shortened(name string, most int) string {
	if runes := []rune(name); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return name
}

// Colour returns the colour of the i-th series, i ≥ 0. They differ in brightness too.
func Colour(i int) string {
	return []string{"#2f81f7", "#e8590c", "#2da44e", "#bf6fd8", "#c9a227", "#1fa3a3", "#d6336c", "#8a6d4b", "#7a86a8"}[i%9]
}
