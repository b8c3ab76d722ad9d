package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/pacer"
)

// State is what a run is doing, read in one transaction; only the time is read after it.
type State struct {
	Run        string    `json:"run"`
	Phase      string    `json:"phase"`     // waiting, running, paused, stopped or ended
	Rate       float64   `json:"rate"`      // asked for now, of the whole cluster, requests per second
	RateThen   float64   `json:"rate_then"` // where it goes: at the end of this ramp, or when the run begins or is resumed
	Asked      int64     `json:"asked"`     // since the start
	Members    int64     `json:"members"`
	MinWorkers int64     `json:"min_workers"` // 0 = it waits for the command start
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndsAt     time.Time `json:"ends_at,omitzero"` // as planned; zero = until stopped
	EndedAt    time.Time `json:"ended_at,omitzero"`
	Skipped    int64     `json:"skipped"`
	Workers    []Worker  `json:"workers"`

	now            time.Time
	target         float64    // the rate last in force
	first          pacer.Rate // where the schedule begins, or goes on after a pause
	issued, beyond int64
	ahead          []pacer.Piece // those that are not generations yet
	generation     int64         // the newest
	laws           []pacer.Law   // in the order of their ids
	cuts           []int64       // how many slots of each are before its cut
}

// Worker is one incarnation of a member, as the budget knows it.
type Worker struct {
	ID          string    `json:"id"`
	Incarnation string    `json:"incarnation"`
	State       string    `json:"state"` // active, left, stopped, lost or replaced
	Weight      int64     `json:"weight"`
	Leased      int64     `json:"leased"`
	LastSeen    time.Time `json:"last_seen"`
	RTTMicros   int64     `json:"rtt_hi_us"`

	beyond int64
}

// State reads the run's state.
func (r *Run) State(ctx context.Context) (*State, error) {
	var now time.Time
	var budget, workers, laws *redis.MapStringStringCmd
	_, err := r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		budget = p.HGetAll(ctx, r.keys.Budget)
		workers = p.HGetAll(ctx, r.keys.Workers)
		laws = p.HGetAll(ctx, r.keys.Laws)
		return nil
	})
	if err == nil {
		now, err = r.time(ctx)
	}
	if err != nil {
		return nil, explain("read run", r.Name, err)
	}
	b := budget.Val()
	if b["uid"] != r.UID {
		return nil, fmt.Errorf("run %s: %w", r.Name, ErrNoRun)
	}
	s := &State{Run: r.Name, Phase: b["phase"], now: now, Workers: []Worker{}}
	if err := cmp.Or(s.parseBudget(b), s.parseLaws(laws.Val()), s.parseWorkers(workers.Val())); err != nil {
		return nil, broken(r.Name, err.Error())
	}
	s.settle()
	s.count()
	return s, nil
}

// presence reads only who is in the run. Stop asks often, and the laws of a long run are many.
func (r *Run) presence(ctx context.Context) (*State, error) {
	workers, err := r.client.HGetAll(ctx, r.keys.Workers).Result()
	if err != nil {
		return nil, explain("read run", r.Name, err)
	}
	s := &State{Run: r.Name}
	if s.now, err = r.time(ctx); err != nil {
		return nil, explain("read run", r.Name, err)
	}
	if err := s.parseWorkers(workers); err != nil {
		return nil, broken(r.Name, err.Error())
	}
	return s, nil
}

// time is the clock of the server that holds the run: in a cluster each has its own.
func (r *Run) time(ctx context.Context) (time.Time, error) {
	if cluster, ok := r.client.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, r.keys.Budget)
		if err != nil {
			return time.Time{}, err
		}
		return master.Time(ctx).Result()
	}
	return r.client.Time(ctx).Result()
}

func (s *State) parseBudget(b map[string]string) error {
	var started, stop, ended int64
	for name, to := range map[string]*int64{
		"n": &s.Members, "min": &s.MinWorkers, "started": &started, "stop": &stop, "ended": &ended,
		"skipped": &s.Skipped, "issued": &s.issued, "beyond": &s.beyond,
	} {
		if b[name] == "" {
			continue
		}
		v, err := strconv.ParseInt(b[name], 10, 64)
		if err != nil {
			return fmt.Errorf("budget field %s: %w", name, err)
		}
		*to = v
	}
	s.StartedAt, s.EndsAt, s.EndedAt = instant(started), instant(stop), instant(ended)
	pieces := strings.Split(b["pieces"], ";")
	begun, _ := strconv.Atoi(b["piece"]) // absent before the start
	for _, text := range pieces[min(begun, len(pieces)):] {
		p, err := pacer.ParsePiece(text)
		if err != nil {
			return err
		}
		s.ahead = append(s.ahead, p)
	}
	first := pieces[0]
	if s.Phase == "paused" {
		first = b["rest"]
	}
	p, err := pacer.ParsePiece(first)
	s.first = pacer.Rate{Num: p.R0, Den: p.Den}
	return err
}

// instant is µs since 1970 as a time; 0 is no time.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func (s *State) parseLaws(laws map[string]string) error {
	type entry struct {
		law pacer.Law
		cut int64
	}
	all := make([]entry, 0, len(laws))
	for _, text := range laws {
		i := strings.LastIndexByte(text, ':')
		if i < 0 {
			return fmt.Errorf("law %q: no cut", text)
		}
		law, err := pacer.ParseLaw(text[:i])
		if err != nil {
			return err
		}
		cut, err := strconv.ParseInt(text[i+1:], 10, 64)
		if err != nil {
			return fmt.Errorf("law %q: %w", text, err)
		}
		all = append(all, entry{law, cut})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].law.ID < all[j].law.ID })
	for _, e := range all {
		s.laws, s.cuts, s.generation = append(s.laws, e.law), append(s.cuts, e.cut), e.law.ID
	}
	return nil
}

func (s *State) parseWorkers(workers map[string]string) error {
	for name, text := range workers {
		f := strings.Split(text, " ")
		if len(f) != 5 {
			return fmt.Errorf("worker %s: its record has %d parts", name, len(f))
		}
		v := strings.Split(f[2], ":")
		if len(v) != 11 {
			return fmt.Errorf("worker %s: its record has %d numbers", name, len(v))
		}
		n := make([]int64, len(v))
		for i := range v {
			var err error
			if n[i], err = strconv.ParseInt(v[i], 10, 64); err != nil {
				return fmt.Errorf("worker %s: %w", name, err)
			}
		}
		id, _, _ := strings.Cut(name, "/")
		w := Worker{ID: id, Incarnation: f[0], State: f[1], Weight: n[1], Leased: n[5], beyond: n[6], LastSeen: instant(n[7]), RTTMicros: n[9]}
		if w.State == "active" && s.EndedAt.IsZero() && s.now.Sub(w.LastSeen) > pacer.DefaultTTL+300*time.Millisecond {
			w.State = "lost" // nobody has called since who would have noticed
		}
		s.Workers = append(s.Workers, w)
	}
	sort.Slice(s.Workers, func(i, j int) bool {
		a, b := s.Workers[i], s.Workers[j]
		return a.ID < b.ID || a.ID == b.ID && a.LastSeen.Before(b.LastSeen)
	})
	return nil
}

// settle calls ended a run whose planned end has passed while no worker was there to notice.
func (s *State) settle() {
	if s.Phase != "running" || s.EndsAt.IsZero() || s.now.Before(s.EndsAt.Add(pacer.DefaultTTL)) {
		return
	}
	for _, w := range s.Workers {
		if w.State == "active" {
			return
		}
	}
	s.Phase, s.EndedAt = "ended", s.EndsAt
}

// count works out the rate in force and what was asked so far from the laws.
func (s *State) count() {
	at := s.now.UnixMicro()
	if !s.EndedAt.IsZero() {
		at = min(at, s.EndedAt.UnixMicro())
	}
	s.Asked = s.AskedAt(instant(at))
	if l, ok := s.lawAt(at); ok {
		s.target = l.Rate(at)
	}
	switch s.Phase {
	case "running":
		s.Rate, s.RateThen = s.target, s.rampEnd(at)
	case "waiting", "paused":
		s.RateThen = s.first.Float()
	}
}

// lawAt is the law in force at an instant, in µs; before the first there is none.
func (s *State) lawAt(at int64) (in pacer.Law, ok bool) {
	for _, l := range s.laws {
		if l.T0 <= at {
			in, ok = l, true
		}
	}
	return in, ok
}

// rampEnd is the rate at which the ramp ends that is in force at an instant, in µs: a long one has many pieces. Without a ramp it is
// the rate in force.
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
	for _, l := range s.laws {
		if l.ID >= in.ID && !follow(l.R0, l.R1, l.Den) {
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

// AskedAt is how many slots are due before an instant, by all laws there were: the integral of the rate in force.
func (s *State) AskedAt(at time.Time) int64 {
	var n int64
	for i, l := range s.laws {
		n += min(s.cuts[i], l.Before(at.UnixMicro()))
	}
	return n
}

// askedBy is how many slots are due in [from, to), µs since the start.
func (s *State) askedBy(from, to int64) int64 {
	start := s.StartedAt.UnixMicro()
	var n int64
	for i, l := range s.laws {
		if l.T0 < start+to {
			n += min(s.cuts[i], l.Before(start+to)) - min(s.cuts[i], l.Before(start+from))
		}
	}
	return n
}

// StartedAt is the run's first t0, µs of the Redis clock; 0 while it waits for its members.
func (r *Run) StartedAt(ctx context.Context) (int64, error) {
	us, err := r.client.HGet(ctx, r.keys.Budget, "started").Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read run %s: %w", r.Name, err)
	}
	return us, nil
}
