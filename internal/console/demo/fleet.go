package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// FindWorker returns the path of the command loadworker: beside this program, or else in the PATH.
func FindWorker() (string, error) {
	beside := ""
	if self, err := os.Executable(); err == nil {
		beside = filepath.Dir(self)
	}
	return findWorker(beside)
}

func findWorker(beside string) (string, error) {
	for _, place := range []string{filepath.Join(beside, "loadworker"), "loadworker"} {
		if path, err := exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "", errors.New("find loadworker: it is neither beside loadctl nor in the PATH; get it with " +
		"go install github.com/loadctl/loadctl/cmd/loadworker@latest, or in a checkout with make build and then bin/loadctl demo")
}

// fleet holds worker processes on this machine. It belongs to one goroutine.
type fleet struct {
	binary, redis string
	fail          func(error) // called with a *workerError when a worker ends that was not dismissed
	workers       []*worker
}

// worker is one process.
type worker struct {
	id        string
	process   *child.Process
	dismissed atomic.Bool // it may end
	killed    bool        // by us
}

// start starts a worker, which joins the run by itself.
func (f *fleet) start(id string) error {
	cmd := exec.Command(f.binary, "run", "--redis", f.redis, "--run", name, "--allow-hosts", "127.0.0.1", "--id", id)
	cmd.Stdout = io.Discard
	p, err := child.Start(cmd, nil)
	if err != nil {
		return fmt.Errorf("start worker %s: %w", id, err)
	}
	w := &worker{id: id, process: p}
	go func() {
		<-p.Exited
		if !w.dismissed.Load() {
			f.fail(w.failure())
		}
	}()
	f.workers = append(f.workers, w)
	return nil
}

// failure is an error that tells how the worker has ended.
func (w *worker) failure() *workerError {
	return &workerError{id: w.id, how: w.process.Cmd.ProcessState.String(), words: lastLines(w.process.Stderr.String())}
}

// kill ends a worker as a crash would, and waits until it is dead.
func (f *fleet) kill(id string) error {
	for _, w := range f.workers {
		if w.id == id {
			w.kill()
			return nil
		}
	}
	return fmt.Errorf("kill worker %s: it was not started", id)
}

func (w *worker) kill() {
	w.dismissed.Store(true)
	w.killed = true
	w.process.Kill()
}

// dismiss allows the workers to end, because the run will end.
func (f *fleet) dismiss() {
	for _, w := range f.workers {
		w.dismissed.Store(true)
	}
}

// wait returns when all workers have ended, with an error if one failed or takes longer than patience.
func (f *fleet) wait(ctx context.Context, patience time.Duration) error {
	over := time.After(patience)
	for _, w := range f.workers {
		select {
		case <-w.process.Exited:
		case <-over:
			return fmt.Errorf("end worker %s: it still runs %v after the stop", w.id, patience)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !w.killed && !w.process.Cmd.ProcessState.Success() {
			return w.failure()
		}
	}
	return nil
}

// close kills all running workers and waits until they are dead.
func (f *fleet) close() {
	f.dismiss()
	for _, w := range f.workers {
		w.kill()
	}
}

// workerError is a worker that ended unexpectedly, with the last lines of its stderr.
type workerError struct {
	id, how string
	words   []string
}

func (e *workerError) Error() string {
	if len(e.words) == 0 {
		return fmt.Sprintf("run worker %s: it ended with %s and printed nothing", e.id, e.how)
	}
	return fmt.Sprintf("run worker %s: it ended with %s; its last lines are above", e.id, e.how)
}

// write writes the worker's last lines.
func (e *workerError) write(w io.Writer) {
	for _, line := range e.words {
		fmt.Fprintf(w, "%s: %s\n", e.id, line)
	}
}

// How much is shown of what a worker has printed on stderr.
const (
	shownBytes = 4 << 10
	shownLines = 8
)

// lastLines returns the last lines of a text, without control characters.
func lastLines(text string) []string {
	text = strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-shownBytes):], ""))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-shownLines):]
	for i := range lines {
		lines[i] = printable.Line(lines[i])
	}
	return lines
}
