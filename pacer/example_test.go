package pacer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// The slots of one second at 4 per second.
func ExampleProfile_Slots() {
	for k, due := range pacer.Constant(pacer.PerSecond(4), time.Second).Slots() {
		fmt.Println(k, due)
	}
	// Output:
	// 0 0s
	// 1 250ms
	// 2 500ms
	// 3 750ms
}

// Pace yields each slot when it is due.
func ExampleProfile_Pace() {
	for k, due := range pacer.Constant(pacer.PerSecond(100), 30*time.Millisecond).Pace(context.Background()) {
		fmt.Println(k, !time.Now().Before(due))
	}
	// Output:
	// 0 true
	// 1 true
	// 2 true
}

func ExampleParseRate() {
	for _, text := range []string{"500", "2.5k", "0.2", "30/m", "1e3"} {
		rate, err := pacer.ParseRate(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s is %v, %g per second\n", text, rate, rate.Float())
	}
	// Output:
	// 500 is 500, 500 per second
	// 2.5k is 2500, 2500 per second
	// 0.2 is 1/5s, 0.2 per second
	// 30/m is 1/2s, 0.5 per second
	// rate "1e3": not a number of requests per second; write 500, 2.5k, 1M, 0.2 or 30/m
}

// Each stage that takes time is a piece. A jump is none.
func ExampleProfile_Pieces() {
	ramp := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(1000)}, pacer.Stage{To: pacer.PerSecond(500)}, pacer.Stage{Length: time.Minute, To: pacer.PerSecond(500)})
	pieces, err := ramp.Pieces()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pieces {
		fmt.Printf("%4d to %4d per second in %v\n", p.R0, p.R1, time.Duration(p.Dur)*time.Microsecond)
	}
	fmt.Println(ramp.Integral(ramp.Length()), "requests")
	// Output:
	//    0 to 1000 per second in 10s
	//  500 to  500 per second in 1m0s
	// 35000 requests
}

func ExampleLaw_Due() {
	law := pacer.Law{R0: 3, R1: 3, Den: 1, K: pacer.Endless} // three per second from time 0
	for _, slot := range []int64{0, 1, 2, 3, 3_000_000_000} {
		fmt.Println(slot, time.Duration(law.Due(slot)))
	}
	// Output:
	// 0 0s
	// 1 333.333333ms
	// 2 666.666666ms
	// 3 1s
	// 3000000000 277777h46m40s
}
