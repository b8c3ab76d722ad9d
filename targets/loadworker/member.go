package loadworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/engine/auth"
	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/files"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/member"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/trace"
	"github.com/loadctl/loadctl/targets/wire"
)

// memberFlags are the settings of this worker alone; they may differ between workers.
type memberFlags struct {
	id             string
	weight         int64
	maxRate        pacer.Rate // of the whole cluster; Den = 0: any
	maxInFlight    int
	maxConnections int
	cert, key      string
	noCheck        bool
	resolution     resolution
	connections    connectionFlags

	tables  targets.Tables // rows of the run's data files
	log     requestLog     // a line for each request
	files   files.Files    // what this worker was given of them
	auth    *auth.Source   // of the run's --auth; nil = none is needed
	halted  atomic.Bool    // nothing more may be written
	journal *results.Journal
	target  target
}

// A target is what requests go to.
type target struct {
	spec  targets.Spec // settled
	local targets.Local
	wire  *wire.Wire
	loops loops
}

// loops are the clients that send the requests, one for each shard.
type loops struct {
	mu  sync.Mutex
	all []*loop.Client
}

// dropped returns how many datagrams of HTTP/3 this machine threw away.
func (l *loops) dropped() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.all {
		n += one.Dropped()
	}
	return n
}

func (f *memberFlags) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.id, "id", "", "`NAME` of this worker (default: host name and a random part)")
	c.Flags().Int64Var(&f.weight, "weight", 1, "share of this worker: its weight / the sum of all weights")
	c.Flags().TextVar(&f.maxRate, "max-qps", pacer.Rate{},
		"highest `RATE` of the WHOLE CLUSTER, with bursts, at which this worker takes part; above it, it exits with 1 (default: any)")
	c.Flags().IntVarP(&f.maxInFlight, "max-in-flight", "c", worker.DefaultMaxInFlight, "max requests of this worker that wait for a connection or for an answer")
	c.Flags().IntVar(&f.maxConnections, "max-connections", 1000, "max open connections of this worker")
	f.connections.AddFlags(c)
	c.Flags().StringVar(&f.cert, "cert", "", "`FILE` with the client certificate (PEM); it never leaves this machine")
	c.Flags().StringVar(&f.key, "key", "", "`FILE` with the private key for --cert (PEM); it never leaves this machine")
	c.Flags().TextVar(&f.resolution, "pace-resolution", auto,
		"how exactly to send, `auto|precise|economical` or a time up to 5ms: larger values save CPU, and requests may leave up to this late")
	cli.Complete(c, "pace-resolution", cobra.FixedCompletions(
		[]cobra.Completion{"auto", "precise", "economical"}, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVar(&f.noCheck, "no-check", false, "do not test the connection to the target before the run")
}

func (f *memberFlags) check() error {
	switch {
	case f.weight < 1 || f.weight > 1_000_000:
		return errors.New("--weight: give a number from 1 to 1000000")
	case f.maxRate.Den > 0 && f.maxRate.Num == 0:
		return errors.New("--max-qps: give a rate above 0, such as 2k, or leave it out")
	case f.maxInFlight < 1 || f.maxInFlight > 10_000_000:
		return errors.New("--max-in-flight: give a number from 1 to 10000000")
	case f.maxConnections < 1 || f.maxConnections > 1_000_000:
		return errors.New("--max-connections: give a number from 1 to 1000000")
	}
	if err := f.connections.check(min(f.maxConnections, f.maxInFlight)); err != nil {
		return err
	}
	if f.id != "" {
		return run.ValidateName("--id", f.id)
	}
	f.id = defaultID()
	return nil
}

// allows refuses a run whose rate of the whole cluster is above --max-qps. surge is what the run's limiter may let pass
// on top. Both count requests.
func (f *memberFlags) allows(name string, peak, surge float64) error {
	switch {
	case !worker.Exceeds(peak, surge, f.maxRate):
		return nil
	case math.IsInf(peak, 1):
		return cli.Config(fmt.Errorf("run %s: it is a closed loop, without a rate, but this worker accepts at most %s/s (--max-qps); "+
			"to join anyway, leave --max-qps out; nothing was sent", name, f.maxRate))
	}
	return cli.Config(fmt.Errorf("run %s: %w; nothing was sent", name, worker.TooFast(peak, surge, f.maxRate)))
}

// mayJoin checks the rate that the run asks for from now on. It may differ from the run's description.
func (f *memberFlags) mayJoin(ctx context.Context, r *run.Run) error {
	if f.maxRate.Num == 0 {
		return nil
	}
	if r.Spec.Max {
		return f.allows(r.Name, r.Spec.Peak()*r.Spec.Target.StepsPerFlow(), 0)
	}
	s, err := r.State(ctx)
	if err != nil {
		return err
	}
	surge, err := r.Surge(ctx)
	if err != nil {
		return err
	}
	return f.allows(r.Name, s.Peak()*r.Spec.Target.StepsPerFlow(), surge(s.Peak()))
}

// open makes the target, and gets the credential that its requests need: so a missing file or a token server that
// refuses is an error before this worker joins. allow tells where a redirect may lead; nil: only to the URL's own host.
func (f *memberFlags) open(ctx context.Context, spec targets.Spec, allow func(host string) bool, log *slog.Logger) error {
	err := f.fit(spec)
	if err != nil {
		return cli.Config(err)
	}
	if small := doctor.Buffers(); small != nil && spec.HTTP == targets.HTTP3 {
		log.Warn("small UDP buffers", "why", small)
	}
	if f.auth, err = auth.Open(ctx, spec.Auth, auth.Options{CA: spec.CA}, log); err != nil {
		return cli.Config(fmt.Errorf("%w; nothing was sent", err))
	}
	local := targets.Local{
		Cert: f.cert, Key: f.key, MaxConnections: f.maxConnections, Addresses: f.connections.locals, AllowHost: allow,
		Worker: f.id, Tables: f.tables, Credential: f.auth.Credential(), Halted: f.halted.Load,
	}
	if spec, err = f.settle(ctx, spec, local, log); err != nil {
		return cli.Config(err)
	}
	f.target.spec, f.target.local = spec, local
	f.target.wire, err = wire.New(spec, local)
	return cli.Config(err)
}

// settle replaces --http auto by what the server chooses.
func (f *memberFlags) settle(ctx context.Context, spec targets.Spec, local targets.Local, log *slog.Logger) (targets.Spec, error) {
	limit, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	settled, err := probe.Settle(limit, spec, local)
	if err == nil && settled.HTTP != spec.HTTP {
		log.Info("the server chose the version of HTTP", "http", settled.HTTP)
	}
	return settled, err
}

// fit refuses more connections than this machine allows: they would fail in the middle of the run.
func (f *memberFlags) fit(spec targets.Spec) error {
	if err := f.connections.suit(spec); err != nil {
		return err
	}
	hosts := spec.Hosts()
	if len(hosts) == 0 {
		return nil // the target does not connect
	}
	n := min(f.maxConnections, f.maxInFlight)
	if err := doctor.Descriptors(n); err != nil {
		return err
	}
	for _, host := range hosts {
		if err := f.connections.fit(host, n); err != nil {
			return err
		}
	}
	return nil
}

// close frees what open has opened.
func (f *memberFlags) close() {
	f.auth.Close()
	if f.target.wire != nil {
		f.target.wire.Shut()
	}
}

// work takes part in the run until it ends. The snapshot is nil only if the worker could not begin.
//
// describes: this worker was given the run's description, so it may also restore the run if Redis has lost it.
func (f *memberFlags) work(
	ctx context.Context, link *link.Link, r *run.Run, describes bool, log *slog.Logger,
) (*record.Snapshot, error) {
	if err := f.mayJoin(ctx, r); err != nil {
		return nil, err
	}
	if err := f.trace(r); err != nil {
		return nil, err
	}
	cores := runtime.GOMAXPROCS(0)
	shards := min(cores, f.maxConnections, f.maxInFlight)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	w := member.New(watching, r, link, f.id, describes)
	w.Mix = r.Spec.Target.MixOf(f.tables) // conditions have the cells of data files
	f.journal = w.Results
	go f.files.Restore(watching, r, link)
	restore := w.Restore
	w.Restore = func(ctx context.Context, laws []lease.Law) error {
		err := restore(ctx, laws)
		if err == nil {
			go f.files.Restore(watching, r, link)
		}
		return err
	}
	go results.Judge(watching, r, w.ID+"/"+w.Incarnation, func(ctx context.Context) (*run.Run, error) { return r.Aside(ctx, link) }, log)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		rights.Keep(watching, r, w.ID+"/"+w.Incarnation, log)
	}()
	defer func() { stop(); <-kept }() // the last worker gives back what the run may send
	w.Host, _ = os.Hostname()
	w.Evidence = member.Evidence(r.Spec, f.target.local)
	w.Weight, w.MaxRate, w.Shards, w.Cores, w.MaxInFlight, w.Resolution = f.weight, f.maxRate, shards, cores, f.maxInFlight, time.Duration(f.resolution)
	w.Results.MaxRate = f.maxRate
	w.NewClient = f.connections.ahead(ctx, shards, log, func(shard int) (*loop.Client, error) {
		return f.client(w.Clock, (f.maxConnections+shard)/shards, shards)
	})
	w.Dropped = f.target.loops.dropped
	f.log.start(&w.Worker, f.target.local.Trace, log)
	w.Halt, w.Observe, w.Log = func() { f.halted.Store(true) }, announce(log, r.Spec.MinWorkers), log
	if w.Seated {
		f.seats(&w.Worker)
	}
	total, err := w.Run(ctx)
	switch {
	case errors.Is(err, pacer.ErrReplaced):
		err = cli.Config(fmt.Errorf("worker %s: %w", f.id, err))
	case err != nil:
		err = fmt.Errorf("run %s: %w", r.Name, err)
	}
	return total, err
}

// trace gives requests the trace ids of the run. Its uid is known only now, after its target was opened.
func (f *memberFlags) trace(r *run.Run) (err error) {
	if !f.target.spec.Traced() {
		return nil
	}
	worker := "" // in a closed loop each counts its own requests
	if r.Spec.Max {
		worker = f.id
	}
	f.target.local.Trace = trace.Key(r.UID, worker)
	f.target.wire.Shut()
	f.target.wire, err = wire.New(f.target.spec, f.target.local)
	return err
}

// client returns an event loop that sends to the target over some connections.
func (f *memberFlags) client(clock *pacer.Clock, connections, shards int) (*loop.Client, error) {
	if runtime.GOOS == "linux" {
		// There an event loop keeps its Go processor (P) while it waits. Without a spare P the runtime takes it away
		// every 20 µs to run other goroutines. At 20,000 requests a second that costs a third of all CPU.
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), shards+1))
	}
	client, err := loop.New(clock, f.target.wire, connections)
	if err != nil {
		return nil, err
	}
	f.target.loops.mu.Lock()
	defer f.target.loops.mu.Unlock()
	f.target.loops.all = append(f.target.loops.all, client)
	return client, nil
}

// announce logs what the worker waits for, and how the run proceeds.
func announce(log *slog.Logger, needed int64) func(lease.Reply, *lease.View) {
	last, members := "", int64(-1)
	return func(r lease.Reply, v *lease.View) {
		if r.Status != lease.OK {
			return
		}
		now := standing(v.Laws.Newest())
		switch {
		case now == "waiting" && needed == 0 && last != now:
			log.Info("waiting for loadctl start")
		case now == "waiting" && needed > 0 && members != r.Members:
			log.Info("waiting for workers", "here", r.Members, "needed", needed)
		case last == "waiting" && now != last:
			log.Info("the run begins", "workers", r.Members)
		case last == "" && now == "running":
			log.Info("taking part", "workers", r.Members)
		case now == "paused" && last != now:
			log.Info("paused")
		case last == "paused" && now == "running":
			log.Info("resumed")
		}
		last, members = now, r.Members
	}
}

// standing returns the state of a run by its newest law.
func standing(newest *lease.Law) string {
	switch {
	case newest == nil:
		return "waiting"
	case newest.Phase == lease.Paused:
		return "paused"
	default:
		return "running"
	}
}
