//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// The cores: what is measured has one for itself. Redis, if there is one, shares that of the endpoint, so it does not
// take from the client.
const (
	serverCore = 0
	clientCore = 1
)

// Patience, where something should come at once or at a known time.
const (
	listenPatience = 10 * time.Second
	firstPatience  = 60 * time.Second // k6 makes 5,000 virtual users first, 100 workers have to join
	endPatience    = 40 * time.Second // after the last request
)

// A trial is one or more processes that fire at an endpoint for a time, and what is looked at meanwhile.
type trial struct {
	endpoint endpointOptions
	length   time.Duration // from the first arrival to the last
	warm     time.Duration // after the first arrival; what is before is not looked at
	redis    *server       // whose CPU and calls are of interest; nil: none
	// clients are the command lines, once it is known where the endpoint listens.
	clients func(address string) ([][]string, error)
}

// An outcome is what came of a trial. Window is the time that was looked at.
type outcome struct {
	used
	times   []int64       // all arrivals, CLOCK_MONOTONIC in ns
	window  []int64       // those within the window
	took    time.Duration // the window
	memory  int64         // the most memory that all clients held up to the end of the window, in bytes: the sum of their peaks
	outputs [][]byte      // of the clients
}

// Used is what was used up, since the processes began or in the window.
type used struct {
	client, endpoint, redis time.Duration // of processors; client: all of them together
	calls                   int64         // of scripts in Redis
}

func (u used) since(before used) used {
	return used{u.client - before.client, u.endpoint - before.endpoint, u.redis - before.redis, u.calls - before.calls}
}

// rate is the requests a second within the window.
func (o *outcome) rate() float64 { return float64(len(o.window)) / o.took.Seconds() }

// share is a part of one core, in the window: 1 is all of it.
func (o *outcome) share(d time.Duration) float64 { return d.Seconds() / o.took.Seconds() }

// perRequest is the processor time of the clients for each request.
func (o *outcome) perRequest() time.Duration { return o.client / time.Duration(max(1, len(o.window))) }

// margin is the end of a trial that is not looked at: clients may be a little early.
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

// watch looks at the clients from warm after the first arrival to a moment before the end.
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

// spend is what was used up to now. The clients come first: they are what the time was taken for.
func spend(ctx context.Context, t trial, e *endpoint, clients []*process) (u used, err error) {
	for _, c := range clients {
		used, err := cpu(c.cmd.Process.Pid)
		if err != nil {
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

// sleepUntil waits for a time of CLOCK_MONOTONIC.
func sleepUntil(ctx context.Context, when int64) error {
	select {
	case <-time.After(time.Duration(when - monotonic())):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// within are the times from one to another, of times that rise.
func within(times []int64, from, to int64) []int64 {
	var in []int64
	for _, at := range times {
		if at >= from && at < to {
			in = append(in, at)
		}
	}
	return in
}

// endpoint is the process fired at, seen from its parent.
type endpoint struct {
	*process
	stdin  io.WriteCloser
	stdout *os.File
	out    *bufio.Reader // of stdout
}

func startEndpoint(o endpointOptions) (*endpoint, error) {
	path, err := self()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: that of package exec is closed when the process ends, read or not.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() //nolint:errcheck // the child has its own
	e := &endpoint{stdout: stdout, out: bufio.NewReaderSize(stdout, 1<<20)}
	e.process, err = spawn(serverCore, append([]string{path}, o.args()...), func(c *exec.Cmd) {
		c.Stdout = theirs
		e.stdin, c.Err = c.StdinPipe()
	})
	if err != nil {
		_ = stdout.Close() // the error that counts is the other one
		return nil, err
	}
	return e, nil
}

// end kills the process, if it still runs, and frees what it had.
func (e *endpoint) end() {
	e.kill()
	_ = e.stdout.Close() // it is only read
}

// line waits for a line that begins with a word, and returns the rest of it.
func (e *endpoint) line(ctx context.Context, word string, patience time.Duration) (string, error) {
	type read struct {
		line string
		err  error
	}
	lines := make(chan read, 1)
	go func() {
		line, err := e.out.ReadString('\n')
		lines <- read{line, err}
	}()
	select {
	case r := <-lines:
		rest, ok := strings.CutPrefix(strings.TrimSuffix(r.line, "\n"), word)
		if r.err != nil {
			return "", fmt.Errorf("read %q from the endpoint: %w", word, r.err)
		}
		if !ok {
			return "", fmt.Errorf("the endpoint says %q instead of %q", r.line, word)
		}
		return rest, nil
	case <-time.After(patience):
		return "", fmt.Errorf("nothing arrived within %v", patience)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// firstOrEnd waits for the first arrival. Clients that end before it will never send one.
func (e *endpoint) firstOrEnd(ctx context.Context, clients []*process) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for _, c := range clients {
			select {
			case <-c.done:
			case <-ctx.Done():
				return
			}
		}
		cancel(fmt.Errorf("it ended and sent nothing: %s", clients[0].lastWords()))
	}()
	first, err := e.line(ctx, "first ", firstPatience)
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return first, err
}

// finish ends the endpoint and returns all arrivals.
func (e *endpoint) finish(ctx context.Context) ([]int64, error) {
	if err := e.stdin.Close(); err != nil {
		return nil, err
	}
	if _, err := e.line(ctx, "end", listenPatience); err != nil {
		return nil, err
	}
	times, err := readTimes(e.out)
	if err != nil {
		return nil, fmt.Errorf("read the arrivals: %w", err)
	}
	return times, e.await(ctx, listenPatience)
}
