package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// newChangeCommand returns a command that changes a run and prints the result. args is the number of arguments; the
// first is the run.
func newChangeCommand(
	redis *cli.Redis, use, short string, args int, change func(*run.Run, context.Context) (run.Change, error),
) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cli.Args(cobra.ExactArgs(args)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			client, r, err := redis.Open(c.Context(), args[0])
			if err != nil {
				return unchanged(err)
			}
			defer cli.Close(client)
			done, err := rights.Change(c.Context(), r, func() (run.Change, error) { return change(r, c.Context()) })
			if errors.Is(err, run.ErrOver) || errors.Is(err, run.ErrWaiting) || errors.Is(err, run.ErrNoRate) || errors.Is(err, run.ErrNoConcurrency) || errors.Is(err, spec.ErrLimiter) || rights.Refused(err) {
				err = cli.Config(err)
			}
			if err != nil {
				return err
			}
			if done.Command == "pause" {
				warnFull(c, done.Command, r.MemoryAdvice(c.Context()))
			}
			if done.Command == "set-rate" || done.Command == "set-burst" {
				warnLimiter(c, r)
			}
			return output.Print(c.OutOrStdout(), done, func(w io.Writer) error { return printChange(w, done) })
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}

// unchanged adds to the error that Redis did not answer that the command has changed nothing. err comes from opening
// the run.
func unchanged(err error) error {
	if link.Unanswered(err) {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	return err
}

// warnLimiter warns if the run's limiter may not let the whole rate pass.
func warnLimiter(c *cobra.Command, r *run.Run) {
	if why := r.Warning(c.Context()); why != "" {
		cli.Warn(c, "run %s: %s", r.Name, why)
	}
}

// warnFull says what to free if the memory of Redis is full, as run.Full tells it. A pause or a stop works anyway.
func warnFull(c *cobra.Command, command, full string) {
	if full != "" {
		cli.Warn(c, "%s; %s works anyway, but workers cannot report until there is room", full, command)
	}
}

func printChange(w io.Writer, c run.Change) error {
	text := fmt.Sprintf("%s: %s in force from %s", c.Run, c.Command, c.At.Format(time.RFC3339Nano))
	switch {
	case c.Command == "start" && c.At.IsZero():
		text = fmt.Sprintf("%s: start: the run begins when the first worker is ready", c.Run)
	case c.Command == "start":
		text = fmt.Sprintf("%s: started, the first request is due at %s", c.Run, c.At.Format(time.RFC3339Nano))
	case c.At.IsZero():
		text = fmt.Sprintf("%s: %s in force as soon as the run begins or is resumed", c.Run, c.Command)
	}
	if !c.Changed {
		text = fmt.Sprintf("%s: %s: nothing to change", c.Run, c.Command)
	}
	_, err := printable.Fprintf(w, "%s\n", text)
	return err
}
