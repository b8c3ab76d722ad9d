package pacer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

func TestExp(t *testing.T) {
	for _, c := range []struct {
		n          int
		qmax, rate int64
		rtt        time.Duration
	}{{100, 10000, 4000, 2 * time.Millisecond}, {100, 500, 4000, 2 * time.Millisecond}, {200, 400, 4000, 2 * time.Millisecond}, {10, 10000, 4000, 50 * time.Millisecond}, {10, 10000, 4000, 100 * time.Millisecond}, {10, 10000, 4000, 150 * time.Millisecond}, {10, 10000, 4000, 200 * time.Millisecond}, {50, 10000, 100, 200 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			o := compile(t, pacer.Constant(pacer.PerSecond(c.rate), 20*time.Second))
			o.Min = int64(c.n)
			o.Qmax = c.qmax
			f := newFleet(o)
			d := f.limiter.Delay
			f.limiter.Delay = func(a pacer.Ask) (time.Duration, time.Duration) {
				x, y := d(a)
				return x - 1*time.Millisecond + c.rtt/2, y - 1*time.Millisecond + c.rtt/2
			}
			_ = model.Options{}
			for range c.n {
				f.join(1)
				f.members[len(f.members)-1].leaser.Qmax = c.qmax
			}
			f.wait(t)
			all, each, late := f.all(t)
			lo, hi := 1<<60, 0
			for _, e := range each {
				lo, hi = min(lo, len(e)), max(hi, len(e))
			}
			fmt.Printf("n %d qmax %d rate %d rtt %v: sent %d of %d late %d skipped %d shares %d..%d calls/s %.1f\n", c.n, c.qmax, c.rate, c.rtt, len(all), c.rate*20, late, f.skipped(), lo, hi, float64(f.limiter.Calls())/20)
		})
	}
}
