package main

import (
	"context"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/limiters"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/limit"
	"github.com/loadctl/loadctl/targets"
)

const (
	windowTail = 20               // callers rest until the last 1/20 of a window
	breath     = time.Millisecond // least time between two calls of a caller
	goodbye    = 5 * time.Second  // how long the last answers may take
)

// caller takes permits from the library and uses them. It belongs to one goroutine.
type caller struct {
	limiter *limit.Limiter
	client  worker.Client
	rate    float64
	queues  bool
	want    int64 // permits for each call

	permits []int64 // when each may be used, sorted, in ns of the client's clock
	asked   []int64 // when it could have been used if the call had taken no time
	sent    int     // number of permits used, from the first on
	ended   int     // requests answered
	calls   int64
	late    int64 // the longest time from asked to an answer, ns
}

// rush measures callers of the library.
func (m Measurement) rush(ctx context.Context, l limiters.Limiter, url string, s *Seen) error {
	key := "limiters-" + run.NewID() // used by nobody else; it expires by itself
	callers := make([]*caller, members)
	for i := range callers {
		c, done, err := m.caller(ctx, l, key, url)
		if err != nil {
			return err
		}
		defer done()
		callers[i] = c
	}
	if _, err := callers[0].ask(ctx, 1); err != nil { // the first window begins
		return err
	}
	begin := time.Now()
	failed := make([]error, members)
	var all sync.WaitGroup
	for i, c := range callers {
		all.Go(func() {
			now := c.client.Now() - int64(time.Since(begin))
			failed[i] = c.run(ctx, now+int64(m.Window-m.Window/windowTail), now+int64(m.Duration))
		})
	}
	all.Wait()
	var calls int64
	for i, c := range callers {
		if failed[i] != nil {
			return failed[i]
		}
		calls += c.calls
		s.Late = max(s.Late, time.Duration(c.late))
	}
	s.Calls = float64(calls) / m.Duration.Seconds()
	m.allow(s, l, s.Late)
	return nil
}

// caller returns a new caller, and a function that ends it.
func (m Measurement) caller(ctx context.Context, l limiters.Limiter, key, url string) (*caller, func(), error) {
	client, err := link.Connect(ctx, m.Redis)
	if err != nil {
		return nil, nil, err
	}
	var burst []limit.Option
	if l.Bursts {
		burst = []limit.Option{limit.Burst(m.Burst)}
	}
	limiter, err := limit.New(l.Name, limit.Redis(client), key, limit.PerWindow(m.count(), m.Window), burst...)
	if err != nil {
		_ = client.Close() // nothing was sent yet
		return nil, nil, err
	}
	fires, err := open(pacer.NewClock(), targets.Spec{URL: url})
	if err != nil {
		_ = client.Close() // as above
		return nil, nil, err
	}
	c := &caller{limiter: limiter, client: fires, rate: float64(m.QPS), queues: l.Queues, want: m.count()}
	return c, func() { cli.Close(fires); cli.Close(client) }, nil
}

// ask takes up to n permits, and returns the earliest time to ask again.
func (c *caller) ask(ctx context.Context, n int64) (again int64, err error) {
	asked := c.client.Now()
	a, err := c.limiter.TakeUpTo(ctx, n)
	if err != nil {
		return 0, err
	}
	c.calls++
	now := c.client.Now()
	for i := range a.Granted {
		wait := int64(0)
		if c.queues { // the reply has the time of the last one; the others are 1/R apart before it
			wait = max(0, int64(a.RetryAfter)-int64(float64(a.Granted-1-i)/c.rate*1e9))
		}
		c.permits, c.asked = append(c.permits, now+wait), append(c.asked, asked+wait)
	}
	if c.queues && a.Granted > 0 { // when half of them have left, there is room again
		a.RetryAfter /= 2
	}
	return now + max(int64(breath), int64(a.RetryAfter)), nil
}

// run asks from one instant to another, uses what it is granted until then, and waits for the answers.
func (c *caller) run(ctx context.Context, from, until int64) error {
	defer context.AfterFunc(ctx, c.client.Wake)()
	again := from
	for ctx.Err() == nil {
		now := c.client.Now()
		for c.due(min(now, until)) && c.client.Send(now, c.asked[c.sent], targets.Call{Number: uint64(c.sent)}) {
			c.sent++
		}
		switch {
		case now >= until && !c.due(until) && c.ended == c.sent || now >= until+int64(goodbye):
			return nil
		case now >= again && now < until:
			var err error
			if again, err = c.ask(ctx, c.want); err != nil {
				return err
			}
			continue // some of the new permits may be usable by now
		}
		if err := c.client.Poll(c.next(now, again, until), c.done); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// due reports whether there is an unused permit that may be used at an instant.
func (c *caller) due(at int64) bool { return c.sent < len(c.permits) && c.permits[c.sent] <= at }

// next returns when there is something to do, apart from answers, and from permits that wait for a busy connection.
func (c *caller) next(now, again, until int64) int64 {
	if now >= until {
		return until + int64(goodbye)
	}
	at := min(again, until)
	if c.sent < len(c.permits) && c.permits[c.sent] > now {
		at = min(at, c.permits[c.sent])
	}
	return at
}

// done records an answer.
func (c *caller) done(r targets.Result) {
	c.ended++
	c.late = max(c.late, r.Done-r.Due)
}
