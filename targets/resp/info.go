package resp

import (
	"strings"
)

// RunID returns the run_id in what INFO server answers; "" if there is none.
func RunID(info string) string { return InfoField(info, "run_id") }

// InfoField returns a field of what INFO answers; "" if there is none.
func InfoField(info, name string) string {
	_, value, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ = strings.Cut(value, "\r")
	return value
}
