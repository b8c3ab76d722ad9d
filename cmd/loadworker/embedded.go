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
func (f *runFlags) host(create *run.Spec, reach error, log *slog.Logger) (*embedded.Server, error) {
	addresses, ok := f.redis.Embedded()
	if !ok || create == nil {
		return nil, nil
	}
	if reach != nil { // nobody can have created the run before
		return nil, reach
	}
	var server *embedded.Server
	var err error
	for _, address := range addresses {
		if server, err = embedded.Start(address); err == nil {
			break
		}
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
