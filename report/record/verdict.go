package record

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/report/units"
)

// A Verdict says that something was a limit. Then the measured times reflect that limit, and not the endpoint alone.
type Verdict struct {
	Limit string `json:"limit"` // where the limit was: generator, machine or endpoint
	Cause string `json:"cause"` // one of rules
	Text  string `json:"text"`  // for people: the figures, and what to do
}

// From these shares of slots or requests on, something is a limit, because it distorts the p99.
const (
	lateLimit  = 0.01
	busyLimit  = 0.01
	dropLimit  = 0.01
	ErrorLimit = 0.01
)

// judged holds all that a worker reported.
type judged struct {
	*Snapshot
	closed bool // of a closed loop
}

// A rule looks for one limit in all that a worker reported. It returns the text of the verdict, "" if there was
// no limit. The limits of loads are those of Self.loads. A single beat above one is enough; the text says how long it
// was.
type rule struct {
	limit, cause string
	explain      func(judged) string
}

// rules lists everything that can be a limit, the worst first: a limit of the worker makes all its figures
// doubtful.
func rules() []rule {
	return []rule{
		{"generator", "cpu", explainCPU},
		{"generator", "shard_cpu", explainShard},
		{"generator", "wait", explainWait},
		{"generator", "gc_pause", explainPause},
		{"generator", "late", explainLate},
		{"generator", "dropped", explainDropped},
		{"generator", "descriptors", explainClass("descriptors", 0, "found no file descriptor free; raise ulimit -n, or lower --max-connections")},
		{"generator", "ports", explainClass("ports", 0, "found no local port free; keep connections alive, or widen net.ipv4.ip_local_port_range")},
		{"machine", "steal", explainSteal},
		{"generator", "max_in_flight", explainNoRoom},
		{"endpoint", "opening", explainOpening},
		{"endpoint", "busy", explainBusy},
		{"endpoint", "connect", explainClass("connect", ErrorLimit, "got no connection: nothing listens there, or its backlog is full")},
		{"endpoint", "answers", explainAnswers},
	}
}

// Verdicts returns the verdicts on one worker; none without a snapshot. If no request got a connection, nothing was
// measured, and more workers would not help. Then the only verdict is the cause of that.
func Verdicts(s *Snapshot, closed bool) []Verdict {
	all := []Verdict{}
	if s == nil {
		return all
	}
	refused := s.allRefused()
	for _, r := range rules() {
		if refused && r.cause != "connect" {
			continue
		}
		if text := r.explain(judged{s, closed}); text != "" {
			all = append(all, Verdict{Limit: r.limit, Cause: r.cause, Text: text})
		}
	}
	return all
}

// allRefused reports whether requests ended and none of them got a connection.
func (s *Snapshot) allRefused() bool {
	e := s.Errors["connect"]
	return e != nil && e.Count > 0 && e.Count == s.Counts.Failed && s.Counts.Completed == 0
}

func explainCPU(s judged) string {
	if s.Self.CPU.Over == 0 {
		return ""
	}
	more := "add workers or cores"
	if !s.closed { // a closed loop is not paced
		more += ", or --pace-resolution economical"
	}
	return fmt.Sprintf("CPU %s of its %s in the worst second, %.0f %% on average, above the limit %s; %s",
		worstShare(s.Self.CPU), cores(s.Self.Cores), 100*s.Self.CPU.share(), during(s.Self.CPU.Over, s.Self.Wall), more)
}

// explainShard returns "" if all cores were busy: explainCPU says so.
func explainShard(s judged) string {
	if s.Self.Shard.Over == 0 || s.Self.Shard.Over <= s.Self.CPU.Over {
		return ""
	}
	return fmt.Sprintf("a shard used %s of its core in the worst second, shards %.0f %% on average, above the limit %s; add workers, or give them more cores (a shard uses one)",
		worstShare(s.Self.Shard), 100*s.Self.Shard.share(), during(s.Self.Shard.Over, s.Self.Wall))
}

func explainWait(s judged) string {
	l := s.Self.waited()
	if l.Over == 0 {
		return ""
	}
	return fmt.Sprintf("it waited for a core %s, above the limit %s%s; give the worker cores of its own, or a higher CPU limit",
		worstTime(l), during(l.Over, s.Self.Wall), elsewhere(s.Self.CPU))
}

// elsewhere says who used the cores, if it is clear that the process did not keep its own threads waiting.
func elsewhere(cpu Load) string {
	if !cpu.Known() || cpu.worst() > 0.5 {
		return ""
	}
	return ", while it used half of its cores or less: other processes used them, or a CPU limit slowed it down"
}

func explainPause(s judged) string {
	if s.Self.Pause.Over == 0 {
		return ""
	}
	return fmt.Sprintf("garbage collection stopped it for %s, above the limit %s; raise GOGC, or add workers",
		worstTime(s.Self.Pause), during(s.Self.Pause.Over, s.Self.Wall))
}

func explainLate(s judged) string {
	if s.Self.Late == 0 {
		return ""
	}
	by := ""
	if s.Self.Tardy > 0 {
		by = fmt.Sprintf("> %g ms ", float64(s.Self.Tardy)/1e6)
	}
	return fmt.Sprintf("%s, at least 1 %% of requests were %slate before they asked for a connection (%s %% in all): the worker was held up, "+
		"or Redis answered late; give it cores of its own, add workers, or run loadctl doctor",
		during(s.Self.Late, s.Self.Wall), by, s.partOfSlots(s.Counts.SeenLate))
}

func explainDropped(s judged) string {
	if s.Self.Dropping == 0 {
		return ""
	}
	return fmt.Sprintf("%s, datagrams came faster than it read them: the system dropped at least one for each 100 requests (%d in all), and they had to be sent again; "+
		"raise net.core.rmem_max, add workers, or give it more cores", during(s.Self.Dropping, s.Self.Wall), s.Self.Dropped)
}

func explainSteal(s judged) string {
	if s.Self.Steal.Over == 0 {
		return ""
	}
	return fmt.Sprintf("the hypervisor took %s of the time in the worst second, %.0f %% on average, above the limit %s; use a machine with cores of its own",
		worstShare(s.Self.Steal), 100*s.Self.Steal.share(), during(s.Self.Steal.Over, s.Self.Wall))
}

func explainBusy(s judged) string {
	if s.Self.Full == 0 {
		return ""
	}
	return fmt.Sprintf("%s, at least 1 %% of requests found all connections busy, while the worker had time to spare (%s %% in all): "+
		"raise --max-connections, if the endpoint should get more at once", during(s.Self.Full, s.Self.Wall), s.partOfSlots(s.Counts.Busy))
}

func explainOpening(s judged) string {
	if s.Self.Opening == 0 {
		return ""
	}
	return fmt.Sprintf("%s, at least 1 %% of requests waited for connections that were being opened, while the worker had time to spare (%s %% in all): "+
		"check the endpoint's backlog, or open them ahead with --preconnect",
		during(s.Self.Opening, s.Self.Wall), s.partOfSlots(s.Counts.Opening))
}

func explainNoRoom(s judged) string {
	if s.Self.NoRoom == 0 {
		return ""
	}
	return fmt.Sprintf("%s, at least 1 %% of requests were dropped: as many as -c allows were in flight, while the worker had time to spare (%s %% in all): "+
		"raise -c (--max-in-flight), if the endpoint should get more at once",
		during(s.Self.NoRoom, s.Self.Wall), s.partOfSlots(s.Counts.NoRoom))
}

// explainAnswers says of a closed loop that the worker was not its limit. Seconds in which nothing was sent prove nothing,
// nor do seconds in which the worker waited too long for its cores. Demand contains what the hypervisor took.
func explainAnswers(s judged) string {
	self := &s.Self
	if !s.closed || s.MostInFlight == 0 || !self.Demand.Known() || self.Demand.share() >= spareLimit {
		return ""
	}
	if self.waited().Over*2 > self.Wall {
		return ""
	}
	return fmt.Sprintf("the worker had %.0f %% of its time to spare: the endpoint, or the number of connections (%d), was the limit; "+
		"try more with --max-connections, and -c if that is less", 100*(1-self.Demand.share()), s.MostInFlight)
}

// partOfSlots formats n as a percentage of all slots that were to be sent in the whole run.
func (s *Snapshot) partOfSlots(n int64) string {
	return units.Percent(min(1, units.Ratio(float64(n), float64(s.Counts.Fired()))))
}

// explainClass reports failed requests of a class, if they are at least the share limit of all that ended.
func explainClass(class string, limit float64, what string) func(judged) string {
	return func(s judged) string {
		e := s.Errors[class]
		if e == nil || e.Count == 0 || float64(e.Count) < limit*float64(s.Counts.Completed+s.Counts.Failed) {
			return ""
		}
		return fmt.Sprintf("%d requests %s", e.Count, what)
	}
}

// worstShare formats the worst beat of a load as a percentage.
func worstShare(l Load) string { return fmt.Sprintf("%.0f %%", 100*l.worst()) }

// worstTime formats the worst beat of a load, and its mean, as times.
func worstTime(l Load) string {
	return fmt.Sprintf("%.0f ms in the worst second, %.0f ms/s on average", 1000*l.worst(), 1000*l.share())
}

// during says for how long something was a limit, to a tenth of a second, and at least that.
func during(part, of int64) string {
	return fmt.Sprintf("in %s of %s s", seconds(max(part, int64(100*time.Millisecond))), seconds(of))
}

func seconds(ns int64) string {
	return strconv.FormatFloat(time.Duration(ns).Round(100*time.Millisecond).Seconds(), 'f', -1, 64)
}

func cores(n int64) string {
	if n == 1 {
		return "core"
	}
	return fmt.Sprintf("%d cores", n)
}

// GeneratorLimited reports whether the worker itself was a limit in the time of the snapshot. closed: in a closed loop.
func (s *Snapshot) GeneratorLimited(closed bool) bool {
	return slices.ContainsFunc(Verdicts(s, closed), func(v Verdict) bool { return v.Limit == "generator" })
}

// Delays reports whether the limit of a generator made requests late, or kept them from being sent in time. Without a
// descriptor or a port a request fails at once: it never reaches the endpoint, and its latency is short. An unknown
// cause may be anything.
func (v Verdict) Delays() bool {
	return v.Rank() < len(rules()) && v.Cause != "descriptors" && v.Cause != "ports"
}

// Rank returns the position of the verdict's rule among all rules. An unknown cause comes last.
func (v Verdict) Rank() int {
	all := rules()
	i := slices.IndexFunc(all, func(r rule) bool { return r.cause == v.Cause })
	if i < 0 {
		return len(all)
	}
	return i
}
