package units

import (
	"fmt"
	"strings"
)

// mostNumbers is how many numbers of requests in flight a text has.
const mostNumbers = 4

// InFlight formats how many requests of a closed loop are in flight, one number after the other: "c=8", or "c=8, c=16". Of many
// it has the first ones and the last; of none it is "".
func InFlight(numbers []int64) string {
	var all []string
	for i, n := range numbers {
		switch last := len(numbers) - 1; {
		case i < mostNumbers-1 || i == last:
			all = append(all, fmt.Sprintf("c=%d", n))
		case i == last-1:
			all = append(all, "…")
		}
	}
	return strings.Join(all, ", ")
}
