package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/console/search"
	"github.com/loadctl/loadctl/internal/console/watch"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/threshold"
)

const (
	// searchDeadman is the default of --deadman for a search: longer than an outage of Redis that a search survives.
	searchDeadman = 20 * time.Second
	// leastStep is the shortest window: one second is too short for a decision.
	leastStep = 2 * time.Second
	// leastSettle is the shortest time that a rate settles if --settle is not given.
	leastSettle = 500 * time.Millisecond
)

func newSearchCommand(redis *cli.Redis) *cobra.Command {
	f := searchFlags{creation: creation{spec: runflags.Spec{MinWorkers: 1}}, from: "100", to: "50k", step: cli.Duration(20 * time.Second)}
	c := &cobra.Command{
		Use:   "search RUN --slo OBJECTIVE",
		Short: "Find the highest rate at which a service meets its objectives",
		Long: `Find the highest rate at which a service meets its objectives. The search uses one run, and sets its
rate.

RUN is a run that is waiting, paused or running. With --url, search creates it; workers join by its
name. The search doubles the rate until an objective is missed. Then it halves the gap until that is
at most 3 %, and repeats the highest rate that passed. At the end it stops the run. The report of
the run lists each change of the rate.

Each probe sets the rate, lets it settle, measures for --step-for, and waits at rate 0 until nothing
is in flight. It fails early if an objective is missed while requests pile up. A probe has no answer
if the generator was the limit or a snapshot is missing. Such a probe is repeated, and never counts
as a failure.

If this command dies, the dead-man's switch stops the run (--deadman, 20s by default). Ctrl-C stops
the run.

The exit code is 0 if a rate was found, or if --to still passed. It is 99 if even a 16th of --from
failed, and 98 if there is no answer.`,
		Example: `  loadctl search checkout --url http://10.0.0.9:8080/ \
    --slo 'latency:p(99)<50ms' --slo 'errors:rate<0.1%'
  loadctl search checkout --slo 'latency:p(99)<50ms' --from 1k --to 20k --step-for 5s`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		task, err := f.parse(c)
		if err != nil {
			return err
		}
		client, r, err := f.open(c, redis, args[0], task)
		if err != nil {
			return err
		}
		defer cli.Close(client)
		return f.play(c, r, task)
	}
	f.AddFlags(c)
	return cli.Patient(c)
}

// searchFlags are the flags of the command.
type searchFlags struct {
	creation
	slos         []string
	from, to     string
	step, settle cli.Duration
	start        cli.StartTimeout
	output       cli.Output
}

func (f *searchFlags) AddFlags(c *cobra.Command) {
	s := c.Flags()
	s.StringArrayVar(&f.slos, "slo", nil, "objective `'METRIC:AGGREGATE OP LIMIT'` that the rate has to keep, such as 'latency:p(99)<50ms'; "+
		"same grammar as --threshold; may be repeated")
	s.StringVar(&f.from, "from", f.from, "first `RATE` to try, of the whole cluster; down to a 16th of it if that fails")
	s.StringVar(&f.to, "to", f.to, "highest `RATE` to try, of the whole cluster")
	s.Var(&f.step, "step-for", "how long to measure each rate, in whole seconds")
	s.Var(&f.settle, "settle", "how long to wait at a new rate before measuring; 0 = a tenth of --step-for, at least 500ms")
	f.start.AddFlags(c)
	f.output.AddFlags(c, "text", "json")
	f.creation.AddFlags(c)
}

// parse reads the flags. It neither asks Redis nor writes anything.
func (f *searchFlags) parse(c *cobra.Command) (*search.Task, error) {
	if err := f.output.Check(); err != nil {
		return nil, err
	}
	t := &search.Task{Length: time.Duration(f.step), Settle: time.Duration(f.settle)}
	t.Settle = cmp.Or(t.Settle, max(leastSettle, t.Length/10))
	for _, err := range []error{f.checkSteps(), f.readRates(t), f.readObjectives(t), f.takeOver(c)} {
		if err != nil {
			return nil, cli.Config(err)
		}
	}
	if _, err := search.New(t.Plan); err != nil {
		return nil, cli.Config(fmt.Errorf("--from %s --to %s: give two rates above 0, the lower one first", f.from, f.to))
	}
	return t, nil
}

func (f *searchFlags) checkSteps() error {
	switch step := time.Duration(f.step); {
	case step < leastStep || step > time.Hour || step%time.Second != 0:
		return fmt.Errorf("--step-for %v: give whole seconds from %v to 1h, such as 20s", step, leastStep)
	case time.Duration(f.settle) > time.Hour:
		return errors.New("--settle: give at most 1h")
	}
	return nil
}

func (f *searchFlags) readRates(task *search.Task) error {
	for _, r := range []struct {
		flag, text string
		to         *float64
	}{{"--from", f.from, &task.From}, {"--to", f.to, &task.To}} {
		rate, err := pacer.ParseRate(r.text)
		if err != nil {
			return fmt.Errorf("%s: %w", r.flag, err)
		}
		*r.to = rate.Float()
	}
	if n := task.From * task.Length.Seconds(); n > 0 && n < search.LeastRequests {
		return fmt.Errorf("--from %s: in --step-for %v that is %.3g requests, too few for a result; raise either, to at least %d requests",
			f.from, task.Length, n, search.LeastRequests)
	}
	return nil
}

func (f *searchFlags) readObjectives(task *search.Task) error {
	if len(f.slos) == 0 {
		return errors.New("--slo: give an objective, such as --slo 'latency:p(99)<50ms'")
	}
	for _, text := range f.slos {
		t, err := threshold.Parse(text)
		if err == nil {
			err = search.Objective(t, task.Length)
		}
		if err != nil {
			return fmt.Errorf("--slo: %w", err)
		}
		task.Objectives = append(task.Objectives, t)
	}
	return nil
}

// takeOver refuses the flags that a search sets itself, and sets them.
func (f *searchFlags) takeOver(c *cobra.Command) error {
	if !f.spec.Given(c) {
		if c.Flags().Changed("wait-budget") {
			return errors.New("--wait-budget: only who creates a run waits for room; describe the run with --url, or leave it out")
		}
		return nil
	}
	for _, name := range []string{"qps", "rate", "stage", "profile", "requests", "duration"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s: the search sets the rate, and ends the run; give --from, --to and --step-for instead", name)
		}
	}
	given, _ := c.Flags().GetStringArray("threshold")
	if text, does, words := search.Disturbing(given); text != "" {
		return fmt.Errorf("--threshold %q would %s the run at the first probe that fails; leave out '%s'", text, does, words)
	}
	// A workload file may say them too.
	set := []error{c.Flags().Set("qps", f.from), c.Flags().Set("duration", "0")}
	if !c.Flags().Changed("deadman") {
		set = append(set, c.Flags().Set("deadman", searchDeadman.String()))
	}
	return errors.Join(set...)
}

// open creates the run that the flags describe, or opens an existing one. The caller closes the client.
func (f *searchFlags) open(c *cobra.Command, server *cli.Redis, name string, task *search.Task) (client rdb.Client, r *run.Run, err error) {
	if f.spec.Given(c) {
		f.fits = task.Decided
		client, r, _, err = f.creation.open(c, server, name)
	} else {
		client, r, err = server.Open(c.Context(), name)
	}
	if err != nil {
		return nil, nil, err
	}
	if err = cmp.Or(search.Usable(r), task.Decided(r.Spec)); err != nil {
		cli.Close(client)
		return nil, nil, cli.Config(err)
	}
	return client, r, nil
}

// play runs the search, and always stops the run at its end.
func (f *searchFlags) play(c *cobra.Command, r *run.Run, task *search.Task) error {
	s, err := search.New(task.Plan)
	if err != nil {
		return cli.Config(err)
	}
	began := time.Now()
	err = f.attended(c, r, task, s)
	if errors.Is(err, cli.ErrSignal) {
		printable.Fprintf(c.ErrOrStderr(), "stopping run %s; a second Ctrl-C ends at once\n", r.Name)
	}
	if failed := stopAnyway(c, r); !errors.Is(failed, run.ErrNoRun) && failed != nil {
		err = errors.Join(err, failed)
	}
	answer := search.NewAnswer(r.Name, *task, s.Result(), time.Since(began))
	if err == nil || len(answer.Probes) > 0 {
		err = errors.Join(err, f.output.Print(c.OutOrStdout(), answer, answer.WriteText))
	}
	if err != nil {
		return err
	}
	return verdict(answer)
}

// attended starts the run at rate 0, sends it signs of life, and plays the probes.
func (f *searchFlags) attended(c *cobra.Command, r *run.Run, task *search.Task, s *search.Search) error {
	deadman := cmp.Or(r.Spec.Deadman, searchDeadman)
	alive := func(ctx context.Context) error { return r.Deadman(ctx, deadman) }
	ctx, leave := context.WithCancel(c.Context())
	defer leave()
	if err := alive(ctx); err != nil {
		return err
	}
	go watch.Heartbeat(ctx, deadman, alive)
	if _, err := r.SetRateFor(ctx, pacer.Rate{Den: 1}, "a search begins"); err != nil {
		return err
	}
	wait, done := f.start.Within(ctx, r.Name)
	err := search.Begin(wait, r, func() {
		printable.Fprintf(c.ErrOrStderr(), "run %s waits for workers; start them with: %s\n", r.Name, joining(r.Name, r.Spec))
	})
	done()
	if err != nil {
		return err
	}
	d := task.Driver(r)
	d.Show = func(probe search.Probe) { printable.Fprintf(c.ErrOrStderr(), "%s\n", search.Line(probe)) }
	return d.Run(ctx, s)
}

// verdict is the error that the command ends with; nil for a good answer.
func verdict(a search.Answer) error {
	switch search.End(a.End) {
	case search.BelowFrom:
		return cli.Failed(fmt.Errorf("run %s: even %s/s failed: %s", a.Run, search.Rate(a.Failed), a.Last().Why))
	case search.Unknown:
		return cli.Unproved(fmt.Errorf("run %s: no answer at %s/s: %s", a.Run, search.Rate(a.Last().Rate), a.Last().Why))
	}
	return nil
}
