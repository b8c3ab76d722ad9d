// Package embedded is a Redis server inside this process: a fleet on one machine, or a first try, needs nothing installed.
//
//	server, err := embedded.Start("127.0.0.1:0")
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	client, err := run.Connect(ctx, server.URL())
//
// Our scripts, and what reads their keys, behave on it as on a real server: their tests run on both (redistest.Each). Otherwise it is
// less. Its data ends with the process. A lease takes most of a millisecond of one core, some eight times what a real server needs: enough for some
// ten workers, not for hundreds. There is no password, no TLS, no cluster, and little of INFO, CONFIG and CLIENT. A subscriber
// that does not read stops all others once its connection is full, after some MB.
package embedded

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// tick is how often lifetimes are shortened by the time that has passed. A key may end a tick too early, because a whole tick
// is taken from one that was set in the middle of it, or a tick too late.
const tick = 50 * time.Millisecond

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	redis   *miniredis.Miniredis
	server  *server.Server
	url     string
	stop    chan struct{}
	ticking sync.WaitGroup
	closing sync.Once
}

// Start serves on addr, "host:port"; port 0 is a free one. Whoever reaches the address may do everything, so it should be one of
// this machine. The server runs until Close.
func Start(addr string) (*Server, error) {
	redis := miniredis.NewMiniRedis()
	if err := redis.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("serve Redis at %s: %w; give another address, 127.0.0.1:0 takes a free port", addr, err)
	}
	s := &Server{redis: redis, server: redis.Server(), url: "redis://" + redis.Addr(), stop: make(chan struct{})}
	s.ticking.Go(s.age)
	return s, nil
}

// age lets lifetimes pass: miniredis shortens them only when it is told to. It goes by the monotonic clock, while TIME is the wall clock.
func (s *Server) age() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			now := time.Now() // not the tick's own time, which may be long past
			s.redis.FastForward(now.Sub(last))
			last = now
		}
	}
}

// URL is the address in the form that --redis takes: redis://127.0.0.1:4711.
func (s *Server) URL() string { return s.url }

// Clients is how many connections are open now.
func (s *Server) Clients() int { return s.server.ClientsLen() }

// Close ends all connections and the server, and returns when nothing of it runs any more. Closing again does nothing. The error is
// always nil: it makes a Server an io.Closer.
func (s *Server) Close() error {
	s.closing.Do(func() {
		close(s.stop)
		// A call that waits for data is ended by the context, under the lock or it might miss that. Who has the lock may itself be
		// waiting, for a subscriber that does not read, until connections are closed. So neither can be done before the other.
		// miniredis' own Close waits for the lock first, and takes the server away from calls that are under way.
		var waking sync.WaitGroup
		waking.Go(func() {
			s.redis.Lock()
			defer s.redis.Unlock()
			s.redis.CtxCancel()
		})
		s.server.Close()
		waking.Wait()
		s.ticking.Wait()
	})
	return nil
}
