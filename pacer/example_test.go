package pacer_test

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// The first ten of 100 numbers leased from a schedule of 1000 per second. They are spread over their frame of 16 slots.
func Example() {
	var now int64 // µs of the Redis clock

	rate, _ := pacer.ParseRate("1000")
	pieces, _ := pacer.Constant(rate, 10*time.Second).Pieces()
	p := pieces[0]
	law := pacer.Law{T0: now, R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: pacer.Endless, F: p.F}
	law.K = law.Before(law.T0 + law.Dur)
	lease := pacer.Range{Law: law, First: 0, N: 10}
	for c := lease.Cursor(0, 1); c.Ok(); c.Next() {
		fmt.Println(c.Slot(), time.Duration(c.Due()))
	}
	// Output:
	// 0 0s
	// 1 1ms
	// 2 2ms
	// 4 4ms
	// 6 6ms
	// 8 8ms
	// 9 9ms
	// 10 10ms
	// 12 12ms
	// 14 14ms
}

func ExampleParseRate() {
	for _, text := range []string{"500", "2.5k", "0.2", "30/1m", "1e3"} {
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
	// 30/1m is 1/2s, 0.5 per second
	// rate "1e3": not a number of requests per second; write 500, 2.5k, 1M, 0.2 or 30/1m
}

// A ramp is divided where its rate doubles, so that one frame size suits each piece.
func ExampleProfile_Pieces() {
	ramp := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(1000)})
	pieces, err := ramp.Pieces()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pieces {
		fmt.Printf("%4d to %4d per second in %v, frames of %d\n", p.R0, p.R1, time.Duration(p.Dur)*time.Microsecond, p.F)
	}
	fmt.Println(ramp.Integral(ramp.Length()), "requests")
	// Output:
	//    0 to  320 per second in 3.2s, frames of 1
	//  320 to  640 per second in 3.2s, frames of 8
	//  640 to 1000 per second in 3.6s, frames of 16
	// 5000 requests
}

func ExampleLaw_Due() {
	law := pacer.Law{R0: 3, R1: 3, Den: 1, K: pacer.Endless, F: 1} // three per second from time 0
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

// Two shards of one worker divide a lease; together they have each slot once.
func ExampleRange_Cursor() {
	law := pacer.Law{R0: 400, R1: 400, Den: 1, K: pacer.Endless, F: 8}
	lease := pacer.Range{Law: law, First: 8, N: 8}
	for shard := range 2 {
		for c := lease.Cursor(shard, 2); c.Ok(); c.Next() {
			fmt.Printf("shard %d: slot %d after %v\n", shard, c.Slot(), time.Duration(c.Due()))
		}
	}
	// Output:
	// shard 0: slot 9 after 22.5ms
	// shard 0: slot 11 after 27.5ms
	// shard 0: slot 13 after 32.5ms
	// shard 0: slot 15 after 37.5ms
	// shard 1: slot 8 after 20ms
	// shard 1: slot 10 after 25ms
	// shard 1: slot 12 after 30ms
	// shard 1: slot 14 after 35ms
}
