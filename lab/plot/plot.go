// Package plot draws the plots of the benchmarks, as SVG that fetches nothing.
//
//	picture := plot.Bars("Requests a second", []plot.Bar{{Name: "one", Label: "1,000", Value: 1000, Low: 900, High: 1100}})
//
// Each function returns a whole picture as text. It is legible on light and dark backgrounds: the text is grey, the
// colours have medium brightness, and there is no background of its own. Names may contain any text.
package plot

import (
	"fmt"
	"html"
	"strings"
)

const (
	width = 720
	style = `<style>text{font:13px sans-serif;fill:#808890}line{stroke:#80889060}polyline{fill:none;stroke-width:2}</style>`
)

// open begins a picture.
func open(out *strings.Builder, title string, height int) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(out, "%s<title>%s</title>\n"+`<text x="10" y="22" style="font-weight:bold">%s</text>`+"\n",
		style, html.EscapeString(title), html.EscapeString(title))
}
