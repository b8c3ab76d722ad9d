package loadworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// host starts a Redis in this process if none was named; other workers and loadctl on this machine may use it. It
// returns nil if a server was named. It also returns nil, and sets f.neighbour, if another worker of this machine hosts
// the run already.
func (f *runFlags) host(ctx context.Context, create *spec.Spec, reach error, log *slog.Logger) (*embedded.Server, error) {
	addresses, ok := f.redis.Embedded()
	if !ok || create == nil {
		return nil, nil
	}
	server, err := embedded.Start(addresses[0], f.name)
	if there := "redis://" + addresses[0]; err != nil && !f.once && f.hasRun(ctx, there, log) {
		f.redis.Use(there)
		f.neighbour, f.out.Lost = true, true
		log.Info("joining the run in the embedded Redis of another process on this machine", "LOADCTL_REDIS", there)
		return nil, nil
	}
	for _, address := range addresses[1:] {
		if err != nil {
			server, err = embedded.Start(address, f.name)
		}
	}
	if err == nil && reach != nil { // the run cannot exist yet
		cli.Close(server)
		return nil, reach
	}
	if err != nil {
		if e, ok := errors.AsType[*net.OpError](err); ok {
			err = e.Err // without the address, which is named already
		}
		return nil, cli.Config(fmt.Errorf("--redis embedded: serve at %s: %w; give another port (embedded:0 takes a free one), or use the server there with --redis redis://%s",
			addresses[0], err, addresses[0]))
	}
	f.redis.Use(server.URL())
	f.out.Lost = true
	log.Info("started an embedded Redis, for this machine only; a fleet on several machines needs a Redis server", "LOADCTL_REDIS", server.URL())
	return server, nil
}

// greeting is how long a Redis server on this machine may take to answer its first call.
const greeting = 5 * time.Second

// hasRun tells whether a server has a run of this name that has not ended. It waits for a run that is announced, at most
// --start-timeout: two workers that start together do not start two servers. With two servers they would send twice the
// rate.
func (f *runFlags) hasRun(ctx context.Context, address string, log *slog.Logger) bool {
	connecting, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	client, err := link.Connect(connecting, address)
	if err != nil {
		return false
	}
	defer cli.Close(client)
	if patience := f.start.Patience(); patience > 0 {
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for waits := false; ; time.Sleep(lingerPoll) {
		announced, _ := client.Exists(ctx, embedded.Announced(f.name)).Result()
		r, err := run.Open(ctx, client, f.name)
		switch {
		case err == nil:
			return r.Ended.IsZero()
		case ctx.Err() != nil, errors.Is(err, syscall.ECONNREFUSED):
			return false
		case announced == 0 && (!waits || errors.Is(err, run.ErrNoRun)):
			return false
		case !waits:
			waits = true
			log.Info("waiting for another process on this machine to create the run", "LOADCTL_REDIS", address)
		}
	}
}

// same joins the run in a server that nobody named, if its description is the same as ours. It sends nothing of our
// description there: another user's process may listen at that port, and headers and body are private.
func (f *runFlags) same(ctx context.Context, client rdb.Client, asked spec.Spec) (*run.Run, error) {
	r, err := run.Open(ctx, client, f.name)
	if err != nil {
		return nil, cli.Config(err)
	}
	if lines := r.Spec.Diff(asked); len(lines) > 0 {
		return nil, f.orByName(&run.DifferentError{Name: f.name, Lines: lines})
	}
	if !r.Ended.IsZero() {
		return nil, overAlready(r)
	}
	return r, cli.Config(r.Ready(ctx))
}

// How long an embedded server outlives its worker while others use it. After the end of the run: until they have read
// their report. If the worker was told to leave: while others take part in the run, and a moment longer for those who
// only watch.
const (
	lingerEnded = 40 * time.Second
	lingerLeft  = 5 * time.Second
	lingerPoll  = 20 * time.Millisecond
)

// linger waits until nobody uses the server any more. A Ctrl-C in this time ends the wait.
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
			log.Info("others still use the embedded Redis of this process; the process ends when they are gone, or with Ctrl-C", "LOADCTL_REDIS", server.URL(), "connections", server.Clients())
			told = told.Add(time.Hour)
		}
		time.Sleep(lingerPoll)
	}
}

// goesOn tells whether other workers take part in the run.
func (f *runFlags) goesOn(ctx context.Context) bool {
	client, r, err := f.redis.Open(ctx, f.name)
	if err != nil {
		return false
	}
	defer cli.Close(client)
	s, err := r.State(ctx)
	return err == nil && s.EndedAt.IsZero() && s.Present() > 0
}
