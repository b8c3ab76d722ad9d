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
	"github.com/loadctl/loadctl/internal/certtest"
	"github.com/loadctl/loadctl/internal/echotest"
)

// The connections opened ahead carry the requests, with and without TLS, and their number stays within the limit.
func TestPreconnect(t *testing.T) {
	a := certtest.New(t)
	for scheme, o := range map[string]arrivals.Options{"http": {}, "https": {TLS: serverTLS(t, a, "good.example")}} {
		t.Run(scheme, func(t *testing.T) {
			s := arrive(t, o)
			const connections = 40
			target := open(t, Spec{URL: scheme + "://good.example", CA: a.PEM, ConnectTo: []string{"::" + s.Addr()}}, Local{MaxConnections: connections})
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

// Connections open one after the other, evenly; failed ones are not tried again.
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

// Exactly the maximum is dialled at the same time. A waiting request gets the first free connection, whoever dialled
// it.
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
		return newConn(endpoint{}, newSocket(near), near), nil
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
	if !p.opening() {
		t.Error("it does not tell that as many are dialled as may be")
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
	if p.opening() {
		t.Error("it says that as many are dialled as may be, and none is")
	}
	p.close()
}

// desertedPool is full of idle connections; the server has closed all except the one that is checked last. Each further
// dial needs an element from may. The WaitGroup is done when as many were accepted as were added to it.
func desertedPool(t *testing.T, dials, places int) (p *pool, may chan struct{}, accepted *sync.WaitGroup) {
	t.Helper()
	accepted = new(sync.WaitGroup)
	var first atomic.Bool
	hangUp := make(chan struct{})
	server := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		stays := first.CompareAndSwap(false, true)
		accepted.Done()
		if stays {
			c.Read(make([]byte, 1))
		}
		<-hangUp
	})
	may = make(chan struct{}, 2*places)
	p = &pool{max: places, dials: dials, dial: func(ctx context.Context, deadline time.Time, to endpoint) (*conn, error) {
		select {
		case <-may:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		raw, err := net.Dial("tcp", server)
		if err != nil {
			return nil, err
		}
		c := newConn(to, newSocket(raw), raw)
		return c, c.raw.SetDeadline(deadline)
	}}
	t.Cleanup(p.close)
	for range places {
		may <- struct{}{}
		accepted.Add(1)
		if !p.fill(t.Context(), time.Now().Add(time.Minute), endpoint{}) {
			t.Fatal("a connection was not opened")
		}
		accepted.Wait() // one after the other: the first one stays
	}
	close(hangUp)
	for i, c := range p.idle {
		for i > 0 && !c.hungUp() { // on its way
			time.Sleep(time.Millisecond)
		}
		c.idleSince = c.idleSince.Add(-lookAfter)
	}
	return p, may, accepted
}

// Connections that the server closed while they were idle are replaced in turn too, however many requests find one. A
// good one is used.
func TestPoolReplacesInTurn(t *testing.T) {
	const dials, takers = 3, 20
	p, may, accepted := desertedPool(t, dials, takers)
	good := p.idle[0]
	took := make(chan *conn)
	for range takers {
		go func() {
			c, reused, err := p.take(t.Context(), time.Now().Add(time.Minute), endpoint{})
			if err != nil || reused != (c == good) {
				t.Errorf("reused: %v, %v", reused, err)
			}
			took <- c
		}()
	}
	all := []*conn{<-took}
	if all[0] != good {
		t.Error("the connection that is still good was not used")
	}
	for waiting, dialling := 0, 0; waiting+dialling < takers-1; {
		time.Sleep(time.Millisecond)
		p.mu.Lock()
		waiting, dialling = len(p.waiting), p.dialling
		p.mu.Unlock()
		if dialling > dials {
			t.Fatalf("%d are dialled at the same time, want at most %d", dialling, dials)
		}
	}
	accepted.Add(takers - 1)
	for range takers - 1 {
		may <- struct{}{}
	}
	for range takers - 1 { // held until each taker has one: every place is used again
		all = append(all, <-took)
	}
	if p.dialling != 0 || p.places != takers || len(p.idle) != 0 {
		t.Errorf("%d are dialled, %d places are in use, %d connections are idle", p.dialling, p.places, len(p.idle))
	}
	for _, c := range all {
		if c != nil {
			p.give(c, false)
		}
	}
}

// If the server closes each connection after its answer, all places may be dialled at the same time; but not after a
// few such answers, nor after one whose connection was kept.
func TestPoolDialsFreelyWhereServerCloses(t *testing.T) {
	const dials, places = 3, 20
	p := &pool{max: places, dials: dials}
	take := func() (n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for p.place(endpoint{}) {
			n++
		}
		p.places, p.dialling = p.places-n, p.dialling-n
		return n
	}
	for i, c := range []struct{ keep, want int }{{1, dials}, {0, dials}, {0, dials}, {0, places}, {0, places}, {1, dials}, {0, dials}} {
		p.answered(c.keep > 0)
		if n := take(); n != c.want {
			t.Errorf("after answer %d: %d may be dialled, want %d", i, n, c.want)
		}
	}
}

// Only answers that close connections count, errors do not.
func TestClosedByServer(t *testing.T) {
	for _, c := range []struct {
		answer string
		closes bool
		want   int64
	}{
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", true, 3},
		{"HTTP/1.1 200 OK\r\n\r\n", true, 3},
		{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, 0},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					for buf := make([]byte, 4096); ; {
						if _, err := conn.Read(buf); err != nil {
							return
						}
						if _, err := conn.Write([]byte(c.answer)); err != nil || c.closes {
							return
						}
					}
				}()
			}
		}()
		target := open(t, Spec{URL: "http://" + l.Addr().String()}, Local{MaxConnections: 2}).(*httpTarget)
		for range 3 {
			target.Do(t.Context(), Call{})
		}
		if n := target.pool.closedInARow.Load(); n != c.want {
			t.Errorf("%d closed in a row after %q, want %d", n, c.answer, c.want)
		}
	}
}
