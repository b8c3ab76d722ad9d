package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/embedded"
	"github.com/loadctl/loadctl/internal/run"
)

// host starts a Redis in this process if none was named, for other workers and loadctl on this machine too. It returns nil if
// there is nothing to host: a server was named, or a worker that was started before hosts the run, and then f.neighbour is set.
func (f *runFlags) host(ctx context.Context, create *run.Spec, reach error, log *slog.Logger) (*embedded.Server, error) {
	addresses, ok := f.redis.Embedded()
	if !ok || create == nil {
		return nil, nil
	}
	server, err := embedded.Start(addresses[0])
	if there := "redis://" + addresses[0]; err != nil && !f.once && f.hasRun(ctx, there) {
		f.redis.Use(there)
		f.neighbour, f.out.Lost = true, true
		log.Info("joining the run that is in the Redis of another process here", "LOADCTL_REDIS", there)
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

// same joins the run in a server that nobody named, if it is the one that is described here. The description stays here: whoever
// listens at that port shall not be told of its headers and body.
func (f *runFlags) same(ctx context.Context, client redis.UniversalClient, spec run.Spec) (*run.Run, error) {
	r, err := run.Open(ctx, client, f.name)
	if err != nil {
		return nil, cli.Config(err)
	}
	if lines := r.Spec.Diff(spec); len(lines) > 0 {
		return nil, cli.Config(&run.DifferentError{Name: f.name, Lines: lines})
	}
	if !r.Ended.IsZero() {
		return nil, overAlready(r)
	}
	return r, cli.Config(r.Ready(ctx))
}

// How long an embedded server outlives its worker where others use it: until they have read their report; or, where the worker was
// told to go, as long as others take part in the run, and a moment for those who only look on.
const (
	lingerEnded = 40 * time.Second
	lingerLeft  = 5 * time.Second
	lingerPoll  = 20 * time.Millisecond
)

// linger waits until nobody uses the server any more. A Ctrl-C that comes only now is about the waiting.
func (f *runFlags) linger(ctx context.Context, server *embedded.Server, log *slog.Logger) {
	left, patience := errors.Is(context.Cause(ctx), cli.ErrSignal), lingerEnded
	if left {
		patience = lingerLeft
	}
	deadline, told := time.Now().Add(patience), time.Now().Add(time.Second)
	for server.Clients() > 0 && (left || ctx.Err() == nil) {
		now := time.Now()
		if now.After(deadline) {
			if !left || !f.goesOn(context.WithoutCancel(ctx)) {
				return
			}
			deadline = now.Add(patience)
		}
		if now.After(told) {
			log.Info("others still use the Redis of this process; once they are gone, or with Ctrl-C, it ends", "LOADCTL_REDIS", server.URL(), "connections", server.Clients())
			told = told.Add(time.Hour)
		}
		time.Sleep(lingerPoll)
	}
}

// goesOn tells whether others take part in the run.
func (f *runFlags) goesOn(ctx context.Context) bool {
	client, r, err := f.redis.Open(ctx, f.name)
	if err != nil {
		return false
	}
	defer cli.Close(client)
	s, err := r.State(ctx)
	return err == nil && s.EndedAt.IsZero() && s.Present() > 0
}
