// Command pacer prints when each request of a ramp is due: 0 to 10 per second over 2 seconds. No Redis, no waiting:
// the schedule is arithmetic.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

func main() {
	ramp := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 2 * time.Second, To: pacer.PerSecond(10)})
	pieces, err := ramp.Pieces()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	p := pieces[0] // a ramp this gentle is one piece; a steeper one is divided where its rate doubles

	law := pacer.Law{R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, F: p.F, K: pacer.Endless}
	law.K = law.Before(law.T0 + law.Dur) // how many slots are due before the end

	// Two workers that lease one half each cover the whole, every slot once.
	for _, lease := range []pacer.Range{
		{Law: law, First: 0, N: law.K / 2},
		{Law: law, First: law.K / 2, N: law.K - law.K/2},
	} {
		fmt.Printf("a lease of the numbers %d to %d:\n", lease.First, lease.First+lease.N-1)
		for c := lease.Cursor(0, 1); c.Ok(); c.Next() {
			fmt.Printf("  slot %d is due after %v\n", c.Slot(), time.Duration(c.Due()).Round(time.Microsecond))
		}
	}
}
