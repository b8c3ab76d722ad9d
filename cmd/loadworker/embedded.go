package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/embedded"
	"github.com/loadctl/loadctl/internal/run"
)

// host starts a Redis in this process if none was named, for other workers and loadctl on this machine too. It returns nil if
// there is nothing to host.
func (f *runFlags) host(ctx context.Context, create *run.Spec, reach error, log *slog.Logger) (*embedded.Server, error) {
	addresses, ok := f.redis.Embedded()
	if !ok || create == nil {
		return nil, nil
	}
	server, err := embedded.Start(addresses[0])
	if neighbour := "redis://" + addresses[0]; err != nil && f.hasRun(ctx, neighbour) {
		f.redis.Use(neighbour)
		log.Info("another worker of this machine has the run in its embedded Redis", "LOADCTL_REDIS", neighbour)
		return nil, nil
	}
	for _, address := range addresses[1:] {
		if err != nil {
			server, err = embedded.Start(address)
		}
	}
	if err == nil && reach != nil { // nobody can have created the run before
		cli.Close(server)
		return nil, reach
	}
	if err != nil {
		if e, ok := errors.AsType[*net.OpError](err); ok {
			err = e.Err // without the rest, which is about addresses
		}
		return nil, cli.Config(fmt.Errorf("--redis embedded: serve at %s: %w; give another port, embedded:0 takes a free one, or join who serves there with --redis redis://%s",
			addresses[0], err, addresses[0]))
	}
	f.redis.Use(server.URL())
	f.out.Lost = true
	log.Info("an embedded Redis runs in this process, for this machine only; a fleet of several needs a real one", "LOADCTL_REDIS", server.URL())
	return server, nil
}

// settling is how long a neighbour has to create the run: two workers that are started together shall not bring a server each.
const settling = time.Second

// hasRun tells whether a server, if it is one, has a run of this name that has not ended. Two servers would be two budgets: the same
// command line in two terminals would send twice the rate.
func (f *runFlags) hasRun(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	client, err := run.Connect(ctx, address)
	if err != nil {
		return false
	}
	defer cli.Close(client)
	for ctx.Err() == nil {
		r, err := run.Open(ctx, client, f.name)
		if err == nil {
			return r.Ended.IsZero()
		}
		if !errors.Is(err, run.ErrNoRun) {
			return false
		}
		time.Sleep(lingerPoll)
	}
	return false
}

// How long an embedded server outlives its worker: until the others have read their report, or left a run that goes on.
const (
	lingerEnded = 40 * time.Second
	lingerPoll  = 20 * time.Millisecond
)

// linger waits until nobody uses the server any more. A worker that was told to go leaves a run that may go on; a Ctrl-C that
// comes only now is about the waiting.
func linger(ctx context.Context, server *embedded.Server, log *slog.Logger) {
	left := errors.Is(context.Cause(ctx), cli.ErrSignal)
	began, told := time.Now(), false
	for server.Clients() > 0 && (left || ctx.Err() == nil && time.Since(began) < lingerEnded) {
		if !told && time.Since(began) > time.Second {
			log.Info("others still use the Redis of this process; once they are gone, or with Ctrl-C, it ends", "LOADCTL_REDIS", server.URL(), "connections", server.Clients())
			told = true
		}
		time.Sleep(lingerPoll)
	}
}
