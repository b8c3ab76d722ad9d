package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

// State is what a run is doing, all at one instant. Only the time is read after it.
type State struct {
	Run   string  `json:"run"`
	Phase string  `json:"phase"` // waiting, running, paused, stopped or ended
	Rate  float64 `json:"rate"`  // asked for now, of the whole cluster, requests per second
	// The next rate: at the end of a ramp, when a command is in force, at the begin, after a pause, after a loss.
	RateThen float64 `json:"rate_then"`
	// Of a closed loop: requests of the whole cluster in flight, now or when it goes on; absent = all that connections allow.
	Concurrency int64     `json:"concurrency,omitempty"`
	Factor      float64   `json:"factor,omitempty"` // the part of its plan's rates that the run sends, 0…1; absent = all
	Asked       int64     `json:"asked"`            // since the start
	Members     int64     `json:"members"`
	MinWorkers  int64     `json:"min_workers"` // 0 = it waits for the command start
	StartedAt   time.Time `json:"started_at,omitzero"`
	EndsAt      time.Time `json:"ends_at,omitzero"` // as planned; zero = until stopped, or delayed by a pause
	EndedAt     time.Time `json:"ended_at,omitzero"`

	// Of a paused run with a planned end: its time left after it is resumed.
	LeftNS time.Duration `json:"left_ns,omitempty"`

	Skipped int64    `json:"skipped"` // slots that were nobody's, since the state was last restored
	Workers []Worker `json:"workers"`
	Limiter string   `json:"limiter,omitempty"` // in words, with the burst in force; absent = only the schedule

	// What its rights at endpoints that other runs share make of it (docs/adr/0045-endpoint-budgets.md).
	Frozen  bool `json:"-"` // nobody may send at one of its endpoints
	NoRight bool `json:"-"` // it has no right to send at its rates: it is granted nothing until the ledger has answered

	LastRate float64 `json:"-"` // the rate last in force
	// Of a closed loop with a concurrency: the numbers that were in force, in order; nil = it has not begun.
	Concurrencies []int64   `json:"-"`
	Restored      time.Time `json:"-"` // when the lost state was restored; zero = never
	Forgetful     bool      `json:"-"` // a failover or a loss has forgotten who owned slots
	Issued        int64     `json:"-"` // slots due so far that are accounted for: owned, or nobody's
	LawCount      int       `json:"-"` // of the history; reading it takes 1 ms per thousand

	scale     Scale // of the plan
	burst     int64 // of the limiter, in force; 0 = what the rate makes in half a second
	now       time.Time
	first     pacer.Rate     // the rate at which the schedule begins, or goes on after a pause
	idle      int64          // those of issued that were nobody's
	past      int64          // asked for before the state was lost and restored
	ahead     []pacer.Piece  // pieces that are not laws yet
	queue     []pacer.Piece  // all pieces that may still become laws
	commanded int64          // the last law of a command
	set       int64          // when the rate that a command set last is in force, µs: some 20 ms after the command
	every     time.Duration  // about how often workers call
	unclaimed time.Time      // until when workers unknown to Redis may be sending; zero = none is
	last      pacer.Rate     // rate at the beginning of the newest law that asks for something
	laws      []pacer.Law    // in the order of their ids
	cuts      []int64        // how many slots of each law are before its cut
	times     pacer.Timeline // of laws and cuts
}

// Worker is one incarnation of a member, as the budget has it.
type Worker struct {
	ID          string    `json:"id"`
	Incarnation string    `json:"incarnation"`
	State       string    `json:"state"` // active, silent, left, stopped, lost, removed or replaced
	Weight      int64     `json:"weight"`
	Owned       int64     `json:"owned"` // slots so far
	LastSeen    time.Time `json:"last_seen"`

	// Until when it may send without Redis; absent = not at all.
	LeaseUntil time.Time `json:"lease_until,omitzero"`

	leaseEnd time.Time // when all that it was leased is over, apart from lateness; zero = it is over
}

// Scale is the part of its plan's rates that a run sends, in millionths. Guards and cuts of budgets change it, and people
// end it when they set a rate.
type Scale struct {
	Factor, Most int64     // in force, and the highest that Run.Scale may make of it
	Since        time.Time // when it came into force; zero = with the rate that people gave
	Set          time.Time // when the rate that people gave came into force; zero = with the run, or unknown
	Peak         float64   // the highest rate that people gave, of the whole cluster, per second
	After        int64     // the last law of a command, for Run.Scale
}

// Scale returns the factor in force, or of a command that is in force in a moment.
func (s *State) Scale() Scale { return s.scale }

// Now returns when the state was read, by the Redis clock.
func (s *State) Now() time.Time { return s.now }

// Unclaimed reports whether workers that this server does not know may be sending: it has forgotten them, and they have
// not called since.
func (s *State) Unclaimed() bool { return !s.unclaimed.IsZero() }

// Process names one process of a worker, as its snapshots do.
func (w Worker) Process() string { return w.ID + "/" + w.Incarnation }

// Gone reports whether the worker takes no part any more, by its own word or by a user's.
func (w Worker) Gone() bool { return w.State == "left" || w.State == "stopped" || w.State == "removed" }

// State reads the run's state.
func (r *Run) State(ctx context.Context) (*State, error) { return r.read(ctx, readAll) }

// readTries is how often a run is read that changes in between. That is rare: Redis runs the commands of a pipeline
// in a row, the embedded server within less than a call.
const readTries = 1000

// ErrChanging says that readTries were not enough.
var ErrChanging = errors.New("it changes faster than it can be read; try again")

// Presence reads only the members of the run and its phase, "" if Redis has lost it. Stop asks often, and a long run
// has many laws.
func (r *Run) Presence(ctx context.Context) (*State, error) {
	s, err := r.read(ctx, readMembers)
	if errors.Is(err, ErrNoRun) {
		return &State{Run: r.Name}, nil
	}
	return s, err
}

// integers reads fields of the budget or of a member. A missing field is 0.
func integers(b map[string]string, into map[string]*int64) error {
	for name, to := range into {
		if b[name] == "" {
			continue
		}
		v, err := strconv.ParseInt(b[name], 10, 64)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		*to = v
	}
	return nil
}

// parseBurst reads the burst in force.
func (s *State) parseBurst(b map[string]string) error {
	burst, _, _ := strings.Cut(b["limit"], ":")
	return integers(map[string]string{"limit": burst}, map[string]*int64{"limit": &s.burst})
}

// TimeOf returns µs since 1970 as a time; 0 is the zero time.
func TimeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Missed returns how long a member is silent before it is missed: three renewals.
func (s *State) Missed() time.Duration { return 3 * s.every }

// unnoticed is how much longer it may be silent if no other member has called since and noticed.
const unnoticed = 300 * time.Millisecond

// count computes the rate in force and what was asked so far from the laws.
func (s *State) count() {
	at := s.now.UnixMicro()
	if !s.EndedAt.IsZero() {
		at = min(at, s.EndedAt.UnixMicro())
	}
	s.Asked = s.AskedAt(TimeOf(at))
	last := at
	if !s.EndedAt.IsZero() {
		last-- // the law that begins then asks for nothing
	}
	if l, ok := s.lawAt(last); ok {
		s.LastRate = l.Rate(last)
	}
	switch s.Phase {
	case "running":
		s.Rate, s.RateThen = s.LastRate, s.rampEnd(max(at, s.set))
		if len(s.laws) > 0 && at < s.laws[0].T0 {
			l := s.current()
			s.RateThen = l.Rate(l.T0)
		}
	case "waiting", "paused":
		s.RateThen = s.first.Float()
	}
}

// current returns the law in force, or before the first begins the one that will be then: a change made before begins
// with it. There must be one.
func (s *State) current() pacer.Law {
	l, _ := s.lawAt(max(s.now.UnixMicro(), s.laws[0].T0))
	return l
}

// lawAt returns the law in force at an instant, in µs. Before the first there is none.
func (s *State) lawAt(at int64) (in pacer.Law, ok bool) {
	i := s.times.At(at)
	if i < 0 {
		return in, false
	}
	return s.laws[i], true
}

// rampEnd returns the rate at the end of the ramp in force at an instant, in µs. Stages of one direction are one
// ramp. Without a ramp it is the rate in force.
func (s *State) rampEnd(at int64) float64 {
	var end float64
	var way int // 1 up, -1 down, 0 neither
	follow := func(r0, r1, den int64) (on bool) {
		from, to := float64(r0)/float64(den), float64(r1)/float64(den)
		if cmp.Compare(to, from) != way || math.Abs(from-end) > 1e-6*end {
			return false
		}
		end = to
		return true
	}
	in, ok := s.lawAt(at)
	if !ok {
		return 0
	}
	end, way = float64(in.R0)/float64(in.Den), cmp.Compare(in.R1, in.R0)
	for _, l := range s.laws[s.times.At(at):] {
		if !follow(l.R0, l.R1, l.Den) {
			return end
		}
	}
	for _, p := range s.ahead {
		if !follow(p.R0, p.R1, p.Den) {
			break
		}
	}
	return end
}

// Peak returns the highest rate known from now on, of the whole cluster, in requests per second.
func (s *State) Peak() float64 {
	most, now := spec.PeakOf(s.queue), s.now.UnixMicro()
	for i, l := range s.laws {
		if last := s.cuts[i] - 1; last >= 0 {
			if end := l.Due(last) / 1000; end >= now {
				most = max(most, l.Rate(now), l.Rate(end))
			}
		}
	}
	return most
}

// AskedAt returns how many slots are due before an instant by all laws: the integral of the rate in force. A law is
// over when a newer one has begun, even if the clock was set back between them.
func (s *State) AskedAt(at time.Time) int64 { return s.past + s.times.Before(at.UnixMicro()) }

// AskedBy returns how many slots are due in [from, to), µs since the start.
func (s *State) AskedBy(from, to int64) int64 {
	start := s.StartedAt.UnixMicro()
	return s.times.Between(start+from, start+to)
}

// StartedAt returns the run's first t0, µs of the Redis clock; 0 while it waits for its members.
func (r *Run) StartedAt(ctx context.Context) (int64, error) {
	text, err := r.Client.HGet(ctx, r.Keys.Budget, "core").Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read run %s: %w", r.Name, err)
	}
	c, err := core(text)
	if err != nil {
		return 0, spec.Broken(r.Name, err.Error())
	}
	return c["started"], nil
}

// Budget returns how many slots were due so far, and how many of them were nobody's. That includes those without an
// owner in the state: it was lost, or has forgotten a member.
func (s *State) Budget() report.Budget {
	untaken := max(0, s.Asked-s.Issued)
	return report.Budget{Asked: s.Asked, Issued: s.Issued + untaken, Skipped: s.idle + untaken}
}

// Elapsed returns the time from the first t0 to the end, or to now.
func (s *State) Elapsed() time.Duration {
	if s.StartedAt.IsZero() {
		return 0
	}
	end := s.now
	if !s.EndedAt.IsZero() {
		end = s.EndedAt
	}
	return max(0, end.Sub(s.StartedAt))
}
