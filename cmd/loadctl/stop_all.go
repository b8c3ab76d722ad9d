package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/units"
)

// stopAll holds the flags of stop that concern all runs.
type stopAll struct{ all, yes bool }

func (f *stopAll) AddFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.all, "all", false, "stop every run that has not ended; asks first")
	c.Flags().BoolVar(&f.yes, "yes", false, "with --all: do not ask; required without a terminal")
}

// check validates the command line.
func (f *stopAll) check(c *cobra.Command, args []string) error {
	switch {
	case f.all && len(args) > 0:
		return cli.Config(errors.New("stop: give the name of one run, or --all"))
	case f.yes && !f.all:
		return cli.Config(errors.New("--yes: it confirms --all; give --all too, or leave --yes out"))
	case f.all && !f.yes && !asksAt(c.InOrStdin()):
		return cli.Config(errors.New("stop --all: there is no terminal to ask on; give --yes if all runs are to be stopped"))
	}
	return nil
}

// asksAt tells whether somebody can answer a question: in is a terminal.
func asksAt(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Stopped is the output of stop --all for one run.
type Stopped struct {
	run.Change
	Confirmed bool   `json:"confirmed"`       // nothing more is sent
	Error     string `json:"error,omitempty"` // why it is not confirmed
}

// stop stops all runs at the same time, so that none waits for another.
func (f *stopAll) stop(c *cobra.Command, server *cli.Redis, output *cli.Output) error {
	client, err := server.Connect(c.Context())
	if err != nil {
		return unchanged(err)
	}
	defer cli.Close(client)
	names, err := going(c.Context(), client)
	if err != nil {
		return unchanged(err)
	}
	if len(names) == 0 {
		return output.Print(c.OutOrStdout(), []Stopped{}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "no run to stop")
			return err
		})
	}
	if err := f.ask(c, names); err != nil {
		return err
	}
	done := stopEach(c, client, output.Format == "text", names)
	if output.Format != "text" {
		if err := output.Print(c.OutOrStdout(), done, nil); err != nil {
			return err
		}
	}
	return unconfirmed(c.Context(), done)
}

// unconfirmed returns an error with exit code 1 if some runs may still be sending.
func unconfirmed(ctx context.Context, done []Stopped) error {
	var why []string
	for _, s := range done {
		if !s.Confirmed {
			why = append(why, s.Error)
		}
	}
	if len(why) == 0 {
		return nil
	}
	err := fmt.Errorf("stop --all: %d of %d runs may still be sending: %s", len(why), len(done), strings.Join(why, "; "))
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// going returns the names of the runs that have not ended, and of those that cannot be reached.
func going(ctx context.Context, client rdb.Client) ([]string, error) {
	entries, err := run.List(ctx, client)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Phase != "ended" && e.Phase != "stopped" {
			names = append(names, e.Run)
		}
	}
	return names, nil
}

// ask returns nil if the user agrees to stop the runs.
func (f *stopAll) ask(c *cobra.Command, names []string) error {
	if f.yes {
		return nil
	}
	printable.Fprintf(c.ErrOrStderr(), "stop %s: %s? [y/N] ", units.Things(int64(len(names)), "run"), strings.Join(names, ", "))
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(c.InOrStdin()).ReadString('\n') // an empty answer means no
		answered <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-answered:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("stop --all: not confirmed, so no run was stopped")
	case <-c.Context().Done():
		fmt.Fprintln(c.ErrOrStderr())
		return context.Cause(c.Context())
	}
}

// stopEach returns the result for each run, in the order of names. With show it prints a line as each run stops.
func stopEach(c *cobra.Command, client rdb.Client, show bool, names []string) []Stopped {
	done := make([]Stopped, len(names))
	var printing sync.Mutex
	warned := false
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			says := waitsFor(c.ErrOrStderr(), name, name+": ")
			done[i] = stopOne(c.Context(), client, name, func(r *run.Run) {
				full := r.MemoryAdvice(c.Context())
				printing.Lock()
				defer printing.Unlock()
				if !warned {
					warnFull(c, "stop", full)
					warned = full != ""
				}
			}, func(those []run.Pending) {
				printing.Lock()
				defer printing.Unlock()
				says(those)
			})
			if !show {
				return
			}
			printing.Lock()
			defer printing.Unlock()
			if !done[i].Confirmed {
				printable.Fprintf(c.OutOrStdout(), "%s: stop: not confirmed, it may still be sending\n", name)
			} else if err := printChange(c.OutOrStdout(), done[i].Change); err != nil {
				done[i].Confirmed, done[i].Error = false, fmt.Sprintf("stop %s: %v", name, err)
			}
		})
	}
	all.Wait()
	return done
}

// stopOne stops a run. It calls before first.
func stopOne(ctx context.Context, client rdb.Client, name string, before func(*run.Run), waiting func([]run.Pending)) Stopped {
	s := Stopped{Change: run.Change{Run: name, Command: "stop"}}
	r, err := run.Open(ctx, client, name)
	if err == nil {
		before(r)
		var change run.Change
		if change, err = r.Stop(ctx, waiting); change.Run != "" {
			s.Change = change
		}
	}
	s.Confirmed = err == nil || errors.Is(err, run.ErrNoRun) // removed in the meantime, or expired
	if !s.Confirmed {
		s.Error = err.Error()
	}
	return s
}
