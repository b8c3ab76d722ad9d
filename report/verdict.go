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

// A verdictRule looks for one limit in all that a worker reported. It returns what to say of it, "" if it was none. Limits of time are
// those of Self.loads; a single beat above one is told of, with how long it was.
type verdictRule struct {
	limit, cause string
	tell         func(*Snapshot) string
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
		{"endpoint", "connect", tellClass("connect", errorLimit, "got no connection; look at the endpoint's backlog and limits")},
	}
}

// verdicts are those on one worker; none of a worker that left no snapshot.
func verdicts(s *Snapshot) []Verdict {
	all := []Verdict{}
	if s == nil {
		return all
	}
	for _, r := range verdictRules() {
		if text := r.tell(s); text != "" {
			all = append(all, Verdict{Limit: r.limit, Cause: r.cause, Text: text})
		}
	}
	return all
}

func tellCPU(s *Snapshot) string {
	if s.Self.CPU.Over == 0 {
		return ""
	}
	return fmt.Sprintf("CPU %s of its %s, %s; add workers or cores, or --pace-resolution economical",
		worstShare(s.Self.CPU), cores(s.Self.Cores), during(s.Self.CPU.Over, s.Self.Wall))
}

// tellShard says nothing where all cores were busy: that says it already.
func tellShard(s *Snapshot) string {
	if s.Self.Shard.Over == 0 || s.Self.Shard.Over <= s.Self.CPU.Over {
		return ""
	}
	return fmt.Sprintf("a shard used %s of the core it can use, %s; add workers, or cores of them (a shard has one)",
		worstShare(s.Self.Shard), during(s.Self.Shard.Over, s.Self.Wall))
}

// tellWait goes by the threads of the shards, where they have their own: what else a process does may wait.
func tellWait(s *Snapshot) string {
	l := s.Self.Wait
	if s.Self.Shard.Known() {
		l = s.Self.ShardWait
	}
	if l.Over == 0 {
		return ""
	}
	return fmt.Sprintf("it waited %s for a core, %s%s; give the worker cores of its own, or a higher CPU limit",
		worstTime(l), during(l.Over, s.Self.Wall), elsewhere(s.Self.CPU))
}

// elsewhere says where the cores were, if it is clear that the process did not keep its own threads waiting.
func elsewhere(cpu Load) string {
	if !cpu.Known() || cpu.worst() > 0.5 {
		return ""
	}
	return ", while it used half of its cores or less: others had them, or a CPU limit kept it off"
}

func tellPause(s *Snapshot) string {
	if s.Self.Pause.Over == 0 {
		return ""
	}
	return fmt.Sprintf("garbage collection held it up %s, %s; raise GOGC, or add workers",
		worstTime(s.Self.Pause), during(s.Self.Pause.Over, s.Self.Wall))
}

func tellLate(s *Snapshot) string {
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

func tellSteal(s *Snapshot) string {
	if s.Self.Steal.Over == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the time was taken by the hypervisor, %s; use a machine with cores of its own",
		worstShare(s.Self.Steal), during(s.Self.Steal.Over, s.Self.Wall))
}

func tellBusy(s *Snapshot) string {
	if s.Self.Full == 0 {
		return ""
	}
	return fmt.Sprintf("all connections were busy, %s, while the worker had time to spare; %s %% of its slots found none free: "+
		"raise --max-connections, if the endpoint should have more at once", during(s.Self.Full, s.Self.Wall), s.partOfSlots(s.Counts.Busy))
}

func tellOpening(s *Snapshot) string {
	if s.Self.Opening == 0 {
		return ""
	}
	return fmt.Sprintf("connections open too slowly, %s, while the worker had time to spare; %s %% of its slots found as many being opened as may be: "+
		"look at the endpoint's backlog, or open them ahead with --preconnect",
		during(s.Self.Opening, s.Self.Wall), s.partOfSlots(s.Counts.Opening))
}

func tellNoRoom(s *Snapshot) string {
	if s.Self.NoRoom == 0 {
		return ""
	}
	return fmt.Sprintf("as many requests as -c allows were in flight, %s, while the worker had time to spare; %s %% of its slots were dropped for it: "+
		"raise -c (--max-in-flight), if the endpoint should have more at once",
		during(s.Self.NoRoom, s.Self.Wall), s.partOfSlots(s.Counts.NoRoom))
}

// partOfSlots is n as a percentage of all slots that were to be sent, over the whole run.
func (s *Snapshot) partOfSlots(n int64) string {
	return percent(min(1, ratio(float64(n), float64(s.Counts.fired()))))
}

// tellClass tells of failed requests of a class, if they are more than a share of all that ended.
func tellClass(class string, limit float64, what string) func(*Snapshot) string {
	return func(s *Snapshot) string {
		e := s.Errors[class]
		if e == nil || e.Count == 0 || float64(e.Count) < limit*float64(s.Counts.Completed+s.Counts.Failed) {
			return ""
		}
		return fmt.Sprintf("%d requests %s", e.Count, what)
	}
}

// worstShare and worstTime write the worst beat of a load, and its mean.
func worstShare(l Load) string {
	return fmt.Sprintf("%.0f %% (mean %.0f %%)", 100*l.worst(), 100*l.share())
}

func worstTime(l Load) string {
	return fmt.Sprintf("%.0f ms/s (mean %.0f ms/s)", 1000*l.worst(), 1000*l.share())
}

// during is for how long of the time something was a limit.
func during(part, of int64) string {
	return fmt.Sprintf("too much for %s of %s s", seconds(part), seconds(of))
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
