package limiters

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// legend explains the columns of the table.
const legend = `
BOUND: most permits in any time of length W. R: rate, c: permits in a window, b: burst, m: number of parts of a window, %d.
AT ONCE: most permits granted at one instant; AT A BORDER: most that come together where two windows meet.
COMMANDS: Redis commands in a call that grants one permit while 900 of 1,000 are in the window; BYTES: sent and received by that call.
MEMORY: bytes of a key with %d permits in its window.
gcra without --burst makes no call for each request: its figures are those of a renewal, 2 a second from each worker.
`

// WriteTable writes the limiters of the table for people.
func WriteTable(w io.Writer, all []Limiter) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LIMITER\tBOUND\tAT ONCE\tAT A BORDER\tCOMMANDS\tBYTES\tMEMORY\tWHEN TO USE IT")
	for _, l := range all {
		fmt.Fprintf(t, "%s\tR·W + %s\t%s\t%s\t%d\t%d+%d\t%s\t%s\n",
			l.Title(), l.Extra, l.AtOnce, l.AtBorder, l.Commands, l.Sent, l.Received, l.memory(), l.When)
	}
	fmt.Fprintf(t, legend, Parts, Crowd)
	return t.Flush()
}

// memory formats Memory.
func (l Limiter) memory() string {
	switch {
	case l.Memory == 0:
		return "the run's own"
	case l.PerPermit:
		return fmt.Sprintf("%d a permit", l.Memory/Crowd)
	default:
		return fmt.Sprint(l.Memory)
	}
}
