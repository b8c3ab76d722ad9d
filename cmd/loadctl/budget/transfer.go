package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
)

func newExportCommand(redis *cli.Redis) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Print all budgets as JSON, for import",
		Long: `Print all budgets and freezes as JSON, as ls -o json does, without what runs hold. Keep it: if Redis
loses its data while no run is there, nobody else knows the budgets.`,
		Example: "  loadctl budget export > budgets.json",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := read(c, redis)
			if err != nil {
				return err
			}
			s.Rows, s.Queue = nil, nil
			json := cli.Output{Format: "json"}
			return json.Print(c.OutOrStdout(), budgets.All(s), nil)
		},
	}
}

func newImportCommand(redis *cli.Redis) *cobra.Command {
	f := changeFlags{redis: redis}
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Set the budgets of a file that export has written",
		Long: `Set the budgets and freezes of a file that export has written; - is standard input. A rate may also
be a text such as "2.5k". Budgets that are not in the file stay, and so do freezes. What is in
force already is not set again. A wrong file changes nothing. A budget below what runs hold is
refused with 104; the others are set.`,
		Example: "  loadctl budget import budgets.json",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			entries, err := readFile(args[0], c.InOrStdin())
			if err != nil {
				return cli.Config(fmt.Errorf("import %.200s: %w", args[0], err))
			}
			return f.imported(c, entries)
		},
	}
	f.addTimeout(c)
	return c
}

// mostBytes is the size of the largest file of budgets.
const mostBytes = 4 << 20

// readFile reads the budgets of a file.
func readFile(name string, in io.Reader) ([]budgets.Entry, error) {
	if name != "-" {
		text, err := cli.ReadAtMost(name, mostBytes)
		if err != nil {
			return nil, err
		}
		return budgets.Parse(text)
	}
	text, err := io.ReadAll(io.LimitReader(in, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = errors.New("standard input is larger than 4 MiB; divide it")
	}
	if err != nil {
		return nil, err
	}
	return budgets.Parse(text)
}

// imported makes the changes of a file, waits until all runs obey them, and prints a line for each.
func (f *changeFlags) imported(c *cobra.Command, entries []budgets.Entry) error {
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
	var made []ledger.Change
	var failures []error
	for _, e := range entries {
		changes, err := order(c.Context(), l, before.Budget(e.Name), e)
		made = append(made, changes...)
		if err != nil {
			failures = append(failures, err)
		}
	}
	for _, change := range made {
		err := f.wait(c, l, change)
		if err == nil {
			_, err = printable.Fprintf(c.OutOrStdout(), "%s: %s\n", change.Name, cmp.Or(map[string]string{"freeze": "frozen"}[change.Kind], "set"))
		}
		failures = append(failures, err)
	}
	if len(made) == 0 && len(failures) == 0 {
		_, err = printable.Fprintf(c.OutOrStdout(), "nothing to change\n")
	}
	return errors.Join(append(failures, err)...)
}

// order makes the changes of an entry: those that are not in force.
func order(ctx context.Context, l ledger.Ledger, was ledger.Budget, e budgets.Entry) (made []ledger.Change, err error) {
	make := func(change ledger.Change, err error) error {
		if err != nil {
			return explain(ctx, l, change, err)
		}
		made = append(made, change)
		return nil
	}
	note, why := ledger.Note{Text: e.Note, Who: cmp.Or(e.By, run.Who())}, ledger.Note{Text: e.Why, Who: cmp.Or(e.FrozenBy, run.Who())}
	if e.Rate > 0 && (was.Rate != e.Rate || was.Note.Text != e.Note) {
		if err := make(l.Set(ctx, e.Name, e.Rate, false, note)); err != nil {
			return made, err
		}
	}
	if e.Frozen && !was.Frozen {
		err = make(l.Freeze(ctx, e.Name, why))
	}
	return made, err
}
