package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// Version is the version of the spec's encoding, and of the state that belongs to it.
const Version = 14

// The defaults of a Spec.
const (
	DefaultMaxLag    = time.Second
	DefaultCatchUp   = 100 * time.Millisecond
	DefaultPermitFor = 10 * time.Second
	MaxDuration      = 5 * 365 * 24 * time.Hour // longer times in µs leave the exact range of the scripts
)

// How long a worker goes on that receives nothing from Redis.
const (
	LossPermit = "permit" // it sends its own slots for PermitFor
	LossStop   = "stop"   // it sends them for StopLease
	LossHold   = "hold"   // it sends them without end: a lower rate, or a stop, may never reach it
)

// The bounds of PermitFor and Deadman.
const (
	MinPermitFor = time.Second
	MaxPermitFor = 10 * time.Minute
	StopLease    = 2 * time.Second // four renewals
	MinDeadman   = 3 * time.Second
	MaxDeadman   = 24 * time.Hour
)

// HoldLease is how long a lease lasts with LossHold.
const HoldLease = 10 * 365 * 24 * time.Hour

// Spec is the immutable description of a run. Two workers with the same name and the same spec take part in one run.
type Spec struct {
	Version   int          `json:"version"`
	CreatedBy string       `json:"created_by,omitempty"` // program and version, for the report; "" = unknown
	Target    targets.Spec `json:"target"`
	Origin    *Origin      `json:"origin,omitempty"` // of the target's flows; nil = there are none, or it is unknown
	// Slots of the whole cluster; with stages, the rate they start from. Stages and Profile are requests. They differ if
	// flows have several steps and a slot is a flow: see FlowRate.
	QPS pacer.Rate `json:"qps"`
	// Closed loop, as fast as the workers' connections allow, or with a concurrency: instead of a rate.
	Max bool `json:"max,omitempty"`
	// Requests of the whole cluster that a closed loop has in flight; 0 = each worker has its connections, or stages say it.
	Concurrency int64         `json:"concurrency,omitempty"`
	Duration    time.Duration `json:"duration_ns,omitempty"` // 0 = until stopped
	Requests    int64         `json:"requests,omitempty"`    // slots of the whole cluster; 0 = no limit
	Stages      []string      `json:"stages,omitempty"`      // as pacer.ParseStage reads
	Profile     string        `json:"profile,omitempty"`     // as pacer.ParseProfile reads; pacer.LoadProfile reads its file before
	Arrivals    string        `json:"arrivals,omitempty"`    // as pacer.ParseArrivals reads; "" = slots are evenly spaced
	MaxLag      time.Duration `json:"max_lag_ns"`            // L: how long after its due time a request may still wait
	CatchUp     time.Duration `json:"catch_up_ns"`           // a slot first seen later than this is dropped
	MinWorkers  int64         `json:"min_workers"`           // the run starts when this many are there; 0 = on command

	// Zero values are defaults.
	OnRedisLoss string `json:"on_redis_loss,omitempty"` // LossPermit, LossStop or LossHold; "" = LossPermit
	// Time since the last reply, with LossPermit only; 0 = DefaultPermitFor.
	PermitFor time.Duration `json:"permit_for_ns,omitempty"`
	// The run is stopped after this time without a call of loadctl; 0 = never.
	Deadman time.Duration `json:"deadman_ns,omitempty"`

	// Conditions that the run must meet, as threshold.Parse reads them. The warm-up does not count.
	Thresholds []string      `json:"thresholds,omitempty"`
	Warmup     time.Duration `json:"warmup_ns,omitempty"`

	// What the worker that judges asks a Prometheus about the endpoint.
	Prometheus string         `json:"prometheus,omitempty"` // its URL; "" = there are no queries
	Queries    []report.Query `json:"queries,omitempty"`
	QueryStale time.Duration  `json:"query_stale_ns,omitempty"` // 0 = DefaultQueryStale

	// What workers keep of some requests: SampleFull, SampleMeta or SampleNone; "" = SampleFull.
	Sample     string   `json:"sample,omitempty"`
	SampleBody int64    `json:"sample_body,omitempty"` // bytes of each body; 0 = DefaultSampleBody, NoSampleBody = none
	Redact     []string `json:"redact,omitempty"`      // names whose values are secrets, besides those that say so
	// Where reports link the trace of a request: a URL with ${trace_id} in it; "" = nowhere.
	TraceURL string `json:"trace_url,omitempty"`

	// A limiter for grants, in addition to the schedule.
	Limiter string `json:"limiter,omitempty"` // of limit.Names; "", or SlotsLimiter without a Burst = only the schedule
	// Of a limiter with a burst; 0 = what the rate makes in half a second.
	Burst  int64         `json:"burst,omitempty"`
	Window time.Duration `json:"window_ns,omitempty"` // of a limiter that counts in windows; 0 = DefaultWindow
	// Nothing is granted ahead of time, and granted slots leave together.
	Together bool `json:"together,omitempty"`
	ExpireNX bool `json:"expire_nx,omitempty"` // as limit.ExpireNX
	Debt     bool `json:"debt,omitempty"`      // as limit.Debt
}

// onRedisLoss returns OnRedisLoss, or its default.
func (s Spec) onRedisLoss() string { return cmp.Or(s.OnRedisLoss, LossPermit) }

// Permit returns how long a lease lasts: a worker goes on by itself for this time after its last reply.
func (s Spec) Permit() time.Duration {
	switch s.onRedisLoss() {
	case LossStop:
		return StopLease
	case LossHold:
		return HoldLease
	default:
		return cmp.Or(s.PermitFor, DefaultPermitFor)
	}
}

// Hold returns how long a reply leases a worker what it owns. In a closed loop workers stop before the Deadman
// would stop the run.
func (s Spec) Hold() time.Duration {
	if s.Max && s.Deadman > 0 {
		return min(s.Permit(), s.Deadman)
	}
	return s.Permit()
}

// Asks returns what the spec asks for, in the form of --qps: max, or the rate of the whole cluster.
func (s Spec) Asks() string {
	switch {
	case s.Concurrency > 0:
		return fmt.Sprintf("c=%d", s.Concurrency)
	case s.Max:
		return "max"
	default:
		return s.QPS.String()
	}
}

// Curve returns the target rate over time. For a closed loop it is no rate, for as long as the run takes. An error is
// one of ValidateSchedule.
func (s Spec) Curve() (pacer.Profile, error) {
	p, err := s.curve()
	if err == nil {
		p.Seed, err = pacer.ParseArrivals(s.Arrivals)
	}
	return p, err
}

func (s Spec) curve() (pacer.Profile, error) {
	switch {
	case s.Profile != "" && len(s.Stages) > 0:
		return pacer.Profile{}, errors.New("--profile and --stage: give one of them")
	case s.Profile != "":
		p, err := pacer.ParseProfile(s.Profile)
		return flows(s.Target, p), err
	case len(s.Stages) > 0:
		if s.Duration > 0 {
			return pacer.Profile{}, errors.New("--stage and --duration: the stages' lengths are the duration, leave --duration out")
		}
		stages := make([]pacer.Stage, len(s.Stages))
		for i, text := range s.Stages {
			stage, err := pacer.ParseStage(text)
			if err != nil {
				return pacer.Profile{}, err
			}
			stage.To = NearFlowRate(s.Target, stage.To)
			stages[i] = stage
		}
		return pacer.Stages(s.QPS, stages...), checkStages(s.Max, stages)
	case s.Concurrency > 0:
		return pacer.Profile{Segments: []pacer.Segment{pacer.Concurrent(s.Concurrency, s.Duration)}}, nil
	default:
		return pacer.Constant(s.QPS, s.Duration), nil
	}
}

// Length returns how long the run takes as planned; 0 = until stopped, or until its requests are sent.
func (s Spec) Length() time.Duration {
	p, err := s.Curve()
	if err != nil || p.Loop || s.Duration > 0 {
		return s.Duration
	}
	return p.Length()
}

// Peak returns the highest rate of the profile, of the whole cluster, in requests per second. It is infinite for a
// closed loop.
func (s Spec) Peak() float64 {
	if s.Max {
		return math.Inf(1)
	}
	p, err := s.Plan()
	if err != nil {
		return 0
	}
	return PeakOf(p.Pieces)
}

// Validate checks all that can be checked without a network. An error is one line and says what to do.
func (s Spec) Validate() error {
	if err := cmp.Or(wire.Validate(s.Target), s.validateMax()); err != nil {
		return err
	}
	if err := s.ValidateSchedule(); err != nil {
		return err
	}
	switch {
	case s.Requests < 0 || s.Requests >= pacer.Endless:
		return errors.New("--requests: give the number of requests of the whole cluster; 0 means no limit")
	case s.MaxLag <= 0 || s.MaxLag > time.Hour:
		return errors.New("--max-lag: give a time up to 1h, such as 1s")
	case s.CatchUp < 0 || s.CatchUp > time.Hour:
		return errors.New("--catch-up: give a time up to 1h, such as 100ms")
	case s.Target.Once() > 0 && !s.Max && (s.Requests == 0 || s.Requests > s.Target.Once()):
		return fmt.Errorf("--requests: the rows of the data file with pick=once are used up at request %d; give at most so many, leave --requests out, or take another pick", s.requestsOf(s.Target.Once()))
	case s.Target.Once() > 0 && s.HasLimiter():
		return errors.New("--limiter and pick=once: after a change of the rate a row might be used twice; leave --limiter out, or take another pick")
	case s.Arrivals != "" && s.HasLimiter():
		return errors.New("--limiter and --arrivals: a limiter spaces requests itself; leave one of them out")
	case s.Target.Walks() && !s.Target.SlotEach() && s.HasLimiter():
		return errors.New("--limiter and flows of several steps: a limiter grants slots, and later steps have none; add --rate-of requests, or leave --limiter out")
	case s.MinWorkers < 0 || s.MinWorkers > 100_000:
		return errors.New("--min-workers: give a number up to 100000; 0 means until loadctl start")
	}
	return cmp.Or(s.validateLimiter(), s.validateLoss(), s.validateSteps(), s.validateQueries(), s.validateThresholds(), s.validateSampling(), s.validateTraceURL())
}

// ValidateSchedule checks the rate over time and the duration, and nothing else.
func (s Spec) ValidateSchedule() error {
	p, err := s.Curve()
	if err != nil {
		return err
	}
	if _, err := p.Pieces(); err != nil {
		return err
	}
	switch {
	case s.QPS.Num == 0 && s.Profile == "" && len(s.Stages) == 0 && !s.Max:
		return errors.New("--qps: give the rate of the whole cluster, such as --qps 500")
	case s.QPS.Num != 0 && s.Profile != "":
		return errors.New("--qps and --profile: the profile is the rate, leave --qps out")
	case s.Duration < 0 || s.Duration > MaxDuration || p.Length() > MaxDuration:
		return fmt.Errorf("--duration: give a time up to %v; 0 means until stopped", MaxDuration)
	case s.Duration > 0 && s.Duration < time.Millisecond:
		return errors.New("--duration: at least 1ms")
	}
	return nil
}

// validateMax refuses settings of a closed loop that need a rate.
func (s Spec) validateMax() error {
	switch {
	case !s.Max && s.Concurrency != 0:
		return errors.New("--concurrency: only a closed loop has one")
	case !s.Max:
		return nil
	case s.QPS.Num != 0:
		return fmt.Errorf("%s and a rate: the run goes as fast as it can, or at a rate; give one of them", s.Loop())
	case len(s.Stages) > 0 && s.Concurrency > 0:
		return errors.New("--concurrency and --stage: each stage has a concurrency of its own; make the first one a stage too, such as --stage 60s:c=8")
	case len(s.Stages) > 0 && !s.Seated():
		return errors.New("--qps max and --stage: a ramp needs a rate to begin with, such as --qps 100; or leave --stage out")
	case s.Concurrency < 0 || s.Concurrency > pacer.MaxConcurrency:
		return fmt.Errorf("--concurrency: give a number from 1 to %d", pacer.MaxConcurrency)
	case s.Profile != "":
		return fmt.Errorf("%s and --profile: the profile is the rate, leave --qps out; or leave --profile out", s.Loop())
	case s.Target.Once() > 0:
		return fmt.Errorf("%s and pick=once: without a rate each worker counts its own requests, so rows would repeat; give a rate, or another pick", s.Loop())
	case s.Target.Walks():
		return fmt.Errorf("%s and flows of several steps: without a rate no slot starts a flow; give a rate", s.Loop())
	case s.Arrivals != "":
		return fmt.Errorf("%s and --arrivals: a closed loop sends when an answer comes; leave --arrivals out, or give a rate", s.Loop())
	case s.Requests != 0:
		return fmt.Errorf("%s and --requests: without a rate nobody counts requests before they are sent; give --duration instead, or a rate", s.Loop())
	}
	return nil
}

// validateLoss checks the settings for a lost Redis or controller.
func (s Spec) validateLoss() error {
	switch loss := s.onRedisLoss(); {
	case loss != LossPermit && loss != LossStop && loss != LossHold:
		return fmt.Errorf("--on-redis-loss %.40q: write one of %s, %s, %s", loss, LossPermit, LossStop, LossHold)
	case s.PermitFor != 0 && loss != LossPermit:
		return fmt.Errorf("--permit-for and --on-redis-loss %s: only permit has a length, leave --permit-for out", loss)
	case s.PermitFor != 0 && (s.PermitFor < MinPermitFor || s.PermitFor > MaxPermitFor):
		return fmt.Errorf("--permit-for: give a time from %v to %v, such as %v", MinPermitFor, MaxPermitFor, DefaultPermitFor)
	case s.Deadman != 0 && (s.Deadman < MinDeadman || s.Deadman > MaxDeadman):
		return fmt.Errorf("--deadman: give a time from %v to %v, such as 30s; 0 means never", MinDeadman, MaxDeadman)
	}
	return nil
}

// Diff describes how o differs from s, one line for each difference. Secrets are compared but not shown.
func (s Spec) Diff(o Spec) []string {
	var out []string
	line := func(name string, a, b any) {
		if fmt.Sprint(a) != fmt.Sprint(b) {
			out = append(out, fmt.Sprintf("%s: %v there, %v here", name, a, b))
		}
	}
	line("qps", s.Asks(), o.Asks())
	line("duration", s.Duration, o.Duration)
	line("requests", s.Requests, o.Requests)
	// 60s:1k and 1m:1000 are the same stage.
	if !slices.EqualFunc(s.Stages, o.Stages, sameStage) {
		line("stages", strings.Join(s.Stages, " "), strings.Join(o.Stages, " "))
	}
	if !sameProfile(s.Profile, o.Profile) {
		line("profile", pacer.BriefProfile(s.Profile), pacer.BriefProfile(o.Profile))
	}
	if !sameArrivals(s.Arrivals, o.Arrivals) {
		line("arrivals", cmp.Or(s.Arrivals, pacer.EvenArrivals), cmp.Or(o.Arrivals, pacer.EvenArrivals))
	}
	line("max-lag", s.MaxLag, o.MaxLag)
	line("catch-up", s.CatchUp, o.CatchUp)
	line("min-workers", s.MinWorkers, o.MinWorkers)
	line("on-redis-loss", s.onRedisLoss(), o.onRedisLoss())
	if s.onRedisLoss() == o.onRedisLoss() { // else they are one difference, not two
		line("permit-for", s.Permit(), o.Permit())
	}
	line("deadman", s.Deadman, o.Deadman)
	if !slices.EqualFunc(s.Thresholds, o.Thresholds, sameThreshold) {
		line("thresholds", list(s.Thresholds), list(o.Thresholds))
	}
	line("warmup", s.Warmup, o.Warmup)
	line("prometheus", cmp.Or(s.Prometheus, none), cmp.Or(o.Prometheus, none))
	line("queries", list(s.queries()), list(o.queries()))
	line("query-stale", s.Stale(), o.Stale())
	line("sample", s.sample(), o.sample())
	line("sample-body", s.sampledBody(), o.sampledBody())
	line("redact", list(s.Redact), list(o.Redact))
	line("trace url", cmp.Or(s.TraceURL, none), cmp.Or(o.TraceURL, none))
	line("limiter", s.limiterName(), o.limiterName())
	// Not the one in force, which set-burst changes.
	line("burst that it was created with", given(s.Burst), given(o.Burst))
	line("window", s.window(), o.window())
	line("spread", !s.Together, !o.Together)
	line("expire nx", s.ExpireNX, o.ExpireNX)
	line("debt", s.Debt, o.Debt)
	return slices.Concat(out, s.Target.Diff(o.Target))
}

// limiterName returns the limiter, or none.
func (s Spec) limiterName() string {
	if !s.HasLimiter() {
		return none
	}
	return s.Limiter
}

// none stands for a value that was not given.
const none = "none"

// list returns the values with commas between, or none.
func list(all []string) string { return cmp.Or(strings.Join(all, ", "), none) }

// given returns a number, or none for 0.
func given(n int64) string {
	if n == 0 {
		return none
	}
	return strconv.FormatInt(n, 10)
}

func sameStage(a, b string) bool {
	x, errX := pacer.ParseStage(a)
	y, errY := pacer.ParseStage(b)
	return a == b || errX == nil && errY == nil && x == y
}

func sameArrivals(a, b string) bool {
	x, errX := pacer.ParseArrivals(a)
	y, errY := pacer.ParseArrivals(b)
	return a == b || errX == nil && errY == nil && x == y
}

func sameProfile(a, b string) bool {
	x, errX := pacer.ParseProfile(a)
	y, errY := pacer.ParseProfile(b)
	return a == b || errX == nil && errY == nil && x.Loop == y.Loop && slices.Equal(x.Segments, y.Segments)
}
