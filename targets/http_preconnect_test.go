package targets

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
)

// What was opened ahead carries the requests, with and without TLS, and no
// more is opened than may be.
func TestPreconnect(t *testing.T) {
	a := newAuthority(t)
	for scheme, o := range map[string]arrivals.Options{"http": {}, "https": {TLS: serverTLS(t, a, "good.example")}} {
		t.Run(scheme, func(t *testing.T) {
			s := arrive(t, o)
			const connections = 40
			target := open(t, Spec{URL: scheme + "://good.example", CA: a.pem, ConnectTo: []string{"::" + s.Addr()}}, Local{MaxConnections: connections})
			if n := target.(*httpTarget).Preconnect(t.Context(), 30, time.Microsecond); n != 30 {
				t.Fatalf("%d connections were opened", n)
			}
			if n := target.(*httpTarget).Preconnect(t.Context(), 30, 0); n != 10 {
				t.Errorf("%d connections more were opened, there were places for 10", n)
			}
			s.Stall(100 * time.Millisecond) // so that each request has a connection of its own
			var wg sync.WaitGroup
			for range connections {
				wg.Go(func() { do(t, target, 200, "") })
			}
			wg.Wait()
			if s.Connections() != connections || s.Count() != connections {
				t.Errorf("%d connections, %d received", s.Connections(), s.Count())
			}
		})
	}
}

// One after the other, evenly; what fails is not tried again.
func TestPreconnectIsStaggered(t *testing.T) {
	var dialled atomic.Int32
	refuse := func(context.Context, time.Time, endpoint) (*conn, error) {
		dialled.Add(1)
		return nil, net.UnknownNetworkError("none")
	}
	target := &httpTarget{first: &message{}, pool: &pool{dial: refuse}}
	const every = 5 * time.Millisecond
	began := time.Now()
	if n := target.Preconnect(t.Context(), 20, every); n != 0 || dialled.Load() != 20 || target.pool.places != 0 {
		t.Errorf("%d connections of %d that were tried, %d places in use", n, dialled.Load(), target.pool.places)
	}
	if took := time.Since(began); took < 19*every { // no machine is too fast
		t.Errorf("took %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n := target.Preconnect(ctx, 20, time.Hour); n != 0 || dialled.Load() > 21 {
		t.Errorf("after the end of ctx: %d connections of %d that were tried", n, dialled.Load()-20)
	}
}

// So many are dialled at the same time and no more. Who waits for a turn has
// the first connection that there is, whoever dialled it.
func TestPoolDialsInTurn(t *testing.T) {
	const dials, takers = 3, 20
	may := make(chan error)
	var now, most atomic.Int32
	p := &pool{max: takers, dials: dials, dial: func(context.Context, time.Time, endpoint) (*conn, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		if err := <-may; err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		return newConn(endpoint{}, near, near), nil
	}}
	deadline := time.Now().Add(time.Minute)
	took := make(chan *conn)
	var wg sync.WaitGroup
	for range takers {
		wg.Go(func() {
			c, _, err := p.take(t.Context(), deadline, endpoint{})
			if (c == nil) != (err != nil) {
				t.Errorf("%v, %v", c, err)
			}
			took <- c
		})
	}
	waiting := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting)
	}
	for waiting() < takers-dials {
		time.Sleep(time.Millisecond)
	}
	may <- errors.New("refused") // its place goes to another
	if c := <-took; c != nil {
		t.Error("a connection that was refused")
	}
	may <- nil
	first := <-took
	for range takers - 2 - dials { // those who wait; others are dialling
		p.give(first, true)
		first = <-took
	}
	for range dials {
		may <- nil
		p.give(<-took, true)
	}
	p.give(first, true)
	wg.Wait()
	if most.Load() > dials || p.dialling != 0 || p.places != dials+1 {
		t.Errorf("%d were dialled at the same time, %d are, %d places are in use", most.Load(), p.dialling, p.places)
	}
	p.close()
}
