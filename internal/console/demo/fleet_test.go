package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// script is a program in place of loadworker.
func script(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loadworker")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// endless is a worker that runs until it is killed.
const endless = "while :; do sleep 0.05; done"

// write creates a file that is complete from the first moment.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func newFleet(t *testing.T, lines string) (f *fleet, failed chan error) {
	t.Helper()
	failed = make(chan error, 10)
	f = &fleet{binary: script(t, lines), redis: "redis://127.0.0.1:1", fail: func(err error) { failed <- err }}
	t.Cleanup(f.close)
	return f, failed
}

func (f *fleet) mustStart(t *testing.T, id string) *worker {
	t.Helper()
	if err := f.start(id); err != nil {
		t.Fatal(err)
	}
	return f.workers[len(f.workers)-1]
}

// gone tells whether there is no process of this id any more.
func gone(w *worker) bool {
	return errors.Is(syscall.Kill(w.process.Cmd.Process.Pid, 0), syscall.ESRCH)
}

func TestKilledWorkersAreNoFailure(t *testing.T) {
	f, failed := newFleet(t, endless)
	a, b := f.mustStart(t, "a"), f.mustStart(t, "b")
	if err := f.kill("a"); err != nil || !gone(a) || gone(b) {
		t.Errorf("%v; a gone %v, b gone %v", err, gone(a), gone(b))
	}
	if err := f.kill("c"); err == nil || err.Error() != "kill worker c: it was not started" {
		t.Error(err)
	}
	if err := f.wait(t.Context(), time.Millisecond); err == nil || err.Error() != "end worker b: it still runs 1ms after the stop" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if err := f.wait(ctx, time.Hour); !errors.Is(err, why) {
		t.Error(err)
	}
	f.close()
	if !gone(b) || len(failed) > 0 {
		t.Errorf("b gone %v, %d failures", gone(b), len(failed))
	}
}

func TestWorkersThatEnd(t *testing.T) {
	f, failed := newFleet(t, `echo "$@" >&2`)
	f.mustStart(t, "good")
	err := await.Receive(t, "the failure", failed)
	want := "good: run --redis redis://127.0.0.1:1 --run demo --allow-hosts 127.0.0.1 --id good\n"
	var told bytes.Buffer
	if e, ok := errors.AsType[*workerError](err); ok {
		e.write(&told)
	}
	if told.String() != want || !strings.Contains(err.Error(), "run worker good: it ended with exit status 0; ") {
		t.Errorf("%v\n%s", err, told.String())
	}

	code := filepath.Join(t.TempDir(), "code")
	f, failed = newFleet(t, "until test -e "+code+"; do sleep 0.01; done; exit $(cat "+code+")")
	f.mustStart(t, "x")
	f.dismiss()
	write(t, code, "0")
	if err := f.wait(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
	if err := os.Remove(code); err != nil {
		t.Fatal(err)
	}
	f.mustStart(t, "y")
	f.dismiss()
	write(t, code, "3")
	if err := f.wait(t.Context(), time.Hour); err == nil || err.Error() != "run worker y: it ended with exit status 3 and printed nothing" {
		t.Error(err)
	}
	if len(failed) > 0 {
		t.Errorf("a dismissed worker is a failure: %v", <-failed)
	}
}

func TestStartWithoutBinary(t *testing.T) {
	f := &fleet{binary: filepath.Join(t.TempDir(), "nothing")}
	if err := f.start("w1"); err == nil || !strings.HasPrefix(err.Error(), "start worker w1: ") || len(f.workers) > 0 {
		t.Error(err)
	}
}

// TestRunShowsWhyWorkersFail: the last lines on stderr come first, then one line that says which worker.
func TestRunShowsWhyWorkersFail(t *testing.T) {
	var out, errs bytes.Buffer
	err := Run(t.Context(), Options{
		QPS: 1000, Out: &out, Err: &errs,
		Worker: script(t, `i=0; while [ $i -lt 20 ]; do i=$((i+1)); printf 'line %s\033[2J\n' $i >&2; done; exit 104`),
	})
	id, _, _ := strings.Cut(errs.String(), ":")
	var want strings.Builder
	for i := 21 - shownLines; i <= 20; i++ {
		fmt.Fprintf(&want, "%s: line %d [2J\n", id, i)
	}
	if errs.String() != want.String() {
		t.Errorf("stderr %q, want %q", errs.String(), want.String())
	}
	if err == nil || err.Error() != "run worker "+id+": it ended with exit status 104; its last lines are above" {
		t.Error(err)
	}
	if strings.Contains(out.String(), "asked") {
		t.Errorf("results of nothing:\n%s", out.String())
	}
}

// TestRunEndsWithItsContext: it does not wait for workers that never come, and ends them.
func TestRunEndsWithItsContext(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	go func() {
		for ctx.Err() == nil {
			if text, _ := os.ReadFile(pids); bytes.Count(text, []byte("\n")) == len(first()) {
				cancel(why)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	err := Run(ctx, Options{QPS: 1000, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Worker: script(t, "echo $$ >>"+pids+"; "+endless)})
	if !errors.Is(err, why) {
		t.Error(err)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.FieldsSeq(string(text)) {
		if _, err := os.Stat("/proc/" + line); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %s is still there: %v", line, err)
		}
	}
}

func TestFindWorker(t *testing.T) {
	beside, inPath, empty := filepath.Dir(script(t, "")), filepath.Dir(script(t, "")), t.TempDir()
	for _, c := range []struct{ beside, path, want string }{
		{beside, inPath, beside},
		{beside, empty, beside},
		{empty, inPath, inPath},
		{"", inPath, inPath},
	} {
		t.Setenv("PATH", c.path)
		if got, err := findWorker(c.beside); err != nil || got != filepath.Join(c.want, "loadworker") {
			t.Errorf("beside %q, PATH %q: %q, %v", c.beside, c.path, got, err)
		}
	}
	t.Setenv("PATH", empty)
	if _, err := findWorker(empty); err == nil || !strings.Contains(err.Error(), "go install") || !strings.Contains(err.Error(), "make build") {
		t.Error(err)
	}
}

func TestLastLines(t *testing.T) {
	full := strings.Repeat("x", 100)
	if lines := lastLines(strings.Repeat(full+"\n", 1000)); len(lines) != shownLines || lines[0] != full {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	if lines := lastLines(strings.Repeat("x", 1<<20)); len(lines) != 1 || len(lines[0]) != shownBytes {
		t.Errorf("%d lines of %d bytes", len(lines), len(lines[0]))
	}
	for text, want := range map[string]int{"": 0, "\n \n": 0, "a": 1, "a\nb\n": 2, "\xff\xfe": 0} {
		if got := lastLines(text); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
