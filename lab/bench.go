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
	rounds  int
	quick   bool
	against string // a loadworker of another commit
}

// A bench holds what all experiments share: the programs and a Redis.
type bench struct {
	options
	root  string // directory of the repository
	bin   string // directory of the programs that were built for the benchmark
	dir   string // directory of temporary files; close removes it
	redis *server

	worker  string   // version of loadworker
	tools   []tool   // the other load generators that were found
	missing []string // those that were not found, and how to get them
	trials  int      // number of trials so far; it makes their names unique
}

// open builds the programs, looks for the other tools and starts Redis. Close the bench afterwards.
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
	b := &bench{options: o, root: filepath.Dir(strings.TrimSpace(string(out)))}
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
	if err := os.CopyFS(b.dir, k6Scripts); err != nil {
		return err
	}
	// Without this k6 reports its use to its makers.
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
	_ = os.RemoveAll(b.dir) // what is left lies in the system's directory for temporary files
}

// file returns the path of a temporary file. It exists until the bench is closed.
func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

// built returns the path of a program that was built for the benchmark.
func (b *bench) built(name string) string { return filepath.Join(b.bin, name) }

// build builds the worker, and the peers that are Go modules. The peers have a go.mod of their own. The first build
// takes minutes.
func (b *bench) build(ctx context.Context) error {
	b.say("building; the first time takes minutes")
	to := b.bin + "/"
	if err := b.goBuild(ctx, b.root, to, "./cmd/loadworker", "./cmd/loadctl"); err != nil {
		return err
	}
	return b.goBuild(ctx, filepath.Join(b.root, "lab", "tools"), to, "fortio.org/fortio", "go.k6.io/k6", "github.com/tsenart/vegeta/v12", "./allow")
}

func (b *bench) goBuild(ctx context.Context, dir, to string, packages ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-C", dir, "-o", to}, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(packages, ", "), err, out)
	}
	return nil
}

// say prints a line of progress to standard error.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// next returns the name of the next trial.
func (b *bench) next() string {
	b.trials++
	return fmt.Sprint("bench", b.trials)
}

// lasting returns how long a trial takes, and how much of its beginning is ignored. Both are short with -quick, where
// the figures do not matter.
func (b *bench) lasting(length, warm time.Duration) (time.Duration, time.Duration) {
	if b.quick {
		return 2 * time.Second, 200 * time.Millisecond
	}
	return length, warm
}

// find returns the tool with this name.
func (b *bench) find(name string) (tool, bool) {
	for _, t := range b.tools {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}
