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

	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
)

// State is what a run is doing, all of one instant; only the time is read after it.
type State struct {
	Run        string    `json:"run"`
	Phase      string    `json:"phase"`     // waiting, running, paused, stopped or ended
	Rate       float64   `json:"rate"`      // asked for now, of the whole cluster, requests per second
	RateThen   float64   `json:"rate_then"` // where it goes: at the end of this ramp, or when the run begins, is resumed or goes on after a loss
	Asked      int64     `json:"asked"`     // since the start
	Members    int64     `json:"members"`
	MinWorkers int64     `json:"min_workers"` // 0 = it waits for the command start
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndsAt     time.Time `json:"ends_at,omitzero"` // as planned; zero = until stopped, or put off by a pause
	EndedAt    time.Time `json:"ended_at,omitzero"`

	LeftNS time.Duration `json:"left_ns,omitempty"` // of a paused run with a planned end: how long it goes on once it is resumed

	Skipped int64    `json:"skipped"`
	Workers []Worker `json:"workers"`
	Limiter string   `json:"limiter,omitempty"` // in words, with the burst in force; absent = the schedule alone

	burst          int64 // of the limiter, in force; 0 = what the rate makes in half a second
	now            time.Time
	permit         time.Duration // how long after its last reply a worker may go on by itself
	qmax           int64         // how many calls per second all members together make at most
	target         float64       // the rate last in force
	first          pacer.Rate    // where the schedule begins, or goes on after a pause
	issued, beyond int64
	past           int64         // asked for before the state was lost and restored
	restored       time.Time     // when the state was made anew that Redis had lost; zero = never
	grants         time.Time     // until when permits of before that may be in force, and nothing is granted; zero = it was not lost
	were           int64         // how many members there were when it was lost, as far as who restored it knew
	ahead          []pacer.Piece // those that are not generations yet
	queue          []pacer.Piece // all that may still become generations
	generation     int64         // the newest
	laws           []pacer.Law   // in the order of their ids
	cuts           []int64       // how many slots of each are before its cut
	times          timeline      // of both
}

// Worker is one incarnation of a member, as the budget knows it.
type Worker struct {
	ID          string    `json:"id"`
	Incarnation string    `json:"incarnation"`
	State       string    `json:"state"` // active, suspect, left, stopped, lost, removed or replaced
	Weight      int64     `json:"weight"`
	Leased      int64     `json:"leased"`
	LastSeen    time.Time `json:"last_seen"`
	RTTMicros   int64     `json:"rtt_hi_us"`
	Permit      float64   `json:"permit"` // what it may send by itself without Redis, requests per second

	beyond  int64
	holds   time.Duration // how long after its last contact slots may be due that it leased
	dropped bool          // silent until it had to be over with its permit
}

// Now is when the state was read, by Redis' clock.
func (s *State) Now() time.Time { return s.now }

// Process names one process of a worker, as its snapshots do.
func (w Worker) Process() string { return w.key() }

// State reads the run's state.
func (r *Run) State(ctx context.Context) (*State, error) {
	if r.Spec.Arcs {
		return r.stateOfArcs(ctx)
	}
	var now time.Time
	budget, workers, laws, err := r.read(ctx)
	if err == nil {
		now, err = r.time(ctx)
	}
	if err != nil {
		return nil, explain("read run", r.Name, err)
	}
	b, err := lua.Budget(budget)
	if err != nil {
		return nil, broken(r.Name, err.Error())
	}
	if b["uid"] != r.UID {
		return nil, fmt.Errorf("run %s: %w", r.Name, ErrNoRun)
	}
	for _, part := range []string{"phase", "figures", "counts"} {
		if budget[part] == "" {
			return nil, broken(r.Name, "a part of it is missing")
		}
	}
	s := &State{Run: r.Name, Phase: b["phase"], now: now, Workers: []Worker{}}
	if err := cmp.Or(s.parseBudget(b), s.parseLaws(laws), s.parseWorkers(workers)); err != nil {
		return nil, broken(r.Name, err.Error())
	}
	s.settle()
	s.count()
	s.Limiter = r.Spec.limiterText(s.newest(), s.burst)
	return s, nil
}

// readTries is how often a run is read that changes meanwhile. That is rare: Redis takes the commands of a pipeline one after the other, the
// embedded server within less than a call.
const readTries = 1000

// errRestless: readTries were not enough.
var errRestless = errors.New("it changes faster than it can be read; try again")

// read returns the budget, the members and the laws as of one instant. It is no transaction, which a server that is full refuses. Each call
// that leases, joins, leaves or changes the run changes the counts or figures of the budget, so those are read once more at the end.
func (r *Run) read(ctx context.Context) (budget, workers, laws map[string]string, err error) {
	names := []string{"uid", "counts", "figures"}
	for range readTries {
		var b, w, l *redis.MapStringStringCmd
		var again *redis.SliceCmd
		_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			b, w, l = p.HGetAll(ctx, r.keys.Budget), p.HGetAll(ctx, r.keys.Workers), p.HGetAll(ctx, r.keys.Laws)
			again = p.HMGet(ctx, r.keys.Budget, names...)
			return nil
		})
		if err != nil {
			return nil, nil, nil, err
		}
		same := true
		for i, name := range names {
			text, _ := again.Val()[i].(string)
			same = same && text == b.Val()[name]
		}
		if same {
			return b.Val(), w.Val(), l.Val(), nil
		}
	}
	return nil, nil, nil, errRestless
}

// presence reads only who is in the run, and its phase, "" where Redis has lost it. Stop asks often, and the laws of a long run are many.
func (r *Run) presence(ctx context.Context) (*State, error) {
	if r.Spec.Arcs {
		s, err := r.stateOfArcs(ctx)
		if errors.Is(err, ErrNoRun) {
			return &State{Run: r.Name}, nil
		}
		return s, err
	}
	var workers *redis.MapStringStringCmd
	var loss *redis.SliceCmd
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		workers = p.HGetAll(ctx, r.keys.Workers)
		loss = p.HMGet(ctx, r.keys.Budget, lossFields()...)
		return nil
	})
	s := &State{Run: r.Name}
	if err == nil {
		s.now, err = r.time(ctx)
	}
	if err != nil {
		return nil, explain("read run", r.Name, err)
	}
	hash := map[string]string{}
	for i, v := range loss.Val() {
		hash[lossFields()[i]], _ = v.(string)
	}
	fields, err := lua.Budget(hash)
	if err != nil {
		return nil, broken(r.Name, err.Error())
	}
	if s.Phase = fields["phase"]; fields["uid"] != r.UID {
		s.Phase = ""
	}
	if err := cmp.Or(s.parseLoss(fields), s.parseWorkers(workers.Val())); err != nil {
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

// integers reads fields of the budget or of a member. One that is missing is 0.
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

// lossFields are the fields of the stored budget in which parseLoss finds what it reads.
func lossFields() []string { return []string{"phase", "figures", "uid", "restored", "were"} }

// parseLoss reads what a worker may do by itself, and what tells when it is missed.
func (s *State) parseLoss(b map[string]string) error {
	var permit, restored, grants int64
	if err := integers(b, map[string]*int64{"permitfor": &permit, "restored": &restored, "grantfrom": &grants, "were": &s.were, "n": &s.Members, "qmax": &s.qmax}); err != nil {
		return err
	}
	s.restored, s.grants, s.permit = instant(restored), instant(grants), time.Duration(permit)*time.Microsecond
	return nil
}

func (s *State) parseBudget(b map[string]string) error {
	var started, stop, ended, paused int64
	err := integers(b, map[string]*int64{
		"pausedat": &paused, "min": &s.MinWorkers, "started": &started, "stop": &stop, "ended": &ended,
		"skipped": &s.Skipped, "issued": &s.issued, "beyond": &s.beyond, "past": &s.past,
	})
	if err := cmp.Or(err, s.parseLoss(b)); err != nil {
		return err
	}
	if err := s.parseBurst(b); err != nil {
		return err
	}
	s.StartedAt, s.EndsAt, s.EndedAt = instant(started), instant(stop), instant(ended)
	if s.Phase == "paused" { // the planned end moves by the length of the pause, which nobody knows yet
		s.EndsAt = time.Time{}
		if stop > paused && paused > 0 {
			s.LeftNS = time.Duration(stop-paused) * time.Microsecond
		}
	}
	return s.parseQueue(b)
}

// parseBurst reads the burst in force.
func (s *State) parseBurst(b map[string]string) error {
	burst, _, _ := strings.Cut(b["limit"], ":")
	return integers(map[string]string{"limit": burst}, map[string]*int64{"limit": &s.burst})
}

// parseQueue reads what is still to come of the profile.
func (s *State) parseQueue(b map[string]string) error {
	var all []pacer.Piece
	for text := range strings.SplitSeq(b["pieces"], ";") {
		p, err := pacer.ParsePiece(text)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	begun, _ := strconv.Atoi(b["piece"]) // absent before the start
	s.ahead = all[min(max(0, begun), len(all)):]
	s.queue = s.ahead
	if b["loop"] == "1" {
		s.queue = all
	}
	first := all[0]
	if s.Phase == "paused" {
		var err error
		if first, err = pacer.ParsePiece(b["rest"]); err != nil {
			return err
		}
		s.queue = append([]pacer.Piece{first}, s.queue...)
	}
	s.first = pacer.Rate{Num: first.R0, Den: first.Den}
	return nil
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
	s.times = newTimeline(s.laws, s.cuts)
	return nil
}

// parseWorker reads the record of a member, whose name in the hash is its id, with its incarnation behind it if it was replaced.
func parseWorker(name, text string) (Worker, error) {
	m, err := lua.Member(text)
	if err != nil {
		return Worker{}, fmt.Errorf("worker %s: its record was %w", name, err)
	}
	id, _, _ := strings.Cut(name, "/")
	w := Worker{ID: id, Incarnation: m["inc"], State: m["state"], dropped: m["state"] == "lost"}
	var at, from, phi int64
	err = integers(m, map[string]*int64{
		"weight": &w.Weight, "leased": &w.Leased, "rtt": &w.RTTMicros, "beyond": &w.beyond, "at": &at, "from": &from, "phi": &phi,
	})
	if err != nil {
		return Worker{}, fmt.Errorf("worker %s: %w", name, err)
	}
	w.LastSeen, w.Permit, w.holds = instant(at), float64(phi)/permitUnit, time.Duration(from-at)*time.Microsecond
	return w, nil
}

// permitUnit is how many seconds the scripts count the slots of a permit in.
const permitUnit = 1_000_000

// missed is how long a member is silent before it is missed. Members call N/Qmax apart, so that of a large fleet that is three such times, as
// for lease.lua.
func (s *State) missed() time.Duration {
	if s.qmax <= 0 {
		return pacer.DefaultTTL
	}
	return max(pacer.DefaultTTL, time.Duration(3*float64(s.Members)/float64(s.qmax)*float64(time.Second)))
}

// unnoticed is how much longer it may be silent before it is missed although no other has called since who would have noticed.
const unnoticed = 300 * time.Millisecond

func (s *State) parseWorkers(workers map[string]string) error {
	for name, text := range workers {
		w, err := parseWorker(name, text)
		if err != nil {
			return err
		}
		silent, member := s.now.Sub(w.LastSeen), w.State == "active" || w.State == "suspect"
		switch {
		case !member || !s.EndedAt.IsZero() || silent <= s.missed()+unnoticed:
		case silent <= s.permitted(w):
			w.State = "suspect"
		default:
			w.State = "lost"
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
		if len(s.laws) > 0 && at < s.laws[0].T0 {
			l := s.current()
			s.RateThen = l.Rate(l.T0)
		}
	case "waiting", "paused":
		s.RateThen = s.first.Float()
	}
}

// Restoring tells whether nothing is granted because Redis had lost the state: until every permit given before has run out. on is when that
// is, zero where the run was paused and waits for resume.
func (s *State) Restoring() (on time.Time, yes bool) {
	switch {
	case s.restored.IsZero():
		return time.Time{}, false
	case s.Phase == "waiting":
		return time.Time{}, true
	case s.Phase == "running" && s.now.Before(s.grants):
		return s.grants, true
	}
	return time.Time{}, false
}

// current is the law in force or, before the first begins, the one that will be then: a change made before that begins with it. There must
// be one.
func (s *State) current() pacer.Law {
	l, _ := s.lawAt(max(s.now.UnixMicro(), s.laws[0].T0))
	return l
}

// lawAt is the law in force at an instant, in µs; before the first there is none.
func (s *State) lawAt(at int64) (in pacer.Law, ok bool) {
	i := s.times.at(at)
	if i < 0 {
		return in, false
	}
	return s.laws[i], true
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
	for _, l := range s.laws[s.times.at(at):] {
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

// Peak is the highest rate that is asked for from now on, as far as is known: of the whole cluster, requests per second.
func (s *State) Peak() float64 {
	most, now := peak(s.queue), s.now.UnixMicro()
	for i, l := range s.laws {
		if last := s.cuts[i] - 1; last >= 0 {
			if end := l.Due(last) / 1000; end >= now {
				most = max(most, l.Rate(now), l.Rate(end))
			}
		}
	}
	return most
}

// peak is the highest rate of pieces.
func peak(pieces []pacer.Piece) (most float64) {
	for _, p := range pieces {
		most = max(most, float64(p.R0)/float64(p.Den), float64(p.R1)/float64(p.Den))
	}
	return most
}

// AskedAt is how many slots are due before an instant, by all laws there were: the integral of the rate in force. A law is over when a
// newer one has begun, also where the clock was set back between them.
func (s *State) AskedAt(at time.Time) int64 { return s.past + s.times.before(at.UnixMicro()) }

// askedBy is how many slots are due in [from, to), µs since the start.
func (s *State) askedBy(from, to int64) int64 {
	start := s.StartedAt.UnixMicro()
	return s.times.between(start+from, start+to)
}

// StartedAt is the run's first t0, µs of the Redis clock; 0 while it waits for its members.
func (r *Run) StartedAt(ctx context.Context) (int64, error) {
	if r.Spec.Arcs {
		return r.startedByArcs(ctx)
	}
	text, err := r.client.HGet(ctx, r.keys.Budget, "figures").Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read run %s: %w", r.Name, err)
	}
	var us int64
	b, err := lua.Budget(map[string]string{"figures": text})
	if err := cmp.Or(err, integers(b, map[string]*int64{"started": &us})); err != nil {
		return 0, broken(r.Name, err.Error())
	}
	return us, nil
}
