//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

type options struct {
	rounds int
	quick  bool
}

// A bench is what all experiments share: the programs, and a Redis.
type bench struct {
	options
	root  string // of the repository
	bin   string // where programs are that were built for this
	dir   string // for files, until the end
	redis *server

	worker  string   // version of what is measured here
	tools   []tool   // the others that are there
	missing []string // those that are not, and how to get them
	trials  int      // so far: each has a name of its own
}

// open builds and looks for everything. Close the bench afterwards.
func open(ctx context.Context, o options) (*bench, error) {
	if o.quick {
		o.rounds = 1
	}
	if err := errors.Join(needCores(), raiseDescriptors()); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w; run this in a checkout", err)
	}
	b := &bench{options: o, root: strings.TrimSpace(string(out))}
	b.bin = filepath.Join(b.root, "bin", "bench")
	if b.dir, err = os.MkdirTemp("", "loadctl-bench-"); err != nil {
		return nil, err
	}
	if err := b.prepare(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) prepare(ctx context.Context) error {
	if err := b.build(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(b.file("k6.js"), k6Script, 0o600); err != nil {
		return err
	}
	// k6 would tell its makers that it was used.
	if err := os.Setenv("K6_NO_USAGE_REPORT", "true"); err != nil {
		return err
	}
	worker := product{}.tool(b)
	if err := worker.locate(ctx); err != nil {
		return err
	}
	b.worker = worker.version
	for _, t := range peers(b) {
		if err := t.locate(ctx); err != nil {
			b.missing = append(b.missing, err.Error())
			continue
		}
		b.tools = append(b.tools, t)
	}
	var err error
	b.redis, err = startRedis(ctx, b.dir)
	return err
}

func (b *bench) close() {
	if b.redis != nil {
		b.redis.stop()
	}
	_ = os.RemoveAll(b.dir) // what is left is in the system's folder for such
}

// file is a file that lasts until the end.
func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

// built is where a program is that was built for this.
func (b *bench) built(name string) string { return filepath.Join(b.bin, name) }

// build builds the worker, and the peers that are Go modules; these have a mod file of their own. The first time takes minutes.
func (b *bench) build(ctx context.Context) error {
	b.say("building; the first time takes minutes")
	to := b.bin + "/"
	if err := b.goBuild(ctx, b.root, to, "./cmd/loadworker", "./cmd/loadctl"); err != nil {
		return err
	}
	return b.goBuild(ctx, filepath.Join(b.root, ".ci", "bench"), to, "fortio.org/fortio", "go.k6.io/k6", "./allow")
}

func (b *bench) goBuild(ctx context.Context, dir, to string, packages ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-C", dir, "-o", to}, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(packages, ", "), err, out)
	}
	return nil
}

// say tells whoever waits how it goes.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// next is the name of a trial.
func (b *bench) next() string {
	b.trials++
	return fmt.Sprint("bench", b.trials)
}

// lasting is how long a trial takes and how much of its beginning is not looked at: less where nobody looks at the figures.
func (b *bench) lasting(length, warm time.Duration) (time.Duration, time.Duration) {
	if b.quick {
		return time.Second, 200 * time.Millisecond
	}
	return length, warm
}

// find is the tool with a name.
func (b *bench) find(name string) (tool, bool) {
	for _, t := range b.tools {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}
