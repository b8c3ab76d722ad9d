//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

// A load is what a tool is asked to do.
type load struct {
	url         string
	connections int
	streams     int // requests at the same time on each connection, with HTTP/2; 0: one
	rate        int // requests a second; 0: as fast as it can
	length      time.Duration
	name        string // of the trial; it is unique
}

// seconds returns the length in whole seconds, at least one: some tools accept nothing else.
func (l load) seconds() int { return max(1, int(l.length/time.Second)) }

// A claim is what a tool reports of itself. A latency that it does not report is 0.
type claim struct {
	requests      int64
	p50, p90, p99 time.Duration
}

// A tool is a load generator.
type tool struct {
	name    string // in the tables
	program string // of the program that is looked for, or built
	needs   string // how to get it
	// ask is the arguments that print its version. found finds the version in the output.
	ask   []string
	found *regexp.Regexp
	// args returns its command line, without the program; nil if it cannot produce the load.
	args func(load) []string
	read func(output []byte) (claim, error)
	// warmup is how many requests it sends on each connection before it begins. They do not count as an excess.
	warmup int
	// exact means that the number of requests it reports must equal the number that arrived.
	exact bool
	// redis is the server that works for it on the other core. Its CPU time is part of the cost of a request. nil: none.
	redis *server

	path, version string // set by locate
}

// peers returns the other load generators.
func peers(b *bench) []tool {
	return []tool{wrk(), wrk2(), ab(), hey(), fortio(b), k6(b)}
}

// locate finds a tool and its version. The path of a tool that was built is already set.
func (t *tool) locate(ctx context.Context) error {
	if t.path == "" {
		path, err := exec.LookPath(t.program)
		if err != nil {
			return fmt.Errorf("%s is missing: %s", t.name, t.needs)
		}
		t.path = path
	}
	// Some tools print it on standard error, or exit with 1.
	said, _ := exec.CommandContext(ctx, t.path, t.ask...).CombinedOutput()
	t.version = "of unknown version"
	if m := t.found.FindSubmatch(said); m != nil {
		t.version = string(m[1])
	} else if said, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Version}", t.program).Output(); err == nil {
		t.version = string(said) // version of Debian's package
	}
	return nil
}

// command returns the command line for a load; nil if the tool cannot produce it.
func (t tool) command(l load) []string {
	args := t.args(l)
	if args == nil {
		return nil
	}
	return append([]string{t.path}, args...)
}

// unread returns the error for an output that lacks something.
func unread(tool, what string) error {
	return fmt.Errorf("read the output of %s: it has no %s", tool, what)
}
