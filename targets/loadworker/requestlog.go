package loadworker

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/engine/requestlog"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets/trace"
)

// requestLog is where a worker writes a line for each of its requests, if it does.
type requestLog struct {
	path string
	log  *requestlog.Log // nil = nowhere
}

func (f *requestLog) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.path, "log", "", "write a line for each request of this worker to a new `FILE`: .jsonl, .csv, .jsonl.zst or .csv.zst; see docs/report.md#a-line-for-each-request")
}

// create makes the file: a worker that cannot write it sends nothing.
func (f *requestLog) create(c *cobra.Command) (err error) {
	if !c.Flags().Changed("log") {
		return nil
	}
	if f.log, err = requestlog.Create(f.path); err != nil {
		return cli.Config(fmt.Errorf("--log %.200q: %w", f.path, err))
	}
	return nil
}

// start makes the log take the requests of a worker. key is that of their traces; "" = they have none.
func (f *requestLog) start(w *worker.Worker, key string, log *slog.Logger) {
	if f.log == nil {
		return
	}
	var steps []string
	if w.Mix != nil {
		steps = w.Mix.Names()
	}
	o := requestlog.Options{Parts: w.Shards, Clock: w.Clock, Steps: steps, Stopped: func(err error) {
		log.Warn("the log of requests stopped; the run goes on without it", "file", f.path, "err", err)
	}}
	if key != "" {
		o.Trace = trace.New(key).AppendID
	}
	f.log.Start(o)
	w.Requests = f.log
}

// conclude writes the last lines, and says how many there are. A log that was not started leaves no file.
func (f *requestLog) conclude(stderr io.Writer) {
	if f.log == nil {
		return
	}
	sum := f.log.Close()
	f.log = nil
	count := func(n int64) string { return units.Groups(strconv.FormatInt(n, 10)) }
	if sum.Started {
		printable.Fprintf(stderr, "log: %s requests in %s, %s left out\n", count(sum.Written), report.Quoted(sum.Path), count(sum.LeftOut))
	}
	switch {
	case sum.LeftOut > 0 && sum.Failure != nil:
		printable.Fprintf(stderr, "warning: --log: %s requests are missing in %s, because a write failed: %v\n", count(sum.LeftOut), report.Quoted(sum.Path), sum.Failure)
	case sum.LeftOut > 0:
		printable.Fprintf(stderr, "warning: --log: %s requests are missing in %s, because they could not be written in time; write to a faster disk\n", count(sum.LeftOut), report.Quoted(sum.Path))
	case sum.Failure != nil:
		printable.Fprintf(stderr, "warning: --log: %s: %v\n", report.Quoted(sum.Path), sum.Failure)
	}
}
