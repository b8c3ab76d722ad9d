package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// Spec is the flags that describe a run. They are the same wherever the run is created or joined with a description.
type Spec struct {
	MinWorkers int64 // the default of --min-workers, set before AddFlags

	set *pflag.FlagSet

	url                                once
	qps, rate                          string
	duration, maxLag, catchUp, timeout Duration
	onRedisLoss                        string
	permitFor, deadman                 Duration
	limiter                            limiterFlags
	stages, headers, thresholds        []string
	warmup                             Duration
	profile, method, body, bodyFile    string
	caFile                             string
	target                             targets.Spec
	requests                           total
}

// AddFlags adds them to a command.
func (f *Spec) AddFlags(c *cobra.Command) {
	f.set = pflag.NewFlagSet("spec", pflag.ContinueOnError)
	f.maxLag, f.catchUp, f.timeout = Duration(run.DefaultMaxLag), Duration(run.DefaultCatchUp), Duration(targets.DefaultTimeout)
	s := f.set
	s.Var(&f.url, "url", "what to request; schemes: "+strings.Join(targets.Schemes(), ", "))
	s.StringVar(&f.qps, "qps", "", "requests per second of the WHOLE CLUSTER: 500, 2.5k, 1M, 0.2, 500/s, 30/m; with --stage the `RATE` it starts from; "+
		"max: as fast as it goes, a closed loop in which each of the workers' --max-connections sends when its last request was answered")
	s.StringVar(&f.rate, "rate", "", "the same as --qps")
	s.Var(&f.duration, "duration", "how long the run takes; 0 = until stopped")
	s.VarP(&f.requests, "requests", "n", "end after this many requests of the whole cluster, such as 1.5k; 0 = no limit")
	s.StringArrayVar(&f.stages, "stage", nil, "`DURATION:RATE`, a linear ramp to RATE of the whole cluster, as in k6; may be repeated")
	s.StringVar(&f.profile, "profile", "", "how the rate goes, a named `PROFILE`: steps:from=100,to=500,by=100,every=30s or sine:mean=1k,amplitude=400,period=1m")
	s.Int64Var(&f.MinWorkers, "min-workers", f.MinWorkers, "start when this many workers are there, together; 0 = wait for loadctl start")
	s.Var(&f.maxLag, "max-lag", "how long after its due time a request may wait for a connection; then it is dropped and counted")
	s.Var(&f.catchUp, "catch-up", "how late a worker that was held up may still send a request")
	s.StringArrayVar(&f.thresholds, "threshold", nil, "a condition that the run has to meet, `'METRIC:AGGREGATE OP LIMIT [over DURATION [abort after N]]'`, such as 'latency:p(99)<250ms' "+
		"or 'errors:rate<1% over 30s'; may be repeated. abort after N stops the run after N windows in a row that fail. If one is not met the exit code is 99, see docs/report.md")
	s.Var(&f.warmup, "warmup", "thresholds leave out what happened in the first `DURATION` of the run, whole seconds")
	f.limiter.addFlags(s)
	f.addLossFlags(s)
	f.addTargetFlags(s)
	c.Flags().AddFlagSet(s)
	_ = c.RegisterFlagCompletionFunc("limiter", f.limiter.complete) // fails only where there is no such flag
	_ = c.RegisterFlagCompletionFunc("profile", completeProfile)
}

// addLossFlags adds what becomes of a run that Redis, or whoever controls it, is lost to.
func (f *Spec) addLossFlags(s *pflag.FlagSet) {
	f.permitFor = Duration(run.DefaultPermitFor)
	s.StringVar(&f.onRedisLoss, "on-redis-loss", run.LossPermit, "how long a worker goes on that hears nothing from Redis, `permit|stop|hold`: "+
		"for --permit-for; for 2 s; or WITHOUT END, which gives up the bound on lower rates and on stop: "+
		"a worker that is cut off sends on until somebody ends it there")
	s.Var(&f.permitFor, "permit-for", "with permit: how long a promise lasts, 1s to 10m: so long a worker sends by itself after its last reply, "+
		"and so long the others leave its share to one that was killed, see loadctl workers rm")
	s.Var(&f.deadman, "deadman", "stop the run when no loadctl was heard of for so long, 3s to 24h; loadctl run, watch and status are, and the commands that change the run; 0 = never")
}

func (f *Spec) addTargetFlags(s *pflag.FlagSet) {
	s.StringVarP(&f.method, "method", "m", "", "method (default GET, or POST with a body)")
	s.StringArrayVarP(&f.headers, "header", "H", nil, "`\"NAME: VALUE\"`, or @FILE with one a line; may be repeated")
	s.StringVarP(&f.body, "body", "d", "", "body: text, or @FILE, or @- for standard input; "+typedHelp)
	s.StringVarP(&f.bodyFile, "body-file", "D", "", "take the body from `FILE`")
	s.Var(&f.timeout, "timeout", "how long a request may take")
	s.BoolVar(&f.target.NoKeepAlive, "no-keep-alive", false, "open a connection for each request")
	s.StringArrayVar(&f.target.ConnectTo, "connect-to", nil, "`HOST1:PORT1:HOST2:PORT2`: connect to HOST2:PORT2 where HOST1:PORT1 is meant, as in curl")
	s.StringVar(&f.target.UnixSocket, "unix-socket", "", "connect to the socket at this `PATH`")
	s.BoolVarP(&f.target.Insecure, "insecure", "k", false, "accept any certificate of the server")
	s.StringVar(&f.caFile, "cacert", "", "trust the certificates (PEM) in `FILE` instead of the system's")
	s.IntVar(&f.target.Redirects, "redirects", 0, "how many redirects to follow; each is a request on top of the rate")
	s.Int64Var(&f.target.BodyLimit, "body-limit", 0, "how many bytes of an answer's body are read (default 16 MiB)")
	s.StringVar(&f.target.Expect, "expect", "", "the statuses that are expected (default 200-399)")
}

// Given tells whether any of the flags was used.
func (f *Spec) Given(c *cobra.Command) bool {
	used := false
	f.set.VisitAll(func(flag *pflag.Flag) { used = used || c.Flags().Changed(flag.Name) })
	return used
}

// Spec is the run's spec. Everything that can be is checked here, before anything is written: the error is one of configuration.
func (f *Spec) Spec(stdin io.Reader) (run.Spec, error) {
	s, err := f.read(stdin)
	return s, Config(err)
}

func (f *Spec) read(stdin io.Reader) (run.Spec, error) {
	s := run.Spec{
		Target: f.target, Duration: time.Duration(f.duration), Requests: int64(f.requests), Stages: f.stages, Profile: f.profile,
		MaxLag: time.Duration(f.maxLag), CatchUp: time.Duration(f.catchUp), MinWorkers: f.MinWorkers,
		OnRedisLoss: f.onRedisLoss, Deadman: time.Duration(f.deadman),
		Thresholds: f.thresholds, Warmup: time.Duration(f.warmup),
	}
	s.Target.URL, s.Target.Method, s.Target.Timeout = f.url.text, f.method, time.Duration(f.timeout)
	if err := f.url.check("url"); err != nil {
		return s, err
	}
	if s.Target.URL == "" {
		return s, f.undescribed()
	}
	err := f.limiter.set(&s, f.set)
	if err != nil {
		return s, err
	}
	if s.PermitFor, err = f.permit(); err != nil {
		return s, err
	}
	if s.QPS, s.Max, err = f.clusterRate(); err != nil {
		return s, err
	}
	if s.Max && f.set.Changed("limiter") {
		return s, fmt.Errorf("--limiter %s and --qps max: without a rate there is nothing to limit; give a rate, or leave --limiter out", f.limiter.name)
	}
	if s.Target.Headers, err = f.readHeaders(); err != nil {
		return s, fmt.Errorf("--header: %w", readable(err))
	}
	if err := f.readFiles(&s.Target, stdin); err != nil {
		return s, err
	}
	typed(&s.Target)
	return s, s.Validate()
}

// undescribed says that the target is missing. A limiter looks as if it were the worker's, so who joins a run by its name is told that it is not.
func (f *Spec) undescribed() error {
	const missing = "--url: give what to request, such as --url http://127.0.0.1:8080/"
	if flag := f.limiter.first(f.set); flag != "" {
		return fmt.Errorf("%s; or leave %s out to join a run by its name: it describes the run, as --url and --qps do", missing, flag)
	}
	return errors.New(missing)
}

// permit is the value of --permit-for, or 0 where there is none: the default is one of promises of that length only.
func (f *Spec) permit() (time.Duration, error) {
	given := f.set.Changed("permit-for")
	switch {
	case f.onRedisLoss == "":
		return 0, fmt.Errorf("--on-redis-loss %q: there are %s, %s, %s", "", run.LossPermit, run.LossStop, run.LossHold)
	case given && f.permitFor == 0:
		return 0, fmt.Errorf("--permit-for 0: give a time from %v to %v, or --on-redis-loss stop", run.MinPermitFor, run.MaxPermitFor)
	case given || f.onRedisLoss == run.LossPermit:
		return time.Duration(f.permitFor), nil
	default:
		return 0, nil
	}
}

// clusterRate is the value of --qps or --rate: a rate, 0 without them, or max.
func (f *Spec) clusterRate() (rate pacer.Rate, most bool, err error) {
	none := pacer.Rate{Den: 1}
	name, text := "--qps", f.qps
	switch {
	case f.qps != "" && f.rate != "":
		return none, false, errors.New("--qps and --rate: both are the rate of the whole cluster, give one of them")
	case f.rate != "":
		name, text = "--rate", f.rate
	case f.qps == "":
		return none, false, nil
	}
	if text == "max" {
		return none, true, nil
	}
	if rate, err = pacer.ParseRate(text); err != nil {
		return none, false, fmt.Errorf("%s: %w, or max, as fast as it goes", name, err)
	}
	return rate, false, nil
}

// readHeaders reads -H, with the lines of a file for "@FILE".
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
	name, body := "--body", f.body
	if f.bodyFile != "" {
		if body != "" {
			return errors.New("--body and --body-file: give one of them")
		}
		name, body = "--body-file", "@"+f.bodyFile
	}
	var err error
	if t.Body, err = targets.ReadBody(body, stdin); err != nil {
		return fmt.Errorf("%s: %w", name, readable(err))
	}
	if f.caFile != "" {
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return fmt.Errorf("--cacert: %w", readable(err))
		}
		t.CA = string(pem)
	}
	return nil
}

// readable adds to an error about a file what to do.
func readable(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%w; give the path of a file that can be read", err)
	}
	return err
}
