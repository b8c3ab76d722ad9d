//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

// called is what a process that makes calls prints, for our renewals and for the other limiter alike.
type called struct {
	Calls   int64   `json:"calls"`
	Seconds float64 `json:"seconds"`
}

// costly is a turn of calls, with the processor time of Redis. If Redis is embedded, cpu is that of the whole process.
type costly struct {
	called
	cpu time.Duration
}

func (c costly) perSecond() float64 { return float64(c.Calls) / c.Seconds }
func (c costly) micros() float64    { return c.cpu.Seconds() * 1e6 / float64(c.Calls) }
func (c costly) perCore() float64   { return float64(c.Calls) / c.cpu.Seconds() }

// renewals compares the cost in Redis of a renewal with that of a call of a limiter that is asked for each request.
func renewals(ctx context.Context, b *bench, s *section) error {
	path, err := self()
	if err != nil {
		return err
	}
	lasts := 3 * time.Second
	if b.quick {
		lasts = 300 * time.Millisecond
	}
	flags := func(redis string) []string {
		return []string{"-redis", redis, "-clients", strconv.Itoa(64), "-for", lasts.String()}
	}
	all := []contender[costly]{
		{"renewal, 100 members", func(ctx context.Context) (costly, error) {
			return b.calls(ctx, append([]string{path, "renewal", "-run", b.next()}, flags(b.redis.url())...), b.redis.process, lasts)
		}},
		{"redis_rate AllowN", func(ctx context.Context) (costly, error) {
			return b.calls(ctx, append([]string{b.built("allow")}, flags(b.redis.url())...), b.redis.process, lasts)
		}},
		{"renewal, 100 members, embedded", func(ctx context.Context) (costly, error) {
			return b.calls(ctx, append([]string{path, "renewal", "-run", b.next()}, flags("embedded")...), nil, lasts)
		}},
	}
	rounds, err := contend(ctx, b, s, b.rounds, all)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, r := range rounds {
		rows = append(rows, []string{r.name,
			spannedThousands(of(r.turns, costly.perSecond)), spanned(of(r.turns, costly.micros), "%.1f"),
			thousands(of(r.turns, costly.perCore).median()),
		})
	}
	s.table([]string{"64 clients", "calls/s", "CPU, µs a call", "calls per second of a core"}, rows)
	s.note("CPU is that of redis-server; where it is embedded, of the process with the callers in it.")
	return nil
}

// calls runs a process that makes calls. It charges the CPU time of server to them; if server is nil, that of the
// process itself.
func (b *bench) calls(ctx context.Context, argv []string, server *process, lasts time.Duration) (costly, error) {
	var before time.Duration
	var err error
	if server != nil {
		if before, err = cpu(server.cmd.Process.Pid); err != nil {
			return costly{}, err
		}
	}
	p, err := spawn(clientCore, argv, nil)
	if err != nil {
		return costly{}, err
	}
	if err := p.await(ctx, lasts+endPatience); err != nil {
		return costly{}, err
	}
	var c costly
	if err := json.Unmarshal(p.stdout.Bytes(), &c.called); err != nil {
		return c, fmt.Errorf("read the calls: %w", err)
	}
	if c.Calls == 0 {
		return c, fmt.Errorf("read the calls: there are none")
	}
	if server == nil {
		c.cpu = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
		return c, nil
	}
	after, err := cpu(server.cmd.Process.Pid)
	c.cpu = after - before
	return c, err
}

// renewalPart is a process that makes renewals as fast as it can.
func renewalPart(args []string) error {
	flags := flag.NewFlagSet("renewal", flag.ContinueOnError)
	url := flags.String("redis", "embedded", "")
	name := flags.String("run", "bench", "")
	clients := flags.Int("clients", 64, "")
	lasts := flags.Duration("for", time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *url == "embedded" {
		server, err := embedded.Start("127.0.0.1:0")
		if err != nil {
			return err
		}
		defer server.Close() //nolint:errcheck // the process ends
		*url = server.URL()
	}
	options, err := redis.ParseURL(*url)
	if err != nil {
		return err
	}
	options.PoolSize = *clients
	client := redis.NewClient(options)
	defer client.Close()
	r, _, err := run.Create(context.Background(), client, *name, spec.Spec{
		Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(20_000), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: 1,
	}, run.Options{})
	if err != nil {
		return err
	}
	c, err := callAll(r.Leases(client), *clients, *lasts)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// callAll lets clients renew for 100 members. Each client serves some of them.
func callAll(server lease.Server, clients int, lasts time.Duration) (called, error) {
	const members = 100
	var calls atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, clients)
	began := time.Now()
	for c := range clients {
		all.Go(func() {
			var holders []*lease.Holder
			for m := c; m < max(members, clients); m += clients {
				holders = append(holders, lease.NewHolder(fmt.Sprint("w", m), "0123456789abcdef", 1))
			}
			for i := 0; time.Since(began) < lasts; i++ {
				if err := renewOnce(server, holders[i%len(holders)]); err != nil {
					failed <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return called{}, err
	default:
		return called{calls.Load(), time.Since(began).Seconds()}, nil
	}
}

// renewOnce makes a renewal. The member gives up at once what it is asked to give up: it has no shards that must stop
// first.
func renewOnce(server lease.Server, h *lease.Holder) error {
	reply, err := server.Renew(context.Background(), h.Call())
	if err != nil {
		return err
	}
	h.Receive(reply.Now, reply)
	v := h.View()
	switch {
	case reply.Status != lease.OK:
		return fmt.Errorf("renew: status %s", reply.Status)
	case v.Laws.Newest() == nil:
		return errors.New("renew: the run has not begun")
	}
	h.Agreed(v.Version, reply.Now, reply.Now)
	return nil
}
