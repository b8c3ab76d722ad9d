//go:build linux

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Cores. The measured clients have one of their own. Redis shares the core of the endpoint, so that it takes no time
// from the clients.
const (
	serverCore = 0
	clientCore = 1
)

// Patience: how long to wait for something that should happen at once, or at a known time.
const (
	listenPatience = time.Minute
	firstPatience  = 60 * time.Second // k6 creates 5,000 virtual users first; 100 workers have to join
	endPatience    = 40 * time.Second // after the length of the trial
)

// A trial is one or more processes that fire at an endpoint for some time.
type trial struct {
	endpoint endpointOptions
	length   time.Duration // from the first arrival to the last
	warm     time.Duration // after the first arrival; nothing before that is measured
	redis    *server       // the server whose CPU time and calls are measured; nil: none
	// clients returns the command lines, given the endpoint's address.
	clients func(address string) ([][]string, error)
}

// An outcome is the result of a trial. Its figures cover the window: the time that was measured.
type outcome struct {
	used
	times   []int64       // all arrivals, CLOCK_MONOTONIC in ns
	window  []int64       // the arrivals within the window
	took    time.Duration // length of the window
	memory  int64         // sum of the clients' peak memory up to the end of the window, in bytes
	outputs [][]byte      // what each client printed
}

// used is the resources used since the processes began, or in the window.
type used struct {
	client, endpoint, redis time.Duration // processor time; client: of all clients together
	calls                   int64         // calls of scripts in Redis
}

func (u used) since(before used) used {
	return used{u.client - before.client, u.endpoint - before.endpoint, u.redis - before.redis, u.calls - before.calls}
}

// The figures of the window. micros is the CPU time of a request, including that of the Redis behind the clients.
// clientMicros leaves Redis out.
func (o *outcome) perSecond() float64    { return float64(len(o.window)) / o.took.Seconds() }
func (o *outcome) micros() float64       { return o.each(o.client + o.redis) }
func (o *outcome) clientMicros() float64 { return o.each(o.client) }
func (o *outcome) mebibytes() float64    { return float64(o.memory) / (1 << 20) }

// each returns the share of a CPU time that one request has, in µs.
func (o *outcome) each(d time.Duration) float64 {
	return 1e6 * d.Seconds() / float64(max(1, len(o.window)))
}

// clientShare, endpointShare and redisShare return how busy each kept its core, in percent. A share near 100 was the
// limit.
func (o *outcome) clientShare() float64   { return o.share(o.client) }
func (o *outcome) endpointShare() float64 { return o.share(o.endpoint) }
func (o *outcome) redisShare() float64    { return o.share(o.redis) }

func (o *outcome) share(d time.Duration) float64 { return 100 * d.Seconds() / o.took.Seconds() }

// margin returns the length of the end of a trial that is not measured: clients may end a little early.
func margin(length time.Duration) time.Duration { return length/10 + 200*time.Millisecond }

// fire carries out a trial.
func fire(ctx context.Context, t trial) (*outcome, error) {
	e, err := startEndpoint(t.endpoint)
	if err != nil {
		return nil, err
	}
	defer e.end()
	address, err := e.line(ctx, "listening ", listenPatience)
	if err != nil {
		return nil, err
	}
	commands, err := t.clients(address)
	if err != nil {
		return nil, err
	}
	var clients []*process
	defer func() {
		for _, c := range clients {
			c.kill()
		}
	}()
	for _, argv := range commands {
		c, err := spawn(clientCore, argv, nil)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	o, from, to, err := watch(ctx, t, e, clients)
	if err != nil {
		return nil, err
	}
	for _, c := range clients {
		if err := c.await(ctx, t.length+endPatience); err != nil {
			return nil, err
		}
		o.outputs = append(o.outputs, c.stdout.Bytes())
	}
	if o.times, err = e.finish(ctx); err != nil {
		return nil, err
	}
	o.window = within(o.times, from, to)
	return o, nil
}

// watch measures the clients, from warm after the first arrival until shortly before the end.
func watch(ctx context.Context, t trial, e *endpoint, clients []*process) (o *outcome, from, to int64, err error) {
	text, err := e.firstOrEnd(ctx, clients)
	if err != nil {
		return nil, 0, 0, err
	}
	first, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("read the first arrival: %w", err)
	}
	var spent [2]used
	var at [2]int64
	for i, when := range []int64{first + int64(t.warm), first + int64(t.length-margin(t.length))} {
		if err := sleepUntil(ctx, when); err != nil {
			return nil, 0, 0, err
		}
		at[i] = monotonic()
		if spent[i], err = spend(ctx, t, e, clients); err != nil {
			return nil, 0, 0, err
		}
	}
	held, err := memory(clients)
	if err != nil {
		return nil, 0, 0, err
	}
	return &outcome{memory: held, took: time.Duration(at[1] - at[0]), used: spent[1].since(spent[0])}, at[0], at[1], nil
}

// spend returns the resources used up to now. It reads the clients first: their figures have to fit the time that was
// just taken.
func spend(ctx context.Context, t trial, e *endpoint, clients []*process) (u used, err error) {
	for _, c := range clients {
		used, err := cpu(c.cmd.Process.Pid)
		if err != nil {
			c.kill() // its last words are complete when its end was noticed
			return u, fmt.Errorf("%w (it ended before its time: %s)", err, c.lastWords())
		}
		u.client += used
	}
	if u.endpoint, err = cpu(e.cmd.Process.Pid); err != nil || t.redis == nil {
		return u, err
	}
	if u.redis, err = cpu(t.redis.pid()); err != nil {
		return u, err
	}
	u.calls, err = t.redis.calls(ctx)
	return u, err
}

// sleepUntil waits until a time of CLOCK_MONOTONIC.
func sleepUntil(ctx context.Context, when int64) error {
	select {
	case <-time.After(time.Duration(when - monotonic())):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// within returns those of the sorted times that are at or after from, and before to.
func within(times []int64, from, to int64) []int64 {
	var in []int64
	for _, at := range times {
		if at >= from && at < to {
			in = append(in, at)
		}
	}
	return in
}
