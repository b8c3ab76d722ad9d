package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
)

// creation holds the flags of the commands that create a run.
type creation struct {
	spec runflags.Spec
	how  cli.Creation
	fits func(s spec.Spec) error // says why the description does not fit the command; nil = any does
}

func (f *creation) AddFlags(c *cobra.Command) {
	f.spec.AddFlags(c)
	f.how.AddFlags(c)
}

// check validates the name and the flags and returns the spec. It writes nothing.
func (f *creation) check(c *cobra.Command, name string) (spec.Spec, error) {
	if err := run.ValidateNewName(name); err != nil {
		return spec.Spec{}, cli.Config(err)
	}
	if err := f.how.Check(); err != nil {
		return spec.Spec{}, err
	}
	s, err := f.spec.Spec(c.InOrStdin())
	if err == nil && f.fits != nil {
		err = cli.Config(f.fits(s))
	}
	return s, err
}

// open checks the flags, connects to the server and creates the run. The caller closes the client.
func (f *creation) open(c *cobra.Command, server *cli.Redis, name string) (client rdb.Client, r *run.Run, created bool, err error) {
	spec, err := f.check(c, name)
	if err != nil {
		return nil, nil, false, err
	}
	if client, err = server.Connect(c.Context()); err != nil {
		return nil, nil, false, err
	}
	if r, created, err = f.create(c, client, name, spec); err != nil {
		cli.Close(client)
		return nil, nil, false, err
	}
	warnLimiter(c, r)
	warnUnlisted(c, r)
	return client, r, created, nil
}

// create makes the run, or opens the existing one if its spec is the same. A run that has ended is an error: nothing
// would be sent.
func (f *creation) create(c *cobra.Command, client rdb.Client, name string, asked spec.Spec) (*run.Run, bool, error) {
	wait := f.how.Wait(func(line string) { printable.Fprintf(c.ErrOrStderr(), "%s\n", line) })
	r, created, err := wait.Create(c.Context(), client, name, asked, f.how.Options())
	if created {
		err = f.spec.Data().Files.Store(c.Context(), r)
	}
	if err == nil && !r.Ended.IsZero() {
		err = fmt.Errorf("run %s ended at %s; loadctl report %s shows it; choose another name, or replace it with --new", name, r.Ended.Format(time.RFC3339), name)
	}
	return r, created, cli.Config(err)
}

// Created is the output of the command create.
type Created struct {
	Run     string `json:"run"`
	Created bool   `json:"created"` // false: the run exists already, with the same spec
	Worker  string `json:"worker"`  // the command that joins the run
}

// joining returns what joins a run: the command line of a worker, or a call.
func joining(name string, asked spec.Spec) string {
	if slices.ContainsFunc(asked.Target.Schemes, func(k targets.Scheme) bool { return k.Name == targets.Program().Name }) {
		return fmt.Sprintf("fleet.Join(ctx, redisURL, %q, do)", name)
	}
	allow := "--allow-any"
	if hosts := asked.Target.Hosts(); len(hosts) > 0 {
		allow = "--allow-hosts " + strings.Join(hosts, ",")
	}
	program := "loadworker"
	if len(asked.Target.Schemes) > 0 {
		program = "PROGRAM" // that has the scheme
	}
	return fmt.Sprintf("%s run --run %s %s", program, name, allow)
}

func newCreateCommand(redis *cli.Redis) *cobra.Command {
	var f creation
	var output cli.Output
	c := &cobra.Command{
		Use:   "create RUN --url URL --qps RATE",
		Short: "Create a run that workers can join",
		Long: `Create a run. Workers join it by its name. It begins with loadctl start, or as soon as --min-workers
have joined. --qps is the total of the WHOLE CLUSTER.`,
		Example: `  loadctl create checkout --url http://10.0.0.9:8080/ --qps 20k --duration 5m
  loadworker run --run checkout --wait --allow-hosts 10.0.0.9   # on each machine
  loadctl start checkout`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			client, r, created, err := f.open(c, redis, args[0])
			if err != nil {
				return err
			}
			defer cli.Close(client)
			done := Created{Run: r.Name, Created: created, Worker: joining(r.Name, r.Spec)}
			return output.Print(c.OutOrStdout(), done, func(w io.Writer) error { return printCreated(w, done, r.Spec) })
		},
	}
	f.AddFlags(c)
	output.AddFlags(c, "text", "json")
	return c
}

func printCreated(w io.Writer, c Created, asked spec.Spec) error {
	verb, begins := "created", "loadctl start "+c.Run
	if !c.Created {
		verb = "exists already, with the same description"
	}
	if asked.MinWorkers > 0 {
		begins = fmt.Sprintf("by itself with %s, or with %s", units.Things(asked.MinWorkers, "worker"), begins)
	}
	_, err := printable.Fprintf(w, "%s: %s\njoin    %s\nbegins  %s\n", c.Run, verb, c.Worker, begins)
	return err
}
