package main

import (
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/metrics"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// push sends the metrics of runs to an OTLP receiver, if the environment names one.
type push struct{ to *metrics.Push }

// newPush reads the environment.
func newPush() (push, error) {
	to, err := metrics.NewPush(os.Getenv, version)
	if err != nil {
		return push{}, cli.Config(err)
	}
	return push{to}, nil
}

// follow begins to push. The function that it returns pushes the final report. It prints a warning if a push has
// failed: not earlier, because the progress of the run is on the screen.
func (p push) follow(c *cobra.Command, r *run.Run) (last func()) {
	finish := p.to.Start(metrics.Of(r), nil)
	return func() {
		if err := finish(); err != nil {
			printable.Fprintf(c.ErrOrStderr(), "warning: %v\n", err)
		}
	}
}

// serve returns what makes the handler of /metrics, for Prometheus. It also begins to push. The function last pushes for
// the last time.
func (p push) serve(c *cobra.Command, nativeOnly bool) (handler func(metrics.Source) http.Handler, last func()) {
	warn := func(err error) { printable.Fprintf(c.ErrOrStderr(), "warning: %v\n", err) }
	finish := func() error { return nil }
	handler = func(all metrics.Source) http.Handler {
		finish = p.to.Start(all, warn)
		return &metrics.Page{Source: all, NativeOnly: nativeOnly}
	}
	return handler, func() {
		if err := finish(); err != nil {
			warn(err)
		}
	}
}
