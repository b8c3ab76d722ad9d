package report

import (
	"fmt"
	"strconv"
	"time"
)

// A Verdict says that something was a limit, so that the times measured tell of it and not of the endpoint alone.
type Verdict struct {
	Limit string `json:"limit"` // whose limit: generator, machine or endpoint
	Cause string `json:"cause"` // what it was: one of verdictRules
	Text  string `json:"text"`  // with figures, and what to do about it; for people
}

// Shares of all that was to be sent from which on something is a limit: then the p99 is not what it seems.
const (
	lateLimit  = 0.01
	busyLimit  = 0.01
	errorLimit = 0.01
)

// judged is all that a worker reported.
type judged struct {
	*Snapshot
	closed bool // of a closed loop
}

// A verdictRule looks for one limit in all that a worker reported. It returns what to say of it, "" if it was none. Limits of time are
// those of Self.loads; a single beat above one is told of, with how long it was.
type verdictRule struct {
	limit, cause string
	tell         func(judged) string
}

// verdictRules lists everything that can be a limit, the worst first: what the worker lacks makes all its figures doubtful.
func verdictRules() []verdictRule {
	return []verdictRule{
		{"generator", "cpu", tellCPU},
		{"generator", "shard_cpu", tellShard},
		{"generator", "wait", tellWait},
		{"generator", "gc_pause", tellPause},
		{"generator", "late", tellLate},
		{"generator", "descriptors", tellClass("descriptors", 0, "found no file descriptor free; raise ulimit -n, or lower --max-connections")},
		{"generator", "ports", tellClass("ports", 0, "found no local port free; keep connections alive, or widen net.ipv4.ip_local_port_range")},
		{"machine", "steal", tellSteal},
		{"generator", "max_in_flight", tellNoRoom},
		{"endpoint", "opening", tellOpening},
		{"endpoint", "busy", tellBusy},
		{"endpoint", "connect", tellClass("connect", errorLimit, "got no connection: nothing listens there, or its backlog is full")},
		{"endpoint", "answers", tellAnswers},
	}
}

// verdicts are those on one worker; none of a worker that left no snapshot. Where no request got a connection nothing was measured, and
// more workers would get none either: only why is told.
func verdicts(s *Snapshot, closed bool) []Verdict {
	all := []Verdict{}
	if s == nil {
		return all
	}
	refused := s.allRefused()
	for _, r := range verdictRules() {
		if refused && r.cause != "connect" {
			continue
		}
		if text := r.tell(judged{s, closed}); text != "" {
			all = append(all, Verdict{Limit: r.limit, Cause: r.cause, Text: text})
		}
	}
	return all
}

// allRefused tells whether requests ended, and none of them got a connection.
func (s *Snapshot) allRefused() bool {
	e := s.Errors["connect"]
	return e != nil && e.Count > 0 && e.Count == s.Counts.Failed && s.Counts.Completed == 0
}

func tellCPU(s judged) string {
	if s.Self.CPU.Over == 0 {
		return ""
	}
	more := "add workers or cores"
	if !s.closed { // there nothing is paced
		more += ", or --pace-resolution economical"
	}
	return fmt.Sprintf("CPU %s of its %s in the worst second, %.0f %% on average, %s; %s",
		worstShare(s.Self.CPU), cores(s.Self.Cores), 100*s.Self.CPU.share(), during(s.Self.CPU.Over, s.Self.Wall), more)
}

// tellShard says nothing where all cores were busy: that says it already.
func tellShard(s judged) string {
	if s.Self.Shard.Over == 0 || s.Self.Shard.Over <= s.Self.CPU.Over {
		return ""
	}
	return fmt.Sprintf("a shard used %s of the core it can use in the worst second, shards %.0f %% on average, %s; add workers, or cores of them (a shard has one)",
		worstShare(s.Self.Shard), 100*s.Self.Shard.share(), during(s.Self.Shard.Over, s.Self.Wall))
}

func tellWait(s judged) string {
	l := s.Self.waited()
	if l.Over == 0 {
		return ""
	}
	return fmt.Sprintf("it waited for a core %s, %s%s; give the worker cores of its own, or a higher CPU limit",
		worstTime(l), during(l.Over, s.Self.Wall), elsewhere(s.Self.CPU))
}

// elsewhere says where the cores were, if it is clear that the process did not keep its own threads waiting.
func elsewhere(cpu Load) string {
	if !cpu.Known() || cpu.worst() > 0.5 {
		return ""
	}
	return ", while it used half of its cores or less: others had them, or a CPU limit kept it off"
}

func tellPause(s judged) string {
	if s.Self.Pause.Over == 0 {
		return ""
	}
	return fmt.Sprintf("garbage collection held it up %s, %s; raise GOGC, or add workers",
		worstTime(s.Self.Pause), during(s.Self.Pause.Over, s.Self.Wall))
}

func tellLate(s judged) string {
	if s.Self.Late == 0 {
		return ""
	}
	by := ""
	if s.Self.Tardy > 0 {
		by = fmt.Sprintf(", by more than %g ms", float64(s.Self.Tardy)/1e6)
	}
	return fmt.Sprintf("%s %% of its slots were seen late%s, before any connection was asked for, %s: the worker stood still, or Redis "+
		"answered late; give it cores of its own, add workers, or see loadctl doctor",
		s.partOfSlots(s.Counts.SeenLate), by, during(s.Self.Late, s.Self.Wall))
}

func tellSteal(s judged) string {
	if s.Self.Steal.Over == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the time was taken by the hypervisor in the worst second, %.0f %% on average, %s; use a machine with cores of its own",
		worstShare(s.Self.Steal), 100*s.Self.Steal.share(), during(s.Self.Steal.Over, s.Self.Wall))
}

func tellBusy(s judged) string {
	if s.Self.Full == 0 {
		return ""
	}
	return fmt.Sprintf("all connections were busy, %s, while the worker had time to spare; %s %% of its slots found none free: "+
		"raise --max-connections, if the endpoint should have more at once", during(s.Self.Full, s.Self.Wall), s.partOfSlots(s.Counts.Busy))
}

func tellOpening(s judged) string {
	if s.Self.Opening == 0 {
		return ""
	}
	return fmt.Sprintf("connections open too slowly, %s, while the worker had time to spare; %s %% of its slots found as many being opened as may be: "+
		"look at the endpoint's backlog, or open them ahead with --preconnect",
		during(s.Self.Opening, s.Self.Wall), s.partOfSlots(s.Counts.Opening))
}

func tellNoRoom(s judged) string {
	if s.Self.NoRoom == 0 {
		return ""
	}
	return fmt.Sprintf("as many requests as -c allows were in flight, %s, while the worker had time to spare; %s %% of its slots were dropped for it: "+
		"raise -c (--max-in-flight), if the endpoint should have more at once",
		during(s.Self.NoRoom, s.Self.Wall), s.partOfSlots(s.Counts.NoRoom))
}

// tellAnswers says of a closed loop that it was not the worker that kept it from going faster. Seconds in which nothing was sent, and
// those in which it was kept from its cores for too long, are no proof.
func tellAnswers(s judged) string {
	self := &s.Self
	if !s.closed || s.MostInFlight == 0 || !self.Demand.Known() || self.Demand.share() >= spareLimit {
		return ""
	}
	if (self.waited().Over+self.Steal.Over)*2 > self.Wall {
		return ""
	}
	return fmt.Sprintf("the worker had %.0f %% of its time to spare: the endpoint, or the number of connections (%d), was the limit; "+
		"try more with --max-connections, and -c if that is less", 100*(1-self.Demand.share()), s.MostInFlight)
}

// partOfSlots is n as a percentage of all slots that were to be sent, over the whole run.
func (s *Snapshot) partOfSlots(n int64) string {
	return percent(min(1, ratio(float64(n), float64(s.Counts.fired()))))
}

// tellClass tells of failed requests of a class, if they are more than a share of all that ended.
func tellClass(class string, limit float64, what string) func(judged) string {
	return func(s judged) string {
		e := s.Errors[class]
		if e == nil || e.Count == 0 || float64(e.Count) < limit*float64(s.Counts.Completed+s.Counts.Failed) {
			return ""
		}
		return fmt.Sprintf("%d requests %s", e.Count, what)
	}
}

// worstShare is the worst beat of a load.
func worstShare(l Load) string { return fmt.Sprintf("%.0f %%", 100*l.worst()) }

// worstTime writes the worst beat of a load, and its mean.
func worstTime(l Load) string {
	return fmt.Sprintf("%.0f ms in the worst second, %.0f ms/s on average", 1000*l.worst(), 1000*l.share())
}

// during is for how long of the time something was a limit: a tenth of a second at least, which is as exactly as it is told.
func during(part, of int64) string {
	return fmt.Sprintf("too much for %s of %s s", seconds(max(part, int64(100*time.Millisecond))), seconds(of))
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
