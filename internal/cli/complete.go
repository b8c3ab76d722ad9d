package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/run"
)

// CompleteRun completes the name of a run in a shell, from those in Redis. Without a server there is nothing to complete.
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
