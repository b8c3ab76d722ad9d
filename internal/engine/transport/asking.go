package transport

import (
	"context"
	"time"

	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// An Asking has a goroutine that performs requests of schemes that are not ours, one at a time. Between Begin and Take the
// request is its goroutine's.
type Asking struct {
	wire.Asked
	Index int32 // of whose request it is
	Left  bool  // nobody waits for the answer any more; for the loop alone
	Ended int64 // when Do returned, ns of the clock

	wire *wire.Wire
	ctx  context.Context
	stop context.CancelFunc
	work chan struct{} // room for one: there is a request
}

// Askings are those of a loop. Take returns the requests that are over: give each back with Rest. Only the loop uses them, but
// for what goroutines report.
type Askings struct {
	wakeup *sockets.Wakeup // for the loop, when something is over
	now    func() int64
	ctx    context.Context // of all requests
	cancel context.CancelFunc
	all    []*Asking
	idle   []*Asking // a stack, so that few goroutines are used

	mailbox[[]*Asking]
}

// NewAskings returns none yet. now reads the clock of the loop.
func NewAskings(wakeup *sockets.Wakeup, now func() int64) *Askings {
	d := &Askings{wakeup: wakeup, now: now}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Begin begins a request that may take until a deadline. The caller bounds how many there are at a time.
func (d *Askings) Begin(index int32, w *wire.Wire, asked wire.Asked, deadline int64) *Asking {
	if len(d.idle) == 0 {
		a := &Asking{work: make(chan struct{}, 1)}
		d.all, d.idle = append(d.all, a), append(d.idle, a)
		go d.serve(a)
	}
	last := len(d.idle) - 1
	a := d.idle[last]
	d.idle = d.idle[:last]
	a.Asked, a.Index, a.Left, a.wire = asked, index, false, w
	a.ctx, a.stop = context.WithTimeout(d.ctx, time.Duration(deadline-d.now()))
	a.work <- struct{}{} // never blocks: it is idle
	return a
}

// Leave ends the context of a request, for whose answer nobody waits any more.
func (a *Asking) Leave() {
	a.Left = true
	a.stop()
}

// serve performs requests until Close.
func (d *Askings) serve(a *Asking) {
	for range a.work {
		a.Answer = targets.Answer{Err: a.ctx.Err()}
		if a.Answer.Err == nil { // else it was given up before it began
			a.Answer = a.wire.Do(a.ctx, a.Request)
		}
		a.Ended = d.now()
		a.stop()
		d.put(func(over *[]*Asking) { *over = append(*over, a) })
		d.wakeup.Signal()
	}
}

// Rest takes back what performed a request that is over.
func (d *Askings) Rest(a *Asking) {
	a.Asked = wire.Asked{}
	d.idle = append(d.idle, a)
}

// Close ends the contexts of all requests. Goroutines end when their requests have.
func (d *Askings) Close() {
	d.cancel()
	for _, a := range d.all {
		close(a.work)
	}
}
