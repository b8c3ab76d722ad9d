// Package embedded is a Redis server inside this process: a fleet on one machine, or a first try, needs no
// installation.
//
//	server, err := embedded.Start("127.0.0.1:0")
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	client, err := link.Connect(ctx, server.URL())
//
// Our scripts, and the code that reads their keys, behave on it as on a real server: their tests run on both
// (redistest.Each). It has limits:
//
//   - Its data ends with the process.
//   - A renewal takes half a millisecond of one core, about eight times as long as on a real server. That is enough
//     for about ten workers, not for hundreds.
//   - There is no password, no TLS, no cluster, and little of INFO, CONFIG and CLIENT.
//   - A subscriber that does not read stops all others once its connection is full, after some MB.
//
// Whatever bytes a client sends, at most its own connection ends.
package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// tick is how often lifetimes are reduced by the time that has passed. A key may end a tick too early, because a whole
// tick is subtracted from a lifetime that was set in the middle of it. It may also end a tick too late, or
// later if the ticker is late.
const tick = 50 * time.Millisecond

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	redis     *miniredis.Miniredis
	server    *server.Server
	socket    net.Listener
	url       string
	id        string   // its run_id
	calls     sync.Map // *server.Peer → nil: guard is executing one of its commands
	listeners sync.Map // *server.Peer → *listener
	clients   sync.Map // *server.Peer → nil: a connection, not a script
	aging     sync.Mutex
	aged      time.Time // lifetimes are reduced by the time until here; guarded by aging
	stop      chan struct{}
	ticking   sync.WaitGroup
	accepting sync.WaitGroup
	closing   sync.Once
}

// Announced is the key that announces a run: a process that hosts the server is about to create it.
func Announced(run string) string { return "{load:" + run + "}:announced" }

// Start serves on addr, "host:port"; port 0 is a free one. All who reach the address may do everything, so it should be
// one of this machine. The server runs until Close. From its first reply on it announces the runs.
func Start(addr string, runs ...string) (*Server, error) {
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve Redis at %s: %w; give another address, 127.0.0.1:0 takes a free port", addr, err)
	}
	redis := miniredis.NewMiniRedis()
	first, err := redis.Dial() // the only way to start it without a socket of its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve Redis at %s: %w", addr, err), socket.Close())
	}
	for _ = first.Close(); redis.Server().ClientsLen() > 0; {
		runtime.Gosched() // until it is gone, which takes some µs
	}
	s := &Server{redis: redis, server: redis.Server(), socket: socket, url: "redis://" + socket.Addr().String(), id: strings.ToLower(rand.Text()), stop: make(chan struct{}), aged: time.Now()}
	for _, run := range runs {
		_ = redis.Set(Announced(run), "") // it fails only for a key of another type, and there is no key yet
	}
	s.server.SetPreHook(s.guard)
	s.ticking.Go(s.tickOn)
	s.accepting.Go(s.accept)
	return s, nil
}

// accept accepts connections until the server is closed. If no descriptor is free, it tries again after a tick.
func (s *Server) accept() {
	for {
		c, err := s.socket.Accept()
		switch {
		case err == nil:
			s.server.ServeConn(newRequests(c))
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(tick)
		}
	}
}

// tickOn reduces lifetimes once per tick.
func (s *Server) tickOn() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.age(0)
		}
	}
}

// age reduces lifetimes by the time since the last call, if that is least or more, because miniredis does so only when
// called. It uses the monotonic clock, while TIME is the wall clock. The caller must not hold the library's lock.
func (s *Server) age(least time.Duration) {
	s.aging.Lock()
	defer s.aging.Unlock()
	now := time.Now() // not the tick's own time, which may be long past
	if passed := now.Sub(s.aged); passed >= least {
		s.redis.FastForward(passed)
		s.aged = now
	}
}

// URL returns the address in the form that --redis takes: redis://127.0.0.1:4711.
func (s *Server) URL() string { return s.url }

// Created ends the announcement of a run: it is there, or it never will be.
func (s *Server) Created(run string) { s.redis.Del(Announced(run)) }

// Clients returns the number of open connections.
func (s *Server) Clients() int { return s.server.ClientsLen() }

// Close ends all connections and the server, and returns when none of its goroutines runs any more. Closing again does
// nothing. The error is always nil: it makes a Server an io.Closer.
func (s *Server) Close() error {
	s.closing.Do(func() {
		close(s.stop)
		_ = s.socket.Close()
		s.accepting.Wait() // a connection accepted later would stay open
		// The context ends a call that waits for data; it must be cancelled under the lock, or the call might miss
		// that. But the holder of the lock may itself wait for a subscriber that does not read, until connections are
		// closed. So neither can be done first. miniredis' own Close waits for the lock first, and takes the server
		// away from calls in progress.
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
