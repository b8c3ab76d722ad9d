package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// cell returns a text in exactly this many columns, without control characters. A text that is too long loses its end.
func cell(text string, width int) string {
	text = ansi.Truncate(printable.Line(text), max(0, width), "…")
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// number is cell for a number: it stands at the right. One that is too long stays whole, as half a number is wrong.
func number(text string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) + printable.Line(text)
}

// padded fills a line that has styles up with spaces.
func padded(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

// fit cuts a line that has styles.
func fit(line string, width int) string { return ansi.Truncate(line, max(0, width), "") }
