//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

// A load is what a tool is told to do.
type load struct {
	url         string
	connections int
	rate        int // requests a second; 0: as fast as it goes
	length      time.Duration
	name        string // of the trial, no other has it
}

// seconds is the length in whole seconds, at least one: some tools know nothing else.
func (l load) seconds() int { return max(1, int(l.length/time.Second)) }

// A claim is what a tool says of itself. Latencies it does not tell are 0.
type claim struct {
	requests      int64
	p50, p90, p99 time.Duration
}

// A tool is a load generator.
type tool struct {
	name    string // in the tables
	program string // what is looked for, or built
	needs   string // how to get it
	// ask is how it tells its version, found is where in what it prints.
	ask   []string
	found *regexp.Regexp
	// args is its command line, without the program; nil if it cannot do what the load says.
	args func(load) []string
	read func(output []byte) (claim, error)
	// warmup is how many requests it sends on each connection before it begins; they are not counted as too many.
	warmup int
	// exact: what it says it sent is what must have arrived, to the request.
	exact bool
	// redis is the server that works for it, on the other core: its CPU is part of what a request costs. nil: none.
	redis *server

	path, version string // once it was found
}

// peers are the other load generators.
func peers(b *bench) []tool {
	return []tool{wrk(), wrk2(), ab(), hey(), fortio(b), k6(b)}
}

// locate finds a tool. Those that are built are at their path already.
func (t *tool) locate(ctx context.Context) error {
	if t.path == "" {
		path, err := exec.LookPath(t.program)
		if err != nil {
			return fmt.Errorf("%s is missing: %s", t.name, t.needs)
		}
		t.path = path
	}
	// Some say it on standard error, or exit with 1.
	said, _ := exec.CommandContext(ctx, t.path, t.ask...).CombinedOutput()
	t.version = "of unknown version"
	if m := t.found.FindSubmatch(said); m != nil {
		t.version = string(m[1])
	} else if said, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Version}", t.program).Output(); err == nil {
		t.version = string(said) // of Debian's package
	}
	return nil
}

// command is the command line for a load; nil if the tool cannot do that.
func (t tool) command(l load) []string {
	args := t.args(l)
	if args == nil {
		return nil
	}
	return append([]string{t.path}, args...)
}

// unread is the error of an output that lacks something.
func unread(tool, what string) error {
	return fmt.Errorf("read the output of %s: it has no %s", tool, what)
}
