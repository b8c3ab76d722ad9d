// Package runflags has the flags that describe a run, and makes its spec of them. They are the same wherever a run is created,
// or joined by its description.
//
//	var flags runflags.Spec
//	flags.AddFlags(command)
//	s, err := flags.Spec(os.Stdin) // an error is one line that says what to do, and ends a command with code 104
//
// It reads the files that flags name, and opens a connection only to ask a server of gRPC what its methods take.
package runflags

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/input/schema"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/reply"
	"github.com/loadctl/loadctl/targets/wire"
)

// Spec has the flags that describe a run. They are the same wherever a run is created, or joined by its description.
type Spec struct {
	MinWorkers int64         // the default of --min-workers, set before AddFlags
	Local      targets.Local // how this machine asks a server what its methods take; may be empty

	// Sends says after AddTargetFlags that the command sends requests, though it needs no rate: then servers of gRPC are asked,
	// as for a run.
	Sends bool

	// Schemes are those of this program that are not ours, set before AddFlags.
	Schemes []targets.Scheme

	command *cobra.Command
	set     *pflag.FlagSet

	url                        once
	schedule                   Schedule
	maxLag, catchUp, timeout   cli.Duration
	onRedisLoss, arrivals      string
	permitFor, deadman, warmup cli.Duration
	limiter                    limiterFlags
	headers, thresholds        []string
	queries                    queryFlags
	sampling                   samplingFlags
	traceURL                   string
	method, body, bodyFile     string
	bodyHex                    string
	proto                      schema.Files
	caFile                     string
	target                     targets.Spec
	own                        schemeFlags
	data                       []string
	targetsFile, workloadFile  once
	targetsPick, rateOf        string
	standIn, unrated           bool // without a rate it gets one, so that the rest can be checked; it did
	files                      Data
	requests                   total
}

// AddFlags adds them to a command.
func (f *Spec) AddFlags(c *cobra.Command) {
	f.command, f.set = c, pflag.NewFlagSet("spec", pflag.ContinueOnError)
	f.maxLag, f.catchUp, f.timeout = cli.Duration(spec.DefaultMaxLag), cli.Duration(spec.DefaultCatchUp), cli.Duration(targets.DefaultTimeout)
	s := f.set
	s.Var(&f.url, "url", "`URL` to request: "+strings.Join(targets.Schemes(f.Schemes...), ", ")+". Path, query, headers and body may have placeholders such as ${ordinal}: see docs/workloads.md")
	f.schedule.addFlags(s)
	s.StringVar(&f.rateOf, "rate-of", targets.RateOfFlows, rateOfHelp)
	s.StringVar(&f.arrivals, "arrivals", pacer.EvenArrivals, "how requests lie in time at the same rate, `even|poisson[:SEED]`: evenly spaced, "+
		"or at random, as independent users come. See docs/workloads.md#arrivals")
	s.VarP(&f.requests, "requests", "n", "end after this many requests of the whole cluster; 0 = no limit")
	s.Int64Var(&f.MinWorkers, "min-workers", f.MinWorkers, "start when this many workers have joined; 0 = wait for loadctl start")
	s.Var(&f.maxLag, "max-lag", "drop and count a request that waits longer than this for a connection")
	s.Var(&f.catchUp, "catch-up", "if the worker was held up: send requests up to this late, drop and count later ones")
	s.StringArrayVar(&f.thresholds, "threshold", nil, "`CONDITION` that the run has to meet, else exit code 99: 'latency:p(99)<250ms', 'errors:rate<1% over 30s abort after 3', "+
		"'errors:rate<1% over 10s reduce by 20% after 2'; "+
		"may be repeated. See docs/report.md#thresholds")
	s.Var(&f.warmup, "warmup", "thresholds leave out the first `DURATION` of the run, in whole seconds")
	f.queries.addFlags(s)
	f.sampling.addFlags(s)
	s.StringVar(&f.traceURL, "trace-url", "", "`URL` at which your tracing shows a request, with ${trace_id} in it: reports link it. See docs/tracing.md")
	cli.Group(s, "Run")
	f.limiter.addFlags(s)
	cli.Group(s, "Limiter")
	f.addLossFlags(s)
	cli.Group(s, "Outages")
	f.addTargetFlags(s)
	c.Flags().AddFlagSet(s)
	cli.Complete(c, "limiter", f.limiter.complete)
	f.schedule.complete(c)
}

// AddTargetFlags adds only those that say what is requested and how to connect, to a command that needs no rate: Spec then
// returns a spec with any rate, and asks no server of gRPC, unless Sends says so. A URL may come as an argument too: see Request.
func (f *Spec) AddTargetFlags(c *cobra.Command) {
	f.AddFlags(&cobra.Command{})
	f.command, f.standIn = c, true
	cli.SetGroup(f.set, "url", "Request")
	f.set.VisitAll(func(flag *pflag.Flag) {
		if title := cli.GroupOf(flag); title == "Request" || title == "Connections" {
			c.Flags().AddFlag(flag)
		}
	})
}

// Request makes an argument the URL, as --url does.
func (f *Spec) Request(url string) { _ = f.url.Set(url) } // never fails

// addLossFlags adds the flags for a lost Redis or controller.
func (f *Spec) addLossFlags(s *pflag.FlagSet) {
	f.permitFor = cli.Duration(spec.DefaultPermitFor)
	s.StringVar(&f.onRedisLoss, "on-redis-loss", spec.LossPermit, "how long a worker sends while Redis is unreachable, `permit|stop|hold`: "+
		"for --permit-for, for 2 s, or WITHOUT END. With hold, loadctl stop cannot reach a worker that is cut off")
	s.Var(&f.permitFor, "permit-for", "lease: how long a worker sends without a reply from Redis, 1s to 10m. "+
		"The others leave the share of a killed worker alone as long, see loadctl workers rm")
	s.Var(&f.deadman, "deadman", "stop the run if no loadctl run, watch, status or change was heard of for this long, 3s to 24h; 0 = never")
}

func (f *Spec) addTargetFlags(s *pflag.FlagSet) {
	s.StringVarP(&f.method, "method", "m", "", "HTTP `METHOD` (default GET, or POST with a body)")
	s.StringArrayVarP(&f.headers, "header", "H", nil, "`\"NAME: VALUE\"`, or @FILE with one header a line; may be repeated")
	s.StringVarP(&f.body, "body", "d", "", "body: text, @FILE, or @- for standard input. "+typedHelp)
	s.StringVarP(&f.bodyFile, "body-file", "D", "", "`FILE` with the body")
	s.StringVar(&f.bodyHex, "body-hex", "", "body as pairs of hex `DIGITS`, such as '50 49 4e 47 0a'; over ws it is a binary message")
	s.StringVar(&f.target.Reply, "reply", "", "`END` of a reply over tcp or udp, or which message of ws or of a stream of gRPC it is: "+reply.Usage()+
		". Without it a request ends when it is sent; over gRPC with the next message, if the method streams both ways. See docs/protocols.md and docs/grpc.md")
	f.addProtoFlags(s)
	f.addStreamFlags(s)
	f.own.addFlags(s)
	s.StringArrayVar(&f.data, "data", nil, dataHelp)
	s.Var(&f.targetsFile, "targets", targetsHelp)
	s.StringVar(&f.targetsPick, "targets-pick", targets.PickCycle, targetsPickHelp)
	s.Var(&f.workloadFile, "workload", workloadHelp)
	s.StringVar(&f.target.Auth, "auth", "", authHelp)
	s.Var(&f.timeout, "timeout", "how long a request may take, until its answer was read")
	f.addTraceFlags(s)
	s.IntVar(&f.target.Redirects, "redirects", 0, "how many redirects to follow; each is a request on top of the rate")
	s.Var((*Size)(&f.target.BodyLimit), "body-limit", "how much of an answer's body to read, in bytes or such as 1MB or 64KiB (default 16 MiB, but none for an answer in pieces)")
	s.StringVar(&f.target.Expect, "expect", "", "`STATUSES` that count as success (default 200-399, or OK over gRPC)")
	s.StringArrayVar(&f.target.Checks, "check", nil, "`CONDITION` that an answer has to meet, else the request has failed: "+check.Help()+
		". May be repeated. See docs/workloads.md#checks")
	cli.Group(s, "Request")
	s.StringVar(&f.target.HTTP, "http", "", "`VERSION` of HTTP: 1.1, 2, 3, or auto, which takes 2 if the https server offers it, else 1.1 (default 1.1). See docs/http2.md and docs/http3.md")
	s.IntVar(&f.target.Streams, "streams", 0, "requests that a connection of HTTP/2, HTTP/3 or gRPC carries at the same time, `N` at most (default 1)")
	s.BoolVar(&f.target.NoKeepAlive, "no-keep-alive", false, "open a new connection for each request")
	s.StringArrayVar(&f.target.ConnectTo, "connect-to", nil, "`HOST1:PORT1:HOST2:PORT2`: connect to HOST2:PORT2 instead of HOST1:PORT1, as in curl")
	s.StringVar(&f.target.UnixSocket, "unix-socket", "", "`PATH` of a Unix socket to connect to")
	s.BoolVarP(&f.target.Insecure, "insecure", "k", false, "accept any server certificate")
	s.StringVar(&f.caFile, "cacert", "", "`FILE` of trusted certificates (PEM), instead of the system's")
	cli.Group(s, "Connections")
}

// Given reports whether any of the flags was used, or Request.
func (f *Spec) Given(c *cobra.Command) bool {
	used := f.url.times > 0
	f.set.VisitAll(func(flag *pflag.Flag) { used = used || c.Flags().Changed(flag.Name) })
	return used
}

// Spec returns the run's spec. It checks all that can be checked before anything is written. Its errors are errors of
// configuration.
func (f *Spec) Spec(stdin io.Reader) (spec.Spec, error) {
	s, err := f.read(stdin)
	return s, cli.Config(err)
}

func (f *Spec) read(stdin io.Reader) (spec.Spec, error) {
	s := spec.Spec{
		Target: f.target, Requests: int64(f.requests),
		MaxLag: time.Duration(f.maxLag), CatchUp: time.Duration(f.catchUp), Arrivals: f.arrivals, MinWorkers: f.MinWorkers,
		OnRedisLoss: f.onRedisLoss, Deadman: time.Duration(f.deadman),
		Thresholds: f.thresholds, Warmup: time.Duration(f.warmup), TraceURL: f.traceURL,
	}
	if s.Arrivals == pacer.EvenArrivals {
		s.Arrivals = ""
	}
	s.Target.URL, s.Target.Method, s.Target.Timeout = f.url.text, f.method, time.Duration(f.timeout)
	if err := cmp.Or(f.url.check("url"), f.targetsFile.check("targets"), f.workloadFile.check("workload")); err != nil {
		return s, err
	}
	if s.Target.URL == "" && f.targetsFile.text == "" && f.workloadFile.text == "" {
		return s, f.undescribed()
	}
	err := cmp.Or(f.checkAuth(), f.checkStream())
	if err != nil {
		return s, err
	}
	err = f.limiter.set(&s, f.set)
	if err != nil {
		return s, err
	}
	f.sampling.set(&s, f.set)
	if err = f.queries.set(&s, f.set); err != nil {
		return s, err
	}
	if s.PermitFor, err = f.permit(); err != nil {
		return s, err
	}
	if err = f.schedule.set(&s); err != nil {
		return s, err
	}
	if f.standIn && f.workloadFile.text == "" && !f.schedule.rules() {
		s.QPS, f.unrated = pacer.PerSecond(1), true
	}
	if s.Target.Headers, err = f.readHeaders(); err != nil {
		return s, fmt.Errorf("--header: %w", cli.Readable(err))
	}
	if err := f.readFiles(&s.Target, stdin); err != nil {
		return s, err
	}
	if s.Target.Data, f.files, err = readData(f.data); err != nil {
		return s, err
	}
	if err := f.readFlows(&s); err != nil {
		return s, err
	}
	if s.Max && f.set.Changed("limiter") {
		return s, fmt.Errorf("--limiter %s and %s: without a rate there is nothing to limit; give a rate, or leave --limiter out", f.limiter.name, s.Loop())
	}
	typed(&s.Target)
	if err := wire.Validate(s.Target); err != nil {
		return s, err // before weights without bounds make a mix
	}
	if err := f.describe(&s.Target); err != nil {
		return s, err
	}
	if err := wholeFlows(&s); err != nil {
		return s, err
	}
	if n := s.Target.Once(); n > 0 && s.Requests == 0 && !s.Max {
		s.Requests = n // the run ends with the last row
	}
	return s, cmp.Or(s.Validate(), wire.ValidateWith(s.Target, f.files.Tables))
}

// readFlows reads the file that says what is requested, if there is one, and notes which schemes that are not ours are used.
func (f *Spec) readFlows(s *spec.Spec) error {
	if err := f.own.set(&s.Target, f.Schemes); err != nil {
		return err
	}
	if err := cmp.Or(f.pick(s), f.setRateOf(s)); err != nil {
		return err
	}
	defer func() { s.Target = s.Target.Using(s.Target.Schemes) }()
	switch {
	case f.targetsFile.text != "" && f.workloadFile.text != "":
		return errors.New("--targets and --workload: both say what is requested; give one of them")
	case f.targetsFile.text != "":
		return readTargets(s, f.targetsFile.text)
	case f.workloadFile.text != "":
		return f.readWorkload(s)
	}
	return nil
}

// Data returns what --data has read. Call it after Spec.
func (f *Spec) Data() Data { return f.files }

// undescribed returns the error that the target is missing. The flags of a limiter look as if they belonged to a
// worker, so the error also says that a worker that joins by name has none.
func (f *Spec) undescribed() error {
	const missing = "--url: give what to request, such as --url http://127.0.0.1:8080/, or --targets FILE, or --workload FILE"
	if flag := f.limiter.first(f.set); flag != "" {
		return fmt.Errorf("%s; or leave %s out to join a run by its name: it describes the run, as --url and --qps do", missing, flag)
	}
	return errors.New(missing)
}

// permit returns the value of --permit-for; 0 if it was not given and --on-redis-loss is not permit.
func (f *Spec) permit() (time.Duration, error) {
	given := f.set.Changed("permit-for")
	switch {
	case f.onRedisLoss == "":
		return 0, fmt.Errorf("--on-redis-loss %q: write one of %s, %s, %s", "", spec.LossPermit, spec.LossStop, spec.LossHold)
	case given && f.permitFor == 0:
		return 0, fmt.Errorf("--permit-for 0: give a time from %v to %v, or --on-redis-loss stop", spec.MinPermitFor, spec.MaxPermitFor)
	case given || f.onRedisLoss == spec.LossPermit:
		return time.Duration(f.permitFor), nil
	default:
		return 0, nil
	}
}

// readHeaders reads -H, and the lines of a file for "@FILE".
func (f *Spec) readHeaders() ([]targets.Header, error) {
	var headers []targets.Header
	for _, h := range f.headers {
		lines := []string{h}
		if name, ok := strings.CutPrefix(h, "@"); ok {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			lines = strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' }) // no empty ones
		}
		for _, line := range lines {
			header, err := targets.ParseHeader(line)
			if err != nil {
				return nil, err
			}
			headers = append(headers, header)
		}
	}
	return headers, nil
}

// readFiles reads the body and the certificates.
func (f *Spec) readFiles(t *targets.Spec, stdin io.Reader) error {
	if err := f.readBody(t, stdin); err != nil {
		return err
	}
	if f.caFile != "" {
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return fmt.Errorf("--cacert: %w", cli.Readable(err))
		}
		t.CA = string(pem)
	}
	return nil
}

// readBody reads the body.
func (f *Spec) readBody(t *targets.Spec, stdin io.Reader) (err error) {
	name, body := "--body", f.body
	switch {
	case f.bodyFile != "" && body != "":
		return errors.New("--body and --body-file: give one of them")
	case f.bodyHex != "" && (f.bodyFile != "" || body != ""):
		return errors.New("--body-hex and another body: give one of them")
	case f.bodyHex != "":
		if t.Body, err = readHex(f.bodyHex); err != nil {
			return fmt.Errorf("--body-hex: %w", err)
		}
		scheme, _, _ := strings.Cut(strings.ToLower(t.URL), ":")
		t.Binary = scheme == "ws" || scheme == "wss"
		return nil
	case f.bodyFile != "":
		name, body = "--body-file", "@"+f.bodyFile
	}
	if t.Body, err = targets.ReadBody(body, stdin); err != nil {
		return fmt.Errorf("%s: %w", name, cli.Readable(err))
	}
	return nil
}
