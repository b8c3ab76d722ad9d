package loadworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/console/watch"
	"github.com/loadctl/loadctl/internal/fleet/files"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// runFlags are all flags of loadworker run.
type runFlags struct {
	redis  *cli.Redis
	spec   runflags.Spec
	member memberFlags
	allow  allowFlags
	out    cli.Report
	save   saveFlags

	name      string
	once      bool // nobody gave the name, so no other worker can have it
	how       cli.Creation
	start     cli.StartTimeout
	wait      bool
	neighbour bool // another worker of this machine hosts the run
	show      cli.Screen
	screen    *watch.Live
}

func newRunCommand(redis *cli.Redis, schemes ...targets.Scheme) *cobra.Command {
	f := &runFlags{redis: redis, spec: runflags.Spec{MinWorkers: 1, Schemes: schemes}}
	c := &cobra.Command{
		Use:   "run",
		Short: "Take part in a run: create it, or join it",
		Long: `Take part in a run. The same command on many machines makes one fleet: the first creates the run,
and the others join it. Together they send the rate given by --qps, the total of the WHOLE CLUSTER.

On one machine, --url, --qps and --duration are enough: no Redis and no name are needed. On a
terminal, a screen shows the run; its keys change the rate, pause and stop. q leaves one line of
progress, as --plain does.

With only --run, the worker joins a run that others described. It sends only to hosts named by
--allow-hosts.

A name stands for one run. After the end of the run, a worker that describes it sends nothing and
exits with 104. A worker that joins by name prints the report and exits with 0, so a machine that
restarts does no harm.

With --threshold the exit code is 0 if all passed, and 99 if one failed or is undecided. It is 98 if
the run is not valid: its generator may be the reason for a result, or counts are missing.

After Ctrl-C the worker hands over to the others (0.6 s, at most 6 s), leaves, and prints the
report. A second Ctrl-C ends it at once.`,
		Example: `  loadworker run --url http://127.0.0.1:8080/ --qps 500 --duration 10s
  loadworker run --redis redis://10.0.0.5:6379 --run checkout \
    --url http://10.0.0.9:8080/ --qps 20k --duration 5m
  loadworker run --redis redis://10.0.0.5:6379 --run checkout --wait --allow-hosts 10.0.0.9`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	c.Flags().StringVar(&f.name, "run", "", "`NAME` of the run (default: a new one, if there is --url and no --redis)")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait until the run is created: without a limit, unless --start-timeout is given")
	f.how.AddFlags(c)
	f.start.AddFlags(c)
	cli.Group(c.Flags(), "Run")
	f.spec.AddFlags(c)
	f.member.AddFlags(c)
	f.allow.AddFlags(c)
	cli.Group(c.Flags(), "This worker")
	f.out.AddFlags(c)
	f.save.AddFlags(c)
	f.member.log.AddFlags(c)
	f.show.AddFlags(c)
	cli.Group(c.Flags(), "Output")
	return cli.Patient(c)
}

func (f *runFlags) run(c *cobra.Command) error {
	f.screen = watch.NewLive(f.show.Options(c, time.Second))
	log := slog.New(slog.NewTextHandler(f.screen, nil))
	f.redis.Warn(func(why string) { log.Warn(why) })
	if err := f.check(c); err != nil {
		return err
	}
	defer f.member.close()
	if err := f.member.log.create(c); err != nil {
		return err
	}
	defer func() { f.member.log.conclude(c.ErrOrStderr()) }() // if it did not come to send
	create, err := f.described(c, log)
	if err != nil {
		return err
	}
	var reach error
	if create != nil { // else the target is known when the worker has joined
		reach = f.member.reach(c.Context())
	}
	server, err := f.host(c.Context(), create, reach, log)
	if err != nil {
		return err
	}
	err = f.takePart(c, create, reach, log)
	if server != nil {
		server.Created(f.name) // or it never will be
		f.linger(c.Context(), server, log)
		cli.Close(server)
	}
	return err
}

// takePart connects to Redis, takes part in the run, and prints the report.
func (f *runFlags) takePart(c *cobra.Command, create *spec.Spec, reach error, log *slog.Logger) error {
	ctx := c.Context()
	link, err := f.connect(ctx, log)
	if err != nil {
		return err
	}
	defer cli.Close(link)
	// A call to a server that hangs does not end with ctx, so a signal closes the connection. Until here there is only the
	// line of those that wait for room to be left first.
	hangUp := context.AfterFunc(ctx, func() {
		time.Sleep(leaveTime)
		cli.Close(link)
	})
	var r *run.Run
	if create != nil { // else the target is not known yet
		err = f.member.apart(ctx, link.Client, log)
	}
	if err == nil {
		r, err = f.enter(ctx, link.Client, create, reach, log)
	}
	if err == nil {
		warnLimiter(ctx, r, log)
	}
	if !hangUp() {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if !r.Ended.IsZero() { // joined by name
		fmt.Fprintf(c.ErrOrStderr(), "run %s ended at %s; this worker sent nothing, this is the run's report\n", r.Name, r.Ended.Format(time.RFC3339))
		_, err := f.conclude(c, r)
		return err
	}
	if create == nil {
		if f.member.tables, err = files.Tables(ctx, r); err != nil {
			return cli.Config(err)
		}
		if err := f.member.open(ctx, r.Spec.Target, f.allow.allowed, log); err != nil {
			return err
		}
		if err := passable(r, f.member.reach(ctx), log); err != nil {
			return err
		}
		if err := f.member.apart(ctx, link.Client, log); err != nil {
			return err
		}
	}
	total, err := f.send(ctx, link, r, create != nil, log)
	f.member.log.conclude(c.ErrOrStderr())
	if total == nil {
		return err
	}
	rep, failed := f.conclude(c, r)
	switch {
	case failed != nil:
		return errors.Join(err, failed)
	case err != nil:
		return err
	default:
		return f.out.Judged(rep)
	}
}

// leaveTime is how long a worker may take to leave the line of those that wait for room.
const leaveTime = 300 * time.Millisecond

// connect reaches Redis. The connection carries the worker's name, which Redis shows in its list of clients.
func (f *runFlags) connect(ctx context.Context, log *slog.Logger) (*link.Link, error) {
	return f.redis.Link(ctx, "loadworker:"+f.name+":"+f.member.id, f.start.Patience(), func(err error) {
		log.Warn("Redis refuses this worker for now; trying again", "err", err)
	})
}

// send takes part in the run until it ends, ctx ends, or too few workers join in time. The snapshot is nil if the
// worker could not begin.
func (f *runFlags) send(
	ctx context.Context, link *link.Link, r *run.Run, describes bool, log *slog.Logger,
) (*record.Snapshot, error) {
	ctx, done := f.start.Limit(ctx, r)
	defer done()
	aside := func(ctx context.Context) (*run.Run, error) { return r.Aside(ctx, link) }
	defer f.screen.Follow(context.WithoutCancel(ctx), aside)() // also while the last requests end
	total, err := f.member.work(ctx, link, r, describes, log)
	if err == nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, cli.ErrFewWorkers) {
		err = fmt.Errorf("%w; this worker left: start all workers within --start-timeout, or set a longer one", err)
		if total != nil && total.Counts.Sent == 0 { // else the run began at that moment
			total = nil
		}
	}
	return total, err
}

// warnLimiter warns if the run's limiter may not let the whole rate pass.
func warnLimiter(ctx context.Context, r *run.Run, log *slog.Logger) {
	if why := r.Warning(ctx); why != "" {
		log.Warn(why, "run", r.Name)
	}
}

// check validates the command line.
func (f *runFlags) check(c *cobra.Command) error {
	if err := cmp.Or(f.redis.Check(), f.out.Check(), f.save.check(c)); err != nil {
		return err
	}
	if _, alone := f.redis.Embedded(); alone && f.spec.Given(c) && !c.Flags().Changed("run") {
		f.name, f.once = "run-"+run.NewID()[:8], true
	}
	if f.name == "" {
		return cli.Config(errors.New("--run: give the name of the run, the same on all workers; " +
			"or unset LOADCTL_REDIS, leave --redis out, and give --url and --qps, to send from this machine alone"))
	}
	if err := f.how.Check(); err != nil {
		return err
	}
	if err := run.ValidateName("run", f.name); err != nil {
		return cli.Config(err)
	}
	if err := cmp.Or(f.member.check(), f.allow.checkEntries()); err != nil {
		return cli.Config(err)
	}
	if f.spec.Given(c) {
		return cli.Config(run.ValidateNewName(f.name))
	}
	if _, alone := f.redis.Embedded(); alone {
		return cli.Config(errors.New("--redis: to join a run, give the Redis that holds it; to run on this machine alone, give --url and --qps"))
	}
	return cli.Config(f.allow.checkJoining())
}

// described returns the run that the flags describe, and opens its target before anything is written, so that a missing key
// file leaves no run behind. It is nil for a worker that joins a run that others described.
func (f *runFlags) described(c *cobra.Command, log *slog.Logger) (*spec.Spec, error) {
	if !f.spec.Given(c) {
		if f.how.New {
			return nil, cli.Config(errors.New("--new: describe the new run with --url and --qps"))
		}
		if c.Flags().Changed("wait-budget") {
			return nil, cli.Config(errors.New("--wait-budget: only who creates a run waits for room; describe the run with --url and --qps, or leave it out"))
		}
		return nil, nil
	}
	f.spec.Local = targets.Local{Cert: f.member.cert, Key: f.member.key, Addresses: f.member.connections.locals}
	spec, err := f.spec.Spec(c.InOrStdin())
	if err != nil {
		return nil, cli.Config(err)
	}
	if err := f.member.allows(f.name, spec.Peak()*spec.Target.StepsPerFlow(), spec.Surge(spec.Peak(), spec.Burst)); err != nil {
		return nil, err
	}
	allow, err := f.allow.beside(spec)
	if err != nil {
		return nil, cli.Config(err)
	}
	f.member.tables, f.member.files = f.spec.Data().Tables, f.spec.Data().Files
	if err := f.member.open(c.Context(), spec.Target, allow, log); err != nil {
		return nil, err
	}
	return &spec, nil
}

// enter creates the run or joins it; without a spec it only joins. reach says why the target cannot be reached, or is
// nil.
func (f *runFlags) enter(ctx context.Context, client rdb.Client, spec *spec.Spec, reach error, log *slog.Logger) (*run.Run, error) {
	if spec == nil {
		return f.join(ctx, client, log)
	}
	if reach != nil { // a run that has begun is joined anyway: its load may be why the target is down
		r, err := run.Open(ctx, client, f.name)
		if err != nil || f.how.New || r.Phase == "waiting" {
			return nil, reach
		}
	}
	if f.neighbour {
		return f.same(ctx, client, *spec)
	}
	r, created, err := f.how.Wait(func(line string) { log.Warn(line) }).Create(ctx, client, f.name, *spec, f.how.Options())
	if err != nil {
		return nil, f.orByName(err)
	}
	if created {
		if err := f.spec.Data().Files.Store(ctx, r); err != nil {
			return nil, err
		}
	}
	if !r.Ended.IsZero() {
		return nil, overAlready(r)
	}
	if reach != nil {
		log.Warn("joining although the target cannot be reached, because the run has begun", "err", reach)
	}
	if f.how.New && !created {
		log.Info("--new has no effect, because the run has not ended", "run", f.name)
	}
	log.Info(map[bool]string{true: "created run", false: "joined run"}[created], "run", f.name, "flags", strings.Join(r.Spec.Setting().Flags, " "))
	return r, nil
}

// orByName adds to the error that the run has another spec how to take part all the same. The user names the hosts: what
// Redis says of them is not to be trusted.
func (f *runFlags) orByName(err error) error {
	if _, other := errors.AsType[*run.DifferentError](err); other {
		redis := ""
		if address, _ := f.redis.Address(); f.neighbour { // else the user has named it
			redis = " --redis " + address
		}
		err = fmt.Errorf("%w; or join that run by its name alone: loadworker run%s --run %s --allow-hosts HOST", err, redis, f.name)
	}
	return cli.Config(err)
}

// overAlready is the error of a worker that describes a run that has ended. Its user expects load: an old report with
// exit code 0 would look like a passed test. Only joining by name succeeds, because machines that restart do that.
func overAlready(r *run.Run) error {
	return cli.Config(fmt.Errorf("run %s ended at %s, and nothing was sent; choose another name with --run, replace the run with --new, "+
		"or join by name, without --url and --qps, to get its report", r.Name, r.Ended.Format(time.RFC3339)))
}

// join opens a run that others described.
func (f *runFlags) join(ctx context.Context, client rdb.Client, log *slog.Logger) (*run.Run, error) {
	r, err := run.Open(ctx, client, f.name)
	if f.wait && errors.Is(err, run.ErrNoRun) {
		log.Info("waiting for the run to be created", "run", f.name)
		r, err = f.created(ctx, client)
	}
	if errors.Is(err, run.ErrNoRun) {
		return nil, cli.Config(fmt.Errorf("run %s: %w; describe it with --url and --qps, or --wait for it", f.name, run.ErrNoRun))
	}
	if err != nil {
		return nil, cli.Config(err)
	}
	if !r.Ended.IsZero() {
		return r, nil // nothing will be sent
	}
	if r.Spec.Target, err = r.Spec.Target.Bind(f.spec.Schemes); err != nil {
		return nil, cli.Config(fmt.Errorf("run %s: %w", f.name, err))
	}
	if err := cmp.Or(r.Spec.CheckKnown(f.name), f.allow.check(r.Spec.Target), f.allow.checkQueries(r.Spec)); err != nil {
		return nil, cli.Config(err)
	}
	return r, cli.Config(r.Ready(ctx))
}

// created opens the run once somebody has created it.
func (f *runFlags) created(ctx context.Context, client rdb.Client) (*run.Run, error) {
	waiting, done := f.start.Created(ctx, f.name)
	defer done()
	for {
		select {
		case <-time.After(200 * time.Millisecond):
			if r, err := run.Open(ctx, client, f.name); !errors.Is(err, run.ErrNoRun) {
				return r, err
			}
		case <-waiting.Done():
			return nil, context.Cause(waiting)
		}
	}
}

// How long to wait for the last snapshots of other workers, and how long the report may take in all.
const (
	reportPatience = 5 * time.Second
	reportTimeout  = 6 * time.Second
)

// conclude saves what Redis did not take in a file, and prints the report of the whole run, also after a signal. The
// error says if Redis lacks counts of this worker.
func (f *runFlags) conclude(c *cobra.Command, r *run.Run) (report.Report, error) {
	var own, unpublished *results.Unpublished // nil if the worker took no part
	if journal := f.member.journal; journal != nil {
		own, unpublished = journal.Own(), journal.Unpublished()
	}
	unsaved := f.save.save(unpublished, c.ErrOrStderr()) // first, because the report may wait for Redis
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), reportTimeout)
	defer cancel()
	rep, missing, err := results.OwnReport(ctx, r, reportPatience, own)
	switch {
	case err != nil && own == nil:
		return rep, err
	case err != nil:
		printable.Fprintf(c.ErrOrStderr(), "the run's report cannot be read (%v); this report covers this worker alone\n", err)
		if rep, err = results.FromFiles(r.Name, "Redis could not be reached", []*results.Unpublished{own}); err != nil {
			return rep, errors.Join(unsaved, err)
		}
	case missing && unpublished == nil: // Redis took it, and lost it in a failover
		unsaved = f.save.save(own, c.ErrOrStderr())
	case !missing && unsaved != nil:
		fmt.Fprintln(c.ErrOrStderr(), "Redis has this worker's final counts after all; the file is not needed")
		unsaved = nil
	}
	return rep, errors.Join(unsaved, f.out.Write(c.OutOrStdout(), rep))
}

// defaultID returns a unique name for this process: the host's name, if valid, and a random part.
func defaultID() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	id := fmt.Sprintf("%.40s-%s", host, run.NewID()[:8])
	if run.ValidateName("--id", id) != nil {
		id = "worker-" + run.NewID()[:8]
	}
	return id
}
