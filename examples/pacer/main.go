// Command pacer prints when each request of a ramp is due, and which of two workers sends it: 0 to 10 per second over 2
// seconds. No Redis, no waiting: the schedule is arithmetic.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

func main() {
	ramp := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 2 * time.Second, To: pacer.PerSecond(10)})
	pieces, err := ramp.Pieces()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	p := pieces[0] // the ramp

	law := pacer.Law{R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: pacer.Endless}
	law.K = law.Asks(law.T0 + law.Dur) // how many slots are due before the end

	// Two workers that hold one half of the circle each have the whole, every slot once.
	for i, half := range []circle.Range{{Lo: 0, N: circle.Units / 2}, {Lo: circle.Units / 2, N: circle.Units / 2}} {
		fmt.Printf("worker %d sends %d of %d requests:\n", i+1, half.Count(0, law.K), law.K)
		for w := half.Walk(0); w.Ordinal() < law.K; w.Next() {
			fmt.Printf("  slot %d is due after %v\n", w.Ordinal(), time.Duration(law.Due(w.Ordinal())).Round(time.Microsecond))
		}
	}
}
