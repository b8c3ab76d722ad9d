package targets

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSeats: requests to endpoints of HTTP/1.1 and HTTP/2 share a pool, while dialling fails, connections break and
// requests give up. No connection has more requests than seats, there are never too many connections, and in the end
// nothing is lost.
func TestSeats(t *testing.T) {
	endpoints := []endpoint{{address: "a", streams: 4}, {address: "b", streams: 1}, {address: "c"}, {address: "d", streams: 100}}
	for seed := range uint64(4) {
		most := []int{1, 2, 5, 0}[seed%4]
		var open, dialled, served atomic.Int64
		p := &pool{max: most, dials: 3, dial: func(_ context.Context, _ time.Time, to endpoint) (*conn, error) {
			if n := open.Add(1); most > 0 && n > int64(most) {
				t.Errorf("%d connections, %d are allowed", n, most)
			}
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
			if dialled.Add(1)%7 == 0 {
				open.Add(-1)
				return nil, errors.New("dial: refused")
			}
			near, far := net.Pipe()
			far.Close()
			wire := &counted{Conn: near, open: &open}
			return newConn(to, newSocket(wire), wire), nil
		}}
		var riders sync.Map // *conn → *atomic.Int64
		var all sync.WaitGroup
		for g := range 40 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(g)))
				for range 20 {
					to := endpoints[random.IntN(len(endpoints))]
					patience := time.Minute
					if random.IntN(10) == 0 {
						patience = time.Duration(random.IntN(300)) * time.Microsecond
					}
					c, _, err := p.take(t.Context(), time.Now().Add(patience), to)
					if err != nil {
						continue
					}
					n, _ := riders.LoadOrStore(c, new(atomic.Int64))
					if now := n.(*atomic.Int64).Add(1); now > int64(to.seats()) || c.to != to {
						t.Errorf("%d requests on %d seats to %s, for %s", now, to.seats(), c.to.address, to.address)
					}
					if random.IntN(3) == 0 {
						time.Sleep(time.Duration(random.IntN(100)) * time.Microsecond)
					}
					served.Add(1)
					n.(*atomic.Int64).Add(-1)
					p.give(c, random.IntN(5) > 0)
				}
			})
		}
		all.Wait()
		p.mu.Lock()
		idle := len(p.idle)
		if p.places != idle || int64(idle) != open.Load() || len(p.waiting) > 0 || len(p.promised) != 0 || p.dialling != 0 {
			t.Errorf("at rest %d places, %d idle, %d open, %d waiting, %d promised, %d dialling", p.places, idle, open.Load(), len(p.waiting), len(p.promised), p.dialling)
		}
		p.mu.Unlock()
		if n := served.Load(); n < 400 {
			t.Errorf("only %d of 800 requests got a connection", n)
		}
		if p.close(); open.Load() != 0 {
			t.Errorf("%d connections are left", open.Load())
		}
	}
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	once sync.Once
	open *atomic.Int64
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
