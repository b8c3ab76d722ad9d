package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
)

// Complete makes a shell complete a flag that the command has. cobra keeps completions, and with them the whole command,
// as long as the process lives. So Main registers them, and only when a shell asks.
func Complete(c *cobra.Command, flag string, how cobra.CompletionFunc) {
	f := c.Flags().Lookup(flag)
	f.Value = completed{f.Value, how}
}

// completed is the value of a flag that a shell completes.
type completed struct {
	pflag.Value
	how cobra.CompletionFunc
}

// RegisterCompletions registers what Complete has noted, for a command and those below it.
func RegisterCompletions(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(completed); ok {
			_ = c.RegisterFlagCompletionFunc(f.Name, v.how) // fails only where there is no such flag
		}
	})
	for _, below := range c.Commands() {
		RegisterCompletions(below)
	}
}

// CompleteProfile completes the name of a profile. Its settings come after it.
func CompleteProfile(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, name := range pacer.Profiles() {
		names = append(names, name+":")
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteWorkers completes the name of a run, then those of its workers that are present and not named yet.
func (r *Redis) CompleteWorkers(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return r.CompleteRun(c, args, begun)
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	r.Warn(nil) // the shell shows what is on stderr
	client, opened, err := r.Open(ctx, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer Close(client)
	state, err := opened.State(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []cobra.Completion
	for _, w := range state.Workers {
		if !w.Gone() && w.State != "replaced" && !slices.Contains(args[1:], w.ID) {
			ids = append(ids, cobra.CompletionWithDesc(w.ID, w.State))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// CompleteRun completes the name of a run in a shell, from the runs in Redis. Without a server it completes nothing.
func (r *Redis) CompleteRun(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	r.Warn(nil) // the shell shows what is on stderr
	client, err := r.Connect(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer Close(client)
	runs, _ := run.List(ctx, client)
	var names []cobra.Completion
	for _, e := range runs {
		names = append(names, cobra.CompletionWithDesc(e.Run, e.Phase))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
