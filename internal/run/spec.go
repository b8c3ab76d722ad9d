package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/limit"
	"github.com/loadctl/loadctl/targets"
)

// specVersion is that of the spec's encoding, and of the state that belongs to it.
const specVersion = 8

// The defaults of a Spec.
const (
	DefaultMaxLag    = time.Second
	DefaultCatchUp   = 100 * time.Millisecond
	DefaultPermitFor = 10 * time.Second
	maxDuration      = 5 * 365 * 24 * time.Hour // beyond it µs would leave the exact range of the scripts
)

// How long a worker goes on that hears nothing from Redis.
const (
	LossPermit = "permit" // it sends what is its own for PermitFor
	LossStop   = "stop"   // for StopPromise
	LossHold   = "hold"   // without end: a lower rate, or a stop, may never reach it
)

// The bounds of PermitFor and Deadman.
const (
	MinPermitFor = time.Second
	MaxPermitFor = 10 * time.Minute
	StopPromise  = 2 * time.Second // four renewals
	MinDeadman   = 3 * time.Second
	MaxDeadman   = 24 * time.Hour
)

// withoutEnd is how long a promise lasts with LossHold.
const withoutEnd = 10 * 365 * 24 * time.Hour

// Spec is the immutable description of a run. Two workers with the same name and the same spec take part in one run.
type Spec struct {
	Version    int           `json:"version"`
	CreatedBy  string        `json:"created_by,omitempty"` // program and version, for the report; "" = not known
	Target     targets.Spec  `json:"target"`
	QPS        pacer.Rate    `json:"qps"`                   // of the whole cluster; with stages, the rate they start from
	Max        bool          `json:"max,omitempty"`         // as fast as it goes, a closed loop over the workers' connections: instead of a rate
	Duration   time.Duration `json:"duration_ns,omitempty"` // 0 = until stopped
	Requests   int64         `json:"requests,omitempty"`    // of the whole cluster; 0 = no limit
	Stages     []string      `json:"stages,omitempty"`      // as pacer.ParseStage reads
	Profile    string        `json:"profile,omitempty"`     // as pacer.ParseProfile reads
	MaxLag     time.Duration `json:"max_lag_ns"`            // L: how long after its due time a request may still wait
	CatchUp    time.Duration `json:"catch_up_ns"`           // a slot first seen later than this is dropped
	MinWorkers int64         `json:"min_workers"`           // the run starts when this many are there; 0 = when told to

	// What is left out has its default.
	OnRedisLoss string        `json:"on_redis_loss,omitempty"` // LossPermit, LossStop or LossHold; "" = LossPermit
	PermitFor   time.Duration `json:"permit_for_ns,omitempty"` // since the last reply, with LossPermit only; 0 = DefaultPermitFor
	Deadman     time.Duration `json:"deadman_ns,omitempty"`    // the run is stopped when no loadctl was heard of for so long; 0 = never

	// What the run has to meet, as report.ParseThreshold reads it. What happened in the warm-up is left out.
	Thresholds []string      `json:"thresholds,omitempty"`
	Warmup     time.Duration `json:"warmup_ns,omitempty"`

	// A limiter that the grants have to pass, in front of the schedule.
	Limiter  string        `json:"limiter,omitempty"`   // one of limit.Names; "" or SlotsLimiter without a Burst = none but the schedule
	Burst    int64         `json:"burst,omitempty"`     // of one that has a burst; 0 = what the rate makes in half a second
	Window   time.Duration `json:"window_ns,omitempty"` // of one that counts in windows; 0 = DefaultWindow
	Together bool          `json:"together,omitempty"`  // nothing is granted ahead of time, and what is granted leaves together
	ExpireNX bool          `json:"expire_nx,omitempty"` // as limit.ExpireNX
	Debt     bool          `json:"debt,omitempty"`      // as limit.Debt
}

// onRedisLoss is what there is in place of an empty OnRedisLoss.
func (s Spec) onRedisLoss() string { return cmp.Or(s.OnRedisLoss, LossPermit) }

// Permit is how long a promise lasts: so long after its last reply a worker goes on by itself.
func (s Spec) Permit() time.Duration {
	switch s.onRedisLoss() {
	case LossStop:
		return StopPromise
	case LossHold:
		return withoutEnd
	default:
		return cmp.Or(s.PermitFor, DefaultPermitFor)
	}
}

// hold is for how long a reply promises a worker what it owns. Who sends in a closed loop stops before a Deadman would stop the run.
func (s Spec) hold() time.Duration {
	if s.Max && s.Deadman > 0 {
		return min(s.Permit(), s.Deadman)
	}
	return s.Permit()
}

// Asks is what the spec asks for as --qps has it: max, or the rate of the whole cluster.
func (s Spec) Asks() string {
	if s.Max {
		return "max"
	}
	return s.QPS.String()
}

// profile is the target rate over time that the spec asks for. Of a closed loop that is none, for as long as the run takes.
func (s Spec) profile() (pacer.Profile, error) {
	switch {
	case s.Profile != "" && len(s.Stages) > 0:
		return pacer.Profile{}, errors.New("--profile and --stage: give one of them")
	case s.Profile != "":
		return pacer.ParseProfile(s.Profile)
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
			stages[i] = stage
		}
		return pacer.Stages(s.QPS, stages...), nil
	default:
		return pacer.Constant(s.QPS, s.Duration), nil
	}
}

// Length is how long the run takes as planned; 0 = until stopped, or until its requests are sent.
func (s Spec) Length() time.Duration {
	p, err := s.profile()
	if err != nil || p.Loop || s.Duration > 0 {
		return s.Duration
	}
	return p.Length()
}

// Peak is the highest rate that the profile asks for: of the whole cluster, requests per second. A closed loop may be infinitely fast.
func (s Spec) Peak() float64 {
	if s.Max {
		return math.Inf(1)
	}
	p, err := s.plan()
	if err != nil {
		return 0
	}
	return peak(p.pieces)
}

// Validate checks all that can be checked without network. Its errors are one line and say what to do.
func (s Spec) Validate() error {
	if err := cmp.Or(s.Target.Validate(), s.validateMax()); err != nil {
		return err
	}
	p, err := s.profile()
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
	case s.Duration < 0 || s.Duration > maxDuration || p.Length() > maxDuration:
		return fmt.Errorf("--duration: give a time up to %v; 0 means until stopped", maxDuration)
	case s.Duration > 0 && s.Duration < time.Millisecond:
		return errors.New("--duration: at least 1ms")
	case s.Requests < 0 || s.Requests >= pacer.Endless:
		return errors.New("--requests: give the number of requests of the whole cluster; 0 means no limit")
	case s.MaxLag <= 0 || s.MaxLag > time.Hour:
		return errors.New("--max-lag: give a time up to 1h, such as 1s")
	case s.CatchUp < 0 || s.CatchUp > time.Hour:
		return errors.New("--catch-up: give a time up to 1h, such as 100ms")
	case s.MinWorkers < 0 || s.MinWorkers > 100_000:
		return errors.New("--min-workers: give a number up to 100000; 0 means until loadctl start")
	}
	return cmp.Or(s.validateLimiter(), s.validateLoss(), s.validateThresholds())
}

// validateMax checks that a closed loop is not asked for what only a rate can do.
func (s Spec) validateMax() error {
	switch {
	case !s.Max:
		return nil
	case s.QPS.Num != 0:
		return errors.New("--qps max and a rate: the run goes as fast as it can, or at a rate; give one of them")
	case len(s.Stages) > 0:
		return errors.New("--qps max and --stage: a ramp needs a rate to begin with, such as --qps 100; or leave --stage out")
	case s.Profile != "":
		return errors.New("--qps max and --profile: the profile is the rate, leave --qps out; or leave --profile out")
	case s.Requests != 0:
		return errors.New("--qps max and --requests: without a rate nobody counts requests before they are sent; give --duration instead, or a rate")
	}
	return nil
}

// validateLoss checks what becomes of a run that Redis, or whoever controls it, is lost to.
func (s Spec) validateLoss() error {
	switch loss := s.onRedisLoss(); {
	case loss != LossPermit && loss != LossStop && loss != LossHold:
		return fmt.Errorf("--on-redis-loss %.40q: there are %s, %s, %s", loss, LossPermit, LossStop, LossHold)
	case s.PermitFor != 0 && loss != LossPermit:
		return fmt.Errorf("--permit-for and --on-redis-loss %s: only permit has a length, leave --permit-for out", loss)
	case s.PermitFor != 0 && (s.PermitFor < MinPermitFor || s.PermitFor > MaxPermitFor):
		return fmt.Errorf("--permit-for: give a time from %v to %v, such as %v", MinPermitFor, MaxPermitFor, DefaultPermitFor)
	case s.Deadman != 0 && (s.Deadman < MinDeadman || s.Deadman > MaxDeadman):
		return fmt.Errorf("--deadman: give a time from %v to %v, such as 30s; 0 means never", MinDeadman, MaxDeadman)
	}
	return nil
}

// parseSpec reads a spec as it is stored. The version comes first: what else a newer one holds is not known.
func parseSpec(name, text string) (Spec, error) {
	var s Spec
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Version < 1 {
		return s, broken(name, "its spec was not written by loadctl")
	}
	if v.Version < specVersion {
		return s, fmt.Errorf("run %s: %w, %d where this program knows %d; end it with the loadctl that created it, or loadctl rm --force %s", name, ErrOlder, v.Version, specVersion, name)
	}
	if v.Version > specVersion {
		return s, fmt.Errorf("run %s: %w, %d where this program knows %d; use a newer loadctl and loadworker", name, ErrNewer, v.Version, specVersion)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, broken(name, "its spec was not written by loadctl")
	}
	if s.gated() && !slices.Contains(limit.Names(), s.Limiter) {
		return s, fmt.Errorf("run %s: %w, with a limiter %.40q that this program does not know; use a newer loadctl and loadworker", name, ErrNewer, s.Limiter)
	}
	if _, err := s.thresholds(); err != nil {
		return s, fmt.Errorf("run %s: %w, with a %w that this program does not know; use a newer loadctl and loadworker", name, ErrNewer, err)
	}
	return s, nil
}

// Diff describes how o differs from s, a line for each difference, with secrets compared and not shown.
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
	// Written in another way, 60s:1k and 1m:1000, they are the same.
	if !slices.EqualFunc(s.Stages, o.Stages, sameStage) {
		line("stages", strings.Join(s.Stages, " "), strings.Join(o.Stages, " "))
	}
	if !sameProfile(s.Profile, o.Profile) {
		line("profile", s.Profile, o.Profile)
	}
	line("max-lag", s.MaxLag, o.MaxLag)
	line("catch-up", s.CatchUp, o.CatchUp)
	line("min-workers", s.MinWorkers, o.MinWorkers)
	line("on-redis-loss", s.onRedisLoss(), o.onRedisLoss())
	if s.onRedisLoss() == o.onRedisLoss() { // or else it is one difference, and no two
		line("permit-for", s.Permit(), o.Permit())
	}
	line("deadman", s.Deadman, o.Deadman)
	if !slices.EqualFunc(s.Thresholds, o.Thresholds, sameThreshold) {
		line("thresholds", list(s.Thresholds), list(o.Thresholds))
	}
	line("warmup", s.Warmup, o.Warmup)
	line("limiter", s.limiterName(), o.limiterName())
	line("burst that it was created with", given(s.Burst), given(o.Burst)) // not the one in force, which set-burst changes
	line("window", s.window(), o.window())
	line("spread", !s.Together, !o.Together)
	line("expire nx", s.ExpireNX, o.ExpireNX)
	line("debt", s.Debt, o.Debt)
	return slices.Concat(out, s.Target.Diff(o.Target))
}

// limiterName is the limiter in front of the schedule, or none.
func (s Spec) limiterName() string {
	if !s.gated() {
		return none
	}
	return s.Limiter
}

// none is what a difference says of what was not given.
const none = "none"

// list is what was given, one after the other.
func list(all []string) string { return cmp.Or(strings.Join(all, ", "), none) }

// given is a number of which 0 is none.
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

func sameProfile(a, b string) bool {
	x, errX := pacer.ParseProfile(a)
	y, errY := pacer.ParseProfile(b)
	return a == b || errX == nil && errY == nil && x.Loop == y.Loop && slices.Equal(x.Segments, y.Segments)
}
