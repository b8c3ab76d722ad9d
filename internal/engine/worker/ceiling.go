package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/units"
)

// ErrTooFast ends a worker if its fleet is asked for more than its MaxRate.
var ErrTooFast = errors.New("more than --max-qps")

// TooFast returns an ErrTooFast: the fleet may be asked for more in a second than a worker takes part in. asked is in
// requests per second. surge is what the run's limiter may let pass above that in a second.
func TooFast(asked, surge float64, most pacer.Rate) error {
	and := ""
	switch {
	case math.IsInf(surge, 1):
		and = " and its limiter may let any number pass at once (--debt), which is"
	case surge > 0:
		and = fmt.Sprintf(" and its limiter may let %s more pass in a second (burst or window), together", units.Thousandths(surge))
	}
	return fmt.Errorf("the cluster is asked for %s/s,%s %w %s of this worker", units.Thousandths(asked), and, ErrTooFast, most)
}

// Exceeds reports whether a rate plus a surge is more than a worker takes part in. A rate of flows, times their mean
// number of steps, may be above that of --qps by what floats round.
func Exceeds(asked, surge float64, most pacer.Rate) bool {
	const rounding = 1e-12
	return most.Num > 0 && asked+surge > most.Float()*(1+rounding)
}

// ceiling ends a worker before it takes part in more than allowed. A View that is too fast never reaches the shards,
// and they drop all that they have.
type ceiling struct {
	most  pacer.Rate // of the whole cluster, in requests; zero = no limit
	steps float64    // mean number of requests of a slot
	end   context.CancelCauseFunc
	look  func() (func(rate float64) float64, error) // Worker.Surge; nil = no surge
	asked atomic.Uint64                              // the highest rate known from now on: the bits of a float64
	surge atomic.Pointer[func(rate float64) float64] // as last looked up; nil = not yet
	busy  atomic.Bool                                // it is being looked up
}

// admits reports whether a worker takes part in a View that is in force from now on, µs of the Redis clock. If not,
// the worker ends. A goroutine looks up the surge, so nothing waits for the network.
func (c *ceiling) admits(now int64, v *lease.View) bool {
	if c.most.Num == 0 {
		return true
	}
	c.asked.Store(math.Float64bits(v.Laws.Peak(now) * c.steps))
	if c.look != nil && c.busy.CompareAndSwap(false, true) {
		go func() {
			defer c.busy.Store(false)
			if surge, err := c.look(); err == nil { // if Redis does not answer, the next View looks again
				c.surge.Store(&surge)
				c.within()
			}
		}()
	}
	return c.within()
}

// within reports whether the rate and the surge are allowed. If not, the worker ends.
func (c *ceiling) within() bool {
	asked, more := math.Float64frombits(c.asked.Load()), 0.0
	if surge := c.surge.Load(); surge != nil {
		more = (*surge)(asked)
	}
	if !Exceeds(asked, more, c.most) {
		return true
	}
	c.end(TooFast(asked, more, c.most))
	return false
}
