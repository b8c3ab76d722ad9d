package run

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Leases renews a worker's ranges of the run. Its errors say what to do. It is safe for concurrent use.
type Leases struct {
	run    *Run
	client rdb.Client
	script *redis.Script

	mu    sync.Mutex
	known *lease.Laws // for the plans that replies leave out
}

// Leases returns those of one worker. They call over client, which should be one of its own.
func (r *Run) Leases(client rdb.Client) *Leases {
	return &Leases{run: r, client: client, script: lua.Renew()}
}

// Renew implements lease.Server.
func (l *Leases) Renew(ctx context.Context, c lease.Call) (lease.Reply, error) {
	args := []any{l.run.UID, l.run.Keys.Control}
	for _, text := range c.Args() {
		args = append(args, text)
	}
	texts, err := l.script.Run(ctx, l.client, l.run.Keys.Change(), args...).StringSlice()
	if err != nil {
		return lease.Reply{}, link.Advise(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	reply, err := lease.ReadReply(texts, l.known)
	if err != nil {
		return lease.Reply{}, err
	}
	if len(reply.Laws) > 0 {
		l.known = l.known.With(reply.Laws...).In(reply.ClockEpoch).Trim(reply.Now - rememberLaws.Microseconds())
	}
	return reply, nil
}

// rememberLaws is how long the plan of a law that is over may still be named.
const rememberLaws = time.Minute

// Messages returns what is published for a worker until ctx ends. Every reply to a renewal has the truth, so a lost
// message only delays. A hint that comes with a payload belongs to it: a worker that has
// the laws need not call. A payload that cannot be read is a hint.
func (r *Run) Messages(ctx context.Context, l *link.Link, worker string) <-chan lease.Message {
	return join(ctx, l.Messages(), l.Wakeups(ctx, r.Keys.Control, r.Keys.Control+":"+worker), r.learnRights)
}

// join brings payloads and hints together. A payload that other takes is for nobody else.
func join(ctx context.Context, payloads <-chan []byte, wake <-chan struct{}, other func(string) bool) <-chan lease.Message {
	out := make(chan lease.Message, 16)
	pass := func(m lease.Message) {
		select {
		case out <- m:
		case <-ctx.Done():
		}
	}
	learn := func(payload []byte) {
		if other(string(payload)) {
			return
		}
		laws, err := lease.ReadMessage(string(payload), nil)
		pass(lease.Message{Laws: laws, LawsOnly: err == nil && len(laws) > 0})
	}
	go func() {
		for ctx.Err() == nil {
			select {
			case p := <-payloads:
				learn(p)
				select {
				case <-wake:
				case <-time.After(hintDelay):
				}
			case <-wake:
				select {
				case p := <-payloads:
					learn(p)
				case <-time.After(hintDelay):
					pass(lease.Message{})
				}
			case <-ctx.Done():
			}
		}
	}()
	return out
}

// hintDelay is the longest time between a payload and its hint.
const hintDelay = 5 * time.Millisecond

// Aside returns the run over another connection of a worker's link, for reading results.
func (r *Run) Aside(ctx context.Context, l *link.Link) (*Run, error) {
	client, err := l.Aside(ctx)
	if err != nil {
		return nil, err
	}
	return r.WithClient(client), nil
}

// WithClient returns the run over another client.
func (r *Run) WithClient(client rdb.Client) *Run {
	over := *r
	over.Client = client
	return &over
}

// core returns the numbers of a run by their names (lua/table.go).
func core(text string) (map[string]int64, error) {
	fields, err := lua.Core(text)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for name, value := range fields {
		if out[name], err = strconv.ParseInt(value, 10, 64); err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
	}
	return out, nil
}
