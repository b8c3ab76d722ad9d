//go:build linux

package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Plots are plain SVG, without anything that has to be fetched. They are legible on light and on dark ground: the text is
// grey on both, the colours are of middle brightness, and the ground is left as it is.
const (
	plotWidth = 720
	plotStyle = `<style>text{font:13px sans-serif;fill:#808890}line{stroke:#80889060}polyline{fill:none;stroke-width:2}</style>`
)

// palette are the colours of the series, told apart also by those who see few.
func palette(i int) string {
	return []string{"#2f81f7", "#e8590c", "#2da44e", "#bf6fd8", "#c9a227", "#1fa3a3", "#d6336c", "#8a6d4b", "#7a86a8"}[i%9]
}

// A bar is one line of a bar chart, with the span of what was measured.
type bar struct {
	name             string
	value, low, high float64
}

// bars draws values side by side, from zero.
func bars(title string, all []bar) string {
	const left, right, top, step = 230, 90, 40, 30
	most := 0.0
	for _, b := range all {
		most = max(most, b.high)
	}
	var out strings.Builder
	openPlot(&out, title, top+step*len(all)+10)
	x := func(v float64) float64 { return left + v/most*(plotWidth-left-right) }
	for i, b := range all {
		y := top + step*i
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+16, html.EscapeString(b.name))
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%.1f" height="20" fill="%s"/>`, left, y, x(b.value)-left, palette(i))
		fmt.Fprintf(&out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" style="stroke:#808890;stroke-width:2"/>`, x(b.low), y+10, x(b.high), y+10)
		fmt.Fprintf(&out, `<text x="%.1f" y="%d">%s</text>`+"\n", x(b.high)+6, y+16, thousands(b.value))
	}
	return out.String() + "</svg>\n"
}

// A curve is one line of a plot.
type curve struct {
	name   string
	values []float64 // sorted, more than zero, µs
}

// distribution draws, for each curve, which share of the values is at most x. Times differ by factors, so x is
// logarithmic, from 1 µs to 1 s; what is outside is at the edge.
func distribution(title string, curves []curve) string {
	const left, right, top, height = 50, 190, 40, 300
	const decades = 6
	var out strings.Builder
	openPlot(&out, title, top+height+40)
	x := func(us float64) float64 {
		return left + min(max(math.Log10(us), 0), decades)/decades*(plotWidth-left-right)
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
			left, at, plotWidth-right, at, left-6, at+4, percent)
	}
	for i, c := range curves {
		fmt.Fprintf(&out, `<polyline stroke="%s" points="`, palette(i))
		const points = 400
		for p := range points {
			share := float64(p) / (points - 1)
			v := c.values[int(share*float64(len(c.values)-1))]
			fmt.Fprintf(&out, "%.1f,%.1f ", x(v), y(share))
		}
		fmt.Fprintf(&out, `"/><text x="%d" y="%d" style="fill:%s">%s</text>`+"\n", plotWidth-right+10, top+14+20*i, palette(i), html.EscapeString(c.name))
	}
	return out.String() + "</svg>\n"
}

// openPlot begins a picture.
func openPlot(out *strings.Builder, title string, height int) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n",
		plotWidth, height, plotWidth, height)
	fmt.Fprintf(out, "%s<title>%s</title>\n"+`<text x="10" y="22" style="font-weight:bold">%s</text>`+"\n",
		plotStyle, html.EscapeString(title), html.EscapeString(title))
}
