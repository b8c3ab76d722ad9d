package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// ErrTooFast ends a worker of a fleet that is asked for more than its MaxRate.
var ErrTooFast = errors.New("more than --max-qps")

// TooFast is the error that a fleet may be asked for more in a second than a worker takes part in: an ErrTooFast. asked is in requests per second,
// surge is how many the run's limiter may let pass in some second besides.
func TooFast(asked, surge float64, most pacer.Rate) error {
	and := ""
	switch {
	case math.IsInf(surge, 1):
		and = " and its limiter may let any number pass at once (--debt), which is"
	case surge > 0:
		and = fmt.Sprintf(" and its limiter may let %s more pass in a second (burst or window), together", thousandths(surge))
	}
	return fmt.Errorf("the cluster is asked for %s/s,%s %w %s of this worker", thousandths(asked), and, ErrTooFast, most)
}

func thousandths(n float64) string { return strconv.FormatFloat(math.Round(n*1000)/1000, 'f', -1, 64) }

// Exceeds tells whether a rate, and what may pass in some second besides, are more than a worker takes part in.
func Exceeds(asked, surge float64, most pacer.Rate) bool {
	return most.Num > 0 && asked+surge > most.Float()
}

// ceiling ends a worker before it takes part in more than it was told to: what is too fast never reaches the shards, and they drop all
// that they have.
type ceiling struct {
	most  pacer.Rate // of the whole cluster; zero = there is no limit
	end   context.CancelCauseFunc
	look  func() (func(rate float64) float64, error) // Worker.Surge; nil = nothing passes but the rate
	asked atomic.Uint64                              // the highest rate from now on, as far as is known: the bits of a float64
	surge atomic.Pointer[func(rate float64) float64] // as it was last found; nil = not yet
	busy  atomic.Bool                                // it is being looked for
}

// admits tells whether a worker takes part in what holds from now on, µs of the Redis clock; if not, it ends. What the limiter may let pass is looked
// for meanwhile: the network is no reason to wait.
func (c *ceiling) admits(now int64, v *lease.View) bool {
	if c.most.Num == 0 {
		return true
	}
	c.asked.Store(math.Float64bits(v.Laws.Peak(now)))
	if c.look != nil && c.busy.CompareAndSwap(false, true) {
		go func() {
			defer c.busy.Store(false)
			if surge, err := c.look(); err == nil { // where Redis does not tell, the next View is as good
				c.surge.Store(&surge)
				c.holds()
			}
		}()
	}
	return c.holds()
}

// holds tells whether what is asked for and what the limiter may let pass besides are as much as a worker takes part in; if not, it ends.
func (c *ceiling) holds() bool {
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
