package run

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// stateText is the state of a run as it is stored.
type stateText struct {
	budget, workers map[string]string
	laws            []string // in order
	due, unowned    []redis.Z
	log             []string
	now             time.Time
}

// A part is how much of a run is read.
type part int

const (
	readPhase   part = iota // what it is doing now
	readMembers             // and its members
	readAll                 // and its whole history
)

// stored reads a run at one instant. It reads all again if in between a call came that did more than renew.
func (r *Run) stored(ctx context.Context, much part) (t stateText, err error) {
	names := []string{"uid", "core", "commands"}
	for range readTries {
		var b, w, l *redis.MapStringStringCmd
		var due, unowned *redis.ZSliceCmd
		var log *redis.StringSliceCmd
		var again *redis.SliceCmd
		var length *redis.IntCmd
		_, err := r.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
			b = p.HGetAll(ctx, r.Keys.Budget)
			if much >= readMembers {
				w, due = p.HGetAll(ctx, r.Keys.Workers), p.ZRangeWithScores(ctx, r.Keys.Due, 0, -1)
				unowned = p.ZRangeWithScores(ctx, r.Keys.Unowned, 0, -1)
			}
			if much == readAll {
				l, log = p.HGetAll(ctx, r.Keys.Laws), p.LRange(ctx, r.Keys.Log, 0, -1)
				length = p.LLen(ctx, r.Keys.Log)
			}
			again = p.HMGet(ctx, r.Keys.Budget, names...)
			return nil
		})
		if err != nil {
			return t, err
		}
		same := much < readAll || length.Val() == int64(len(log.Val()))
		for i, name := range names {
			text, _ := again.Val()[i].(string)
			same = same && text == b.Val()[name]
		}
		if !same {
			continue
		}
		t = stateText{budget: b.Val(), laws: []string{b.Val()["laws"]}}
		if much >= readMembers {
			t.workers, t.due, t.unowned = w.Val(), due.Val(), unowned.Val()
		}
		if much == readAll {
			t.laws, t.log = slices.Collect(maps.Values(l.Val())), log.Val()
			sort.Slice(t.laws, func(i, j int) bool { return LawNumber(t.laws[i]) < LawNumber(t.laws[j]) })
		}
		t.now, err = link.Clock(ctx, r.Client, r.Keys.Budget)
		return t, err
	}
	return t, ErrChanging
}

// reading is a run while it is read.
type reading struct {
	*State
	core   map[string]int64
	laws   *lease.Laws
	until  int64            // counts go up to this ordinal
	known  int64            // from this ordinal on it is known which slots were nobody's
	owned  map[string]int64 // slots of each process
	silent map[string]int64 // when each member is gone if it stays silent, µs
	much   part             // how much was read
	loop   bool             // a closed loop
}

// read is State, or the part of it that is asked for.
func (r *Run) read(ctx context.Context, much part) (*State, error) {
	t, err := r.stored(ctx, much)
	if err != nil {
		return nil, Explain("read run", r.Name, err)
	}
	switch uid, there := t.budget["uid"]; {
	case !there && len(t.budget) > 0:
		return nil, spec.Broken(r.Name, "a part of it is missing")
	case uid != r.UID:
		return nil, fmt.Errorf("run %s: %w", r.Name, ErrNoRun)
	}
	return r.parse(t, much)
}

// parse reads the stored texts.
func (r *Run) parse(t stateText, much part) (s *State, err error) {
	a := reading{State: &State{Run: r.Name, now: t.now, Workers: []Worker{}}, owned: map[string]int64{}, silent: map[string]int64{}, much: much, loop: r.Spec.Max}
	if a.core, err = core(t.budget["core"]); err != nil {
		return nil, spec.Broken(r.Name, err.Error())
	}
	err = cmp.Or(a.check(t.budget, r.Spec.HasLimiter()), a.parseLaws(t))
	if err == nil && much == readAll {
		err = cmp.Or(a.parsePlan(t.budget), a.parseBurst(t.budget))
	}
	if err == nil {
		err = a.parseRestored(t.budget)
	}
	if err == nil && much == readAll {
		err = a.audit(t) // it needs to know when the state was restored
	}
	if err == nil {
		err = a.parseMembers(t)
	}
	if err != nil {
		return nil, spec.Broken(r.Name, err.Error())
	}
	a.times, a.LawCount = pacer.NewTimeline(a.State.laws, a.cuts), len(a.State.laws)
	a.count()
	a.Limiter = r.Spec.LimiterText(a.newest(), a.burst)
	return a.State, nil
}

// check refuses a budget if a part that the scripts need is missing or damaged: they would end in the middle.
func (a *reading) check(b map[string]string, hasLimiter bool) error {
	for _, name := range []string{"last", "keep"} {
		if v, err := strconv.ParseInt(b[name], 10, 64); err != nil || v < 0 {
			return fmt.Errorf("field %s: %.40q is not a number", name, b[name])
		}
	}
	if _, there := b["epoch"]; !there {
		return errors.New("field epoch is missing")
	}
	laws, err := lease.ReadHistory(b["laws"])
	if err != nil || (len(laws) > 0) != (a.core["begun"] == 1) {
		return cmp.Or(err, errors.New("field laws contradicts the others"))
	}
	for _, l := range append(laws, lease.Law{Plan: &lease.Plan{}}) {
		if number := fmt.Sprint(l.Plan.ID); !strings.HasPrefix(b["plan/"+number], number+":") { // some plans are long
			return fmt.Errorf("field plan/%s is missing or damaged", number)
		}
	}
	if hasLimiter && strings.Count(b["limit"], ":") != 4 {
		return errors.New("field limit is missing or damaged")
	}
	return nil
}

// parseLaws reads the laws, and finds those in force.
func (a *reading) parseLaws(t stateText) error {
	laws, err := lease.ReadHistory(strings.Join(t.laws, ""))
	if err != nil {
		return err
	}
	a.laws = a.laws.With(laws...).In(a.core["clockEpoch"])
	if a.loop {
		a.takeConcurrency()
	}
	for i, l := range a.laws.All() {
		if a.laws.Live(l.ID) {
			if len(a.State.laws) == 0 {
				a.past = l.Base // by laws that were not read, or that are lost
			}
			a.State.laws, a.cuts = append(a.State.laws, l.Law), append(a.cuts, a.laws.Cut(i))
			if l.Phase == lease.Running {
				a.last = pacer.Rate{Num: l.R0, Den: l.Den}
			}
			if l.Plan.ID == l.ID { // it begins a plan, so no other law led to it
				a.set = l.T0
			}
		}
	}
	a.commanded, a.Forgetful = a.core["command"], a.core["tf"] > 0
	a.Frozen = a.core["frozen"] > 0
	a.NoRight = !a.Frozen && (a.core["peak"] > a.core["allow"] || a.core["rightEnds"] <= a.now.UnixMicro())
	a.parsePhase()
	return nil
}

// LawNumber returns the number of a stored law; 0 if there is none.
func LawNumber(text string) uint64 {
	if len(text) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64([]byte(text))
}

// parsePhase finds out what the run is doing: what the newest law says that has begun.
func (a *reading) parsePhase() {
	a.StartedAt, a.MinWorkers, a.Members = TimeOf(a.core["started"]), a.core["min"], a.core["n"]
	a.every = time.Duration(lease.Period(a.Members, a.core["hold"])) * time.Microsecond
	n := a.laws.Newest()
	if n == nil {
		a.Phase = "waiting"
		return
	}
	if n.Prev == 0 && n.Phase >= lease.Stopped { // it never began
		a.StartedAt = time.Time{}
	}
	us := a.now.UnixMicro()
	in := a.laws.All()[max(0, a.laws.At(us))]
	if n.Phase == lease.Stopped || n.Phase == lease.Paused { // announced, and in force in a moment
		in = *n
	}
	a.Phase = map[lease.Phase]string{lease.Running: "running", lease.Paused: "paused", lease.Stopped: "stopped", lease.Ended: "ended"}[in.Phase]
	end := in.End
	if in.Stop > 0 {
		end = min(end, in.Stop)
	}
	switch {
	case in.Phase == lease.Running && end <= us: // no worker was left whose call would have made the law of the end
		a.Phase, a.EndedAt, a.EndsAt = "ended", TimeOf(end), TimeOf(end)
	case in.Phase >= lease.Stopped:
		if a.EndedAt = TimeOf(in.T0); in.Phase == lease.Ended && in.End < pacer.Endless {
			a.EndsAt = TimeOf(in.End)
		}
	case in.Phase == lease.Paused && in.End < pacer.Endless:
		a.LeftNS = time.Duration(in.End) * time.Microsecond
	case in.Phase == lease.Running && in.End < pacer.Endless:
		a.EndsAt = TimeOf(in.End)
	}
}

// parsePlan reads what is still to come of the profile after the newest law.
func (a *reading) parsePlan(b map[string]string) error {
	id, piece := int64(0), 0
	n := a.laws.Newest()
	if n != nil {
		id, piece = n.Plan.ID, n.Piece
	}
	plan, err := lease.ParsePlan(b[fmt.Sprint("plan/", id)])
	if err != nil {
		return err
	}
	a.scale = a.scaleOf(plan)
	pieces := make([]pacer.Piece, len(plan.Pieces))
	for i := range pieces {
		pieces[i] = plan.At(i)
	}
	a.ahead = pieces[min(piece, len(pieces)):]
	a.queue = a.ahead
	if plan.Loop {
		a.queue = pieces
	}
	first := pieces[0]
	if a.Phase == "paused" && n.Left.Den > 0 {
		first = n.Left
		a.queue = append([]pacer.Piece{first}, a.queue...)
	} else if a.Phase == "paused" && len(a.ahead) > 0 {
		first = a.ahead[0]
	}
	if a.loop {
		if a.Phase == "paused" || a.Phase == "waiting" {
			a.Concurrency = first.Concurrency()
		}
		first.R0, first.R1, first.Den, a.ahead, a.queue = 0, 0, 1, nil, nil
	}
	a.first = pacer.Rate{Num: first.R0, Den: first.Den}
	return nil
}

// scaleOf returns what a plan says of its factor.
func (a *reading) scaleOf(p *lease.Plan) Scale {
	begun := func(id int64) time.Time {
		if i, ok := a.laws.Index(id); ok {
			return TimeOf(a.laws.All()[i].T0)
		}
		return time.Time{}
	}
	s := Scale{Factor: p.Share(), Most: p.Most(), Set: begun(p.Given()), Peak: spec.PeakOf(p.Pieces), After: a.commanded}
	if p.Given() != p.ID {
		s.Since = begun(p.ID)
	}
	if a.Factor = float64(s.Factor) / lease.Unscaled; s.Factor == lease.Unscaled {
		a.Factor = 0
	}
	return s
}

// parseRestored reads when the lost state was restored, and since when the run is active.
func (a *reading) parseRestored(b map[string]string) error {
	var restored, began int64
	err := integers(b, map[string]*int64{"restored": &restored, "began": &began})
	if a.Restored = TimeOf(restored); restored > 0 {
		a.Forgetful = true
	}
	if began > 0 {
		a.StartedAt = TimeOf(began)
	}
	return err
}

// audit adds up how many slots each process owned, and how many nobody did, up to now. It uses floor sums over the
// log and over the held ranges (pacer/circle).
func (a *reading) audit(t stateText) error {
	end := a.now.UnixMicro()
	if !a.EndedAt.IsZero() {
		end = min(end, a.EndedAt.UnixMicro())
	}
	a.until, a.known = a.laws.Ordinal(a.laws.Pos(end)), a.laws.Ordinal(lease.Pos{})
	if !a.Restored.IsZero() { // workers may have sent earlier slots and not reported them yet
		a.known = a.laws.Ordinal(a.laws.Pos(a.Restored.UnixMicro()))
	}
	for _, entry := range t.log {
		const size = 48 // bytes of a range
		p, err := lua.Ranges(entry[:min(size, len(entry))])
		if err != nil || len(p) == 0 {
			return fmt.Errorf("the log: %w", cmp.Or(err, errEntry))
		}
		x := p[0] // an entry has from and to where a range has from and since
		a.add(entry[size:], x.Lo, x.Hi, a.laws.Ordinal(lease.Pos{Law: x.FromG, K: x.FromK}), min(a.until, a.laws.Ordinal(lease.Pos{Law: x.SinceG, K: x.SinceK})))
	}
	for _, z := range t.unowned {
		text, _ := z.Member.(string)
		if z.Score >= lua.UnassignedScore {
			continue
		}
		p, err := lua.Ranges(text)
		if err != nil {
			return fmt.Errorf("unowned ranges: %w", err)
		}
		for _, x := range p {
			a.open("", x, a.until)
		}
	}
	return nil
}

// errEntry says that no script has written an entry of the log.
var errEntry = errors.New("an entry is empty")

// open counts a range that stays where it is since a slot. Up to an ordinal it is its owner's, and nobody's after.
func (a *reading) open(owner string, x lua.Range, to int64) {
	since := a.laws.Ordinal(lease.Pos{Law: x.SinceG, K: x.SinceK})
	a.add(owner, x.Lo, x.Hi, since, to)
	a.add("", x.Lo, x.Hi, max(since, to), a.until)
}

// add counts the slots of an owner, "" = nobody, from one ordinal to another. Slots before the first known law are
// lost.
func (a *reading) add(owner string, lo, hi, from, to int64) {
	n := circle.Range{Lo: lo, N: hi - lo}.Count(max(a.laws.Ordinal(lease.Pos{}), from), to)
	if owner == "" {
		a.idle += n
		a.Skipped += circle.Range{Lo: lo, N: hi - lo}.Count(max(a.known, from), to)
	} else {
		a.owned[owner] += n
	}
}

// ends returns the ordinal from which on a member owns nothing, as its lease ends there.
func (a *reading) ends(name string) int64 {
	if due, present := a.silent[name]; present {
		if end := due - leaseGrace.Microseconds(); end < a.now.UnixMicro() {
			return min(a.until, a.laws.Ordinal(a.laws.Pos(end)))
		}
	}
	return a.until
}

// parseMembers reads the members, and what each owned.
func (a *reading) parseMembers(t stateText) error {
	for _, z := range t.due {
		name, _ := z.Member.(string)
		a.silent[name] = int64(z.Score)
	}
	for name, text := range t.workers {
		f, held, _, err := lua.Holding(text)
		if err != nil {
			return fmt.Errorf("worker %s: its record was %w", name, err)
		}
		id, _, _ := strings.Cut(name, "/")
		w := Worker{ID: id, Incarnation: f["inc"]}
		var m standing
		if err := integers(f, map[string]*int64{"weight": &w.Weight, "state": &m.state, "leaving": &m.leaving, "joins": &m.seen}); err != nil {
			return fmt.Errorf("worker %s: %w", name, err)
		}
		if m.state < 0 || m.state > 6 {
			return fmt.Errorf("worker %s: state %d", name, m.state)
		}
		m.holds = len(held) > 0
		if m.holds && a.much == readAll {
			to := a.ends(w.ID)
			for _, x := range held {
				a.open(w.Process(), x, to)
			}
		}
		a.member(&w, m)
		a.Workers = append(a.Workers, w)
	}
	a.findUnclaimed(t.unowned)
	for i := range a.Workers {
		a.Workers[i].Owned = a.owned[a.Workers[i].Process()]
	}
	slices.SortFunc(a.Workers, func(x, y Worker) int { return cmp.Or(strings.Compare(x.ID, y.ID), x.LastSeen.Compare(y.LastSeen)) })
	for _, w := range a.Workers {
		a.Issued += w.Owned
	}
	a.Issued += a.idle
	return nil
}
