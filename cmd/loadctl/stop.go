package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
)

func newStopCommand(redis *cli.Redis) *cobra.Command {
	var c *cobra.Command
	c = newChangeCommand(redis, "stop RUN", "End a run; when this returns, nothing more is sent", 1,
		func(ctx context.Context, r *run.Run, _ []string) (run.Change, error) {
			return r.Stop(ctx, func(ids []string) {
				fmt.Fprintf(c.ErrOrStderr(), "waiting for %s\n", strings.Join(ids, ", "))
			})
		})
	return c
}
