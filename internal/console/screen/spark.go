package screen

import "math"

// bars are the heights of a block, in eighths.
const bars = "▁▂▃▄▅▆▇█"

// spark draws values as bars, the newest at the right: rows lines of width columns, the top line first. A bar of the
// height top fills all rows.
//
//	bar = ⌈v / top · 8 · rows⌉ eighths
//
// So a small value is seen, and only 0 has no bar. Of too many values the newest are drawn.
func spark(values []int64, top int64, width, rows int) []string {
	values = values[max(0, len(values)-max(0, width)):]
	blocks := []rune(bars)
	lines := make([]string, rows)
	for i := range lines {
		line := make([]rune, len(values))
		below := (rows - 1 - i) * len(blocks) // eighths of the rows below this one
		for j, v := range values {
			line[j] = ' '
			height := 0
			if top > 0 {
				height = int(math.Ceil(float64(v) / float64(top) * float64(len(blocks)*rows)))
			}
			if rest := min(height-below, len(blocks)); rest > 0 {
				line[j] = blocks[rest-1]
			}
		}
		lines[i] = string(line)
	}
	return lines
}
