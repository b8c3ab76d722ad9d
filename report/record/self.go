package record

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/report/units"
)

// Self is what a worker measured of itself, in one beat of about a second, or summed up over many. The zero value means
// that nothing was measured. Times are ns.
type Self struct {
	Wall        int64 `json:"wall_ns"`   // time covered by the measurement
	Cores       int64 `json:"cores"`     // cores that it may use, at most
	Collections int64 `json:"gc_cycles"` // garbage collections

	CPU       Load `json:"cpu"`        // CPU time of the process, of the time of its cores
	Wait      Load `json:"wait"`       // time that all its threads waited for a core though ready to run, of the time of its cores
	Shard     Load `json:"shard_cpu"`  // CPU time of the threads that belong to shards; the worst is that of one thread
	ShardWait Load `json:"shard_wait"` // time that they waited for a core, likewise
	Pause     Load `json:"gc_pause"`   // time in which garbage collection stopped the program
	Steal     Load `json:"steal"`      // time that the hypervisor took, of the time of all cores of the machine

	// Demand is the time in which the busiest shard had work, running or not, in the beats in which requests were sent.
	Demand Load `json:"demand"`

	// Times of the beats in which something else was a limit: see JudgeBeat.
	Late    int64 `json:"late_ns"`    // slots were seen late
	Full    int64 `json:"full_ns"`    // no connection was free
	Opening int64 `json:"opening_ns"` // the maximum number of connections was being opened
	NoRoom  int64 `json:"no_room_ns"` // the maximum number of requests was in flight
	// Datagrams were dropped at the worker's own sockets.
	Dropping int64 `json:"dropping_ns,omitempty"`

	// Times in which a closed loop stood still after its start.
	Silent int64 `json:"silent_ns"` // no reply came for longer than the worker sends without one
	Paused int64 `json:"paused_ns"` // the run was paused, up to the last reply

	Dropped int64 `json:"dropped_datagrams,omitempty"` // number of those that came faster than the worker read them

	Tardy int64 `json:"tardy_ns"` // slots later than this count in Counts.SeenLate; 0 = unknown
}

// A Load is a share of time.
type Load struct {
	Sum   int64 `json:"sum_ns"`
	Of    int64 `json:"of_ns"`          // the time that it is a share of; 0 = unknown, which is not the same as none
	Worst int64 `json:"worst_ns_per_s"` // the share in the worst beat; 0 if no beat was long enough
	Over  int64 `json:"over_ns"`        // time of the beats in which the load was a limit
}

// NewLoad returns the load of one beat: sum ≥ 0 out of a time of > 0, both in ns.
func NewLoad(sum, of int64) Load {
	if sum < 0 || of <= 0 {
		return Load{} // a counter that went back says nothing
	}
	return Load{Sum: sum, Of: of, Worst: perSecond(sum, of)}
}

// perSecond returns the share sum/of in ns per second.
func perSecond(sum, of int64) int64 { return int64(float64(sum) / float64(of) * 1e9) }

// Known reports whether the load was measured.
func (l Load) Known() bool { return l.Of > 0 }

// share returns the mean, and worst the share of the worst beat, as fractions of 1.
func (l Load) share() float64 { return units.Ratio(float64(l.Sum), float64(l.Of)) }
func (l Load) worst() float64 { return max(float64(l.Worst)/1e9, l.share()) }

// add adds o: it adds the sums, and keeps the higher worst share.
func (l *Load) add(o Load) {
	l.Sum += o.Sum
	l.Of += o.Of
	l.Worst = max(l.Worst, o.Worst)
	l.Over += o.Over
}

// add adds o, of other beats of the same worker.
func (s *Self) add(o Self) {
	s.Wall += o.Wall
	s.Cores = max(s.Cores, o.Cores)
	s.Collections += o.Collections
	s.Dropped += o.Dropped
	s.Tardy = max(s.Tardy, o.Tardy)
	for i, n := range o.limited() {
		*s.limited()[i].ns += *n.ns
	}
	loads := s.loads()
	for i, l := range o.loads() {
		loads[i].add(*l.Load)
	}
}

// A namedTime is a time of a Self with its name in JSON.
type namedTime struct {
	name string
	ns   *int64
}

// limited lists the times in which something other than a load was a limit.
func (s *Self) limited() []namedTime {
	return []namedTime{{"late_ns", &s.Late}, {"full_ns", &s.Full}, {"opening_ns", &s.Opening}, {"no_room_ns", &s.NoRoom},
		{"dropping_ns", &s.Dropping}, {"silent_ns", &s.Silent}, {"paused_ns", &s.Paused}}
}

// A namedLoad is a load of a Self with its name in JSON, and the share at which it is a limit.
type namedLoad struct {
	*Load
	name  string
	limit float64
}

// loads lists all loads, each with the share at which it becomes a limit, and why.
func (s *Self) loads() []namedLoad {
	return []namedLoad{
		// At 90 % use, requests in a queue wait about ten times as long as their service takes.
		{&s.CPU, "cpu", 0.9},
		{&s.Shard, "shard_cpu", 0.9},
		// One in ten requests that are due at any time then finds its thread waiting: the p90 is the machine's.
		{&s.Wait, "wait", 0.1},
		{&s.ShardWait, "shard_wait", 0.1},
		// One in a hundred requests then meets a pause: the p99 is the collector's.
		{&s.Pause, "gc_pause", 0.01},
		// The hypervisor takes no idle cores, so the busy cores lose more than this mean over all cores.
		{&s.Steal, "steal", 0.05},
		// As for cpu: above it, late slots may be the worker's own fault.
		{&s.Demand, "demand", spareLimit},
	}
}

// spareLimit is the demand above which a worker has no time to spare.
const spareLimit = 0.9

// shortestBeat is the shortest beat that is judged: a tenth of a second may well be full of work.
const shortestBeat = 500_000_000

// JudgeBeat marks the limits met in a snapshot of one beat. Call it once, after Record and before the snapshot is
// merged.
func (s *Snapshot) JudgeBeat() {
	long := s.Self.Wall >= shortestBeat
	if s.Counts.Sent > 0 && (s.Self.Shard.Known() || s.Self.CPU.Known()) {
		s.Self.Demand = NewLoad(int64(min(1, s.Self.demand())*float64(s.Self.Wall)), s.Self.Wall)
	}
	for _, l := range s.Self.loads() {
		switch {
		case !long:
			l.Worst = 0
		case l.Known() && l.worst() >= l.limit:
			l.Over = s.Self.Wall
		}
	}
	// A collection takes longer if its threads wait for a core. That is the machine's time, and another verdict reports
	// it.
	if s.Self.Wait.Over+s.Self.ShardWait.Over+s.Self.Steal.Over > 0 {
		s.Self.Pause.Over = 0
	}
	// However short the beat: slots that a stall made late are counted in the beat after it, which the stall may have
	// shortened.
	if s.much(s.Counts.SeenLate, lateLimit) {
		s.Self.Late = s.Self.Wall
	}
	if s.much(s.Self.Dropped, dropLimit) {
		s.Self.Dropping = s.Self.Wall
	}
	if !long || !s.Self.spare() {
		return
	}
	for _, b := range []struct {
		n    int64
		time *int64
	}{{s.Counts.Busy, &s.Self.Full}, {s.Counts.Opening, &s.Self.Opening}, {s.Counts.NoRoom, &s.Self.NoRoom}} {
		if s.much(b.n-s.delayed(), busyLimit) {
			*b.time = s.Self.Wall
		}
	}
}

// much reports whether n slots are at least a share of all that were to be sent.
func (s *Snapshot) much(n int64, share float64) bool {
	return n > 0 && float64(n) >= share*float64(s.Counts.Fired())
}

// delayed returns how many slots of a beat the worker itself may have delayed, by standing still, waiting for a core, or
// having none because the hypervisor took it. These come all at once and find few free connections.
func (s *Snapshot) delayed() int64 {
	stolen := 0.0
	if s.Self.Steal.Over > 0 { // less is part of any beat
		stolen = min(1, s.Self.Steal.worst()*float64(s.Self.Cores)) // all of it may be the time of one core
	}
	return max(s.Counts.SeenLate, int64((s.Self.waited().worst()+stolen)*float64(s.Counts.Fired())))
}

// spare reports whether the worker is known to have had time to spare in a beat. A worker without time to look for
// answers finds its connections busy too, which is its own fault. So does one that waited too long for its cores. What the
// hypervisor took counts as demand: many machines always lose some time to it, and still have time to spare.
func (s *Self) spare() bool {
	return (s.Shard.Known() || s.CPU.Known()) && s.demand() < spareLimit && s.waited().Over == 0
}

// waited returns the wait for a core: that of the shards' threads if they have their own, because other threads may
// wait.
func (s *Self) waited() Load {
	if s.Shard.Known() {
		return s.ShardWait
	}
	return s.Wait
}

// demand returns the share of time with work to do, 0 to 1 and more: time that ran, and time that would have run on a
// free core. If shards have their own threads, it is the share of the busiest shard.
func (s *Self) demand() float64 {
	ran := s.CPU
	if s.Shard.Known() {
		ran = s.Shard
	}
	return ran.worst() + s.waited().worst() + s.Steal.worst()
}

// check refuses figures outside 0…2^53.
func (s *Self) check() error {
	for _, f := range []struct {
		name string
		n    int64
	}{{"wall_ns", s.Wall}, {"cores", s.Cores}, {"gc_cycles", s.Collections}, {"dropped_datagrams", s.Dropped}, {"tardy_ns", s.Tardy}} {
		if err := checkCount(f.name, f.n); err != nil {
			return err
		}
	}
	for _, t := range s.limited() {
		if err := checkCount(t.name, *t.ns); err != nil {
			return err
		}
	}
	for _, l := range s.loads() {
		for _, n := range []int64{l.Sum, l.Of, l.Worst, l.Over} {
			if err := checkCount(l.name, n); err != nil {
				return fmt.Errorf("load %w", err)
			}
		}
	}
	return nil
}

// KnownLoads returns the loads that are known.
func (s *Self) KnownLoads() map[string]LoadReport {
	known := make(map[string]LoadReport)
	for _, l := range s.loads() {
		if l.Known() {
			known[l.name] = LoadReport{Mean: l.share(), Worst: l.worst(), OverS: float64(l.Over) / 1e9}
		}
	}
	return known
}

// LoadReport is a share of time, 1 = all of it: its mean, that of the worst second, and how long it was a limit.
type LoadReport struct {
	Mean  float64 `json:"mean"`
	Worst float64 `json:"worst"`
	OverS float64 `json:"over_s"`
}

// Within returns what a worker measured, with no time longer than the run: a worker measures on while it waits for the
// last answers. It does not change the snapshot. nil stays nil; a length of 0 means unknown.
func (s *Snapshot) Within(length time.Duration) *Snapshot {
	if s == nil || length <= 0 {
		return s
	}
	most, cut := length.Nanoseconds(), *s
	cut.Self.Wall = min(cut.Self.Wall, most)
	for _, t := range cut.Self.limited() {
		*t.ns = min(*t.ns, most)
	}
	for _, l := range cut.Self.loads() {
		l.Over = min(l.Over, most)
	}
	return &cut
}
