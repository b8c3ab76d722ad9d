package main

import (
	"context"
	"errors"
	"log/slog"
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
		return nil, cli.Config(err)
	}
	f.redis.Use(server.URL())
	log.Info("no --redis: one runs in this process, for this machine only; a fleet needs a real one", "LOADCTL_REDIS", server.URL())
	return server, nil
}

// How long an embedded server outlives its worker: until the others have read their report, or left a run that goes on.
const (
	lingerEnded = 10 * time.Second
	lingerPoll  = 20 * time.Millisecond
)

// linger waits until nobody uses the server any more. A worker that was told to go leaves a run that may go on.
func linger(ctx context.Context, server *embedded.Server, log *slog.Logger) {
	left := errors.Is(context.Cause(ctx), cli.ErrSignal)
	began, told := time.Now(), false
	for server.Clients() > 0 && (left || time.Since(began) < lingerEnded) {
		if !told && time.Since(began) > time.Second {
			log.Info("others still use the Redis of this process; once they are gone, or with Ctrl-C, it ends", "LOADCTL_REDIS", server.URL(), "connections", server.Clients())
			told = true
		}
		time.Sleep(lingerPoll)
	}
}
