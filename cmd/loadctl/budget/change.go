package budget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// changeFlags are those of commands that change budgets.
type changeFlags struct {
	redis   *cli.Redis
	output  cli.Output
	timeout cli.Duration
}

func (f *changeFlags) AddFlags(c *cobra.Command) {
	f.addTimeout(c)
	f.output.AddFlags(c, "text", "json")
}

func (f *changeFlags) addTimeout(c *cobra.Command) {
	f.timeout = cli.Duration(time.Minute)
	c.Flags().Var(&f.timeout, "timeout", "how long to wait until all runs obey the change; 0 = without an end")
}

// errUnchanged says that there is nothing to change.
var errUnchanged = errors.New("nothing to change")

// change makes a change, waits until all runs obey it, and prints what it has left.
func (f *changeFlags) change(c *cobra.Command, name string, order func(context.Context, ledger.Ledger, ledger.State) (ledger.Change, error)) error {
	client, err := f.redis.Connect(c.Context())
	if err != nil {
		return err
	}
	defer cli.Close(client)
	l := ledger.Ledger{Client: client}
	before, err := l.List(c.Context())
	if err != nil {
		return err
	}
	made, err := order(c.Context(), l, before)
	if err != nil && !errors.Is(err, errUnchanged) {
		return explain(c.Context(), l, made, err)
	}
	done := budgets.Change{Name: name, Command: c.Name(), Changed: err == nil, At: before.Now}
	if done.Changed {
		done.At = made.At()
		if err := f.wait(c, l, made); err != nil {
			return err
		}
	}
	after, err := l.List(c.Context())
	if err != nil {
		return err
	}
	doc := budgets.Of(after, done)
	return f.output.Print(c.OutOrStdout(), doc, func(w io.Writer) error {
		_, err := printable.Fprintf(w, "%s\n", doc.Done())
		return err
	})
}

// explain adds to an error of a change what is in its way, and what to do.
func explain(ctx context.Context, l ledger.Ledger, change ledger.Change, err error) error {
	s, failed := l.List(ctx)
	switch {
	case failed != nil:
		return err
	case errors.Is(err, ledger.ErrFull):
		return cli.Config(fmt.Errorf("%w: %s; give a higher rate, slow these runs down or stop them, or bring them down with --cut",
			err, budgets.Above(s, change).Holders()))
	case errors.Is(err, ledger.ErrChanged):
		return fmt.Errorf("%w: loadctl budget show %s tells what it is now", err, change.Name)
	}
	return err
}

// wait makes runs obey a change at once, and waits until all do. If that takes long it says for whom it waits. Runs that it
// does not reach obey when their judges renew their rights, so that is no error.
func (f *changeFlags) wait(c *cobra.Command, l ledger.Ledger, change ledger.Change) error {
	ctx, cancel := f.bounded(c.Context())
	defer cancel()
	if s, err := l.List(ctx); err == nil {
		_ = rights.Deliver(ctx, l.Client, s.Behind(change))
	}
	if status, err := l.Known(ctx, change); status != "DONE" && err == nil {
		s, err := l.List(ctx)
		if why := budgets.Waiting(s, change); err == nil && why != "" { // all may obey by now
			printable.Fprintf(c.ErrOrStderr(), "%s: waiting: %s\n", change.Name, why)
		}
	}
	err := l.Changed(ctx, change)
	if err == nil {
		return nil
	}
	if c.Context().Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return explain(c.Context(), l, change, err)
	}
	s, failed := l.List(c.Context())
	if failed != nil {
		return err
	}
	return fmt.Errorf("%s: the change is made, but not all obey it after %v: %s; loadctl budget show %s tells more, and --timeout waits longer",
		change.Name, time.Duration(f.timeout), budgets.Unobeyed(s, change), change.Name)
}

// bounded returns the context of a wait.
func (f *changeFlags) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(f.timeout))
}
