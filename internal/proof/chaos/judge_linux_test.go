package chaos

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

// A row is the result of a scenario.
type row struct {
	name    string
	arrived int64
	audit   report.Audit

	lateness     int64         // the largest measured lateness, ns
	whence       string        // where lateness comes from: "intervals" of each second, or the whole "run"
	n            [4]float64    // largest excess over ∫R + 1 in each of windows()
	over         float64       // largest excess over the bound, in any of them
	poorest      second        // from a second after the first arrival to the last one
	back         time.Duration // time from the fault to the end of the last second with too few arrivals
	busy, stolen float64       // of the machine, percent
	unexplained  int64         // arrived − sent
	broken       bool
}

// judge measures the run, and fails the test if a promise was broken.
func (s *stage) judge() {
	s.t.Helper()
	r, _ := s.report()
	times := s.web.Arrivals()
	s.row.arrived, s.row.audit = int64(len(times)), r.Audit
	if s.asLawsSay {
		s.obey()
		s.allow(float64(r.Audit.Overrun), "fired before the change could be learned")
	}
	if s.overrun > 0 {
		s.allow(min(float64(r.Audit.Overrun), float64(s.qps)*s.overrun.Seconds()), "fired before they had received the change")
	}
	s.bound(times, r)
	s.account(r.Audit, r.Errors[targets.ClassCanceled])
	if s.counted && full() {
		s.count(r.Audit.Asked)
	}
	if !full() {
		s.whole(r.Audit)
	}
	if s.stopped {
		s.bygone()
	}
	if n := len(times); n > 0 {
		last := times[n-1]
		if !s.adrift && !s.stopped {
			last = s.ends()
		}
		seconds := slide(times, s.began+int64(time.Second), last, s.asked)
		s.row.poorest = poorest(seconds)
		for _, x := range seconds {
			if s.fault > 0 && x.share < enough && x.at+int64(time.Second) > s.fault {
				s.row.back = time.Duration(x.at + int64(time.Second) - s.fault)
			}
		}
	}
	for _, p := range s.promises {
		s.keeps(times, p)
	}
	s.row.broken = s.t.Failed()
	s.t.Log("\n" + table(s.row))
}

// bound checks the promise for every window W: at most ∫R + 1 + R·(lateness + 2e), plus what this scenario is
// explicitly allowed.
//
// The lateness is measured, not assumed. A request arrives between its due time and its answer, so it is late by at
// most its latency. The bound is the largest latency that the workers report for the seconds in question. If Redis
// lost those reports, the bound is that of the whole run. A worker that was frozen saw its answers late; for that one
// it is the largest lag.
func (s *stage) bound(times []int64, r report.Report) {
	s.t.Helper()
	intervals, fine := s.published(r)
	fine = fine && full()
	s.row.whence = map[bool]string{true: "second", false: "run"}[fine]
	most := s.law.most()
	allowed := func(from, to int64) float64 {
		late := r.Latency.Max
		if fine {
			late = latest(intervals, from, to)
		}
		s.row.lateness = max(s.row.lateness, late)
		return most*float64(late+2*s.clockError(late))/1e9 + s.more
	}
	for i, w := range windows() {
		x := exceed(times, w, s.asked, allowed)
		s.row.n[i] = x.n
		if i == 0 || x.over > s.row.over {
			s.row.over = x.over
		}
		if x.over > 0 {
			may := allowed(x.at, x.at+int64(w))
			s.t.Errorf("in the %v from %.3f s after the fault on, %.0f more arrived than asked for, and %.0f may (of which %.0f because up to %s ms late and off, by each %s; %.0f %s)", w,
				seconds(x.at-s.fault), x.over+may, may, may-s.more, milliseconds(int64((may-s.more)/most*1e9)), s.row.whence, s.more, s.why)
		}
	}
}

// clockError returns the assumed error of the workers' clocks, ns: half of the shortest round trip on the slow line.
// That is more than any error on one quiet machine. It is not measured. What makes requests late makes round trips
// long too, so on a busy machine it is the largest lateness.
func (s *stage) clockError(late int64) int64 {
	const onThisMachine = 500 * time.Microsecond
	e := int64(cmp.Or(s.line, onThisMachine))
	if !full() {
		e = max(e, late)
	}
	return e
}

// whole checks the number of all requests of a run that was stopped, by the clock of Redis:
//
//	asked ≤ Rmax·(stop − start) + 1
//	arrived ≤ asked + overrun
//
// If only the laws in Redis say the rate, their integral takes the place of Rmax·(stop − start).
func (s *stage) whole(a report.Audit) {
	s.t.Helper()
	most := int64(s.law.most()*float64(s.stoppedAt-s.startedAt)/1e9) + 1
	if s.asLawsSay {
		most = int64(s.asked(s.startedAt, s.stoppedAt)) + 1
	}
	if a.Asked > most || s.row.arrived > a.Asked+a.Overrun {
		s.t.Errorf("%d arrived in %v, where at most %d may: %+v", s.row.arrived, time.Duration(s.stoppedAt-s.startedAt), most, a)
	}
}

// account checks that every request is accounted for. It is unknown what killed workers sent after their last
// snapshot: at most what they owned in a second. Requests that a stop caught before their first byte count as sent and
// canceled, and do not arrive.
func (s *stage) account(a report.Audit, canceled int64) {
	s.t.Helper()
	if err := a.Check(); err != nil {
		s.t.Error(err)
	}
	s.row.unexplained = s.row.arrived - a.Sent
	var unknown int64
	if len(s.dead) > 0 && !full() {
		unknown = s.row.arrived // a second may be long; whole bounds what arrived
	} else if len(s.dead) > 0 {
		unknown = a.Lost + int64(len(s.dead))*s.qps/int64(s.workers)
	}
	if s.row.unexplained < -canceled || s.row.unexplained > unknown {
		s.t.Errorf("%d arrived, %d sent: the difference is %d, from %d to %d can be explained", s.row.arrived, a.Sent, s.row.unexplained, -canceled, unknown)
	}
}

// keeps checks a promise. It is one of time, so only make chaos has it; goesOn has seen that the rate comes back.
func (s *stage) keeps(times []int64, p promise) {
	s.t.Helper()
	if !full() {
		return
	}
	worst := poorest(slide(times, p.from, min(p.to, s.ends()), s.asked))
	s.t.Logf("from %.2f to %.2f s after the fault each second has at least %.1f %%; promised: %.0f %%", seconds(p.from-s.fault), seconds(p.to-s.fault), 100*worst.share, 100*p.share)
	if worst.share < p.share {
		s.t.Errorf("the second from %.2f s after the fault on has %.1f %% of what was asked for; promised: %.0f %%", seconds(worst.at-s.fault), 100*worst.share, 100*p.share)
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// table returns the rows under their headers.
func table(rows ...row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "asked\tsent\tarrived\tskipped\tlate\tlost\tunexpl.\tlate ms\t10ms\t100ms\t1s\t10s\tbeyond\tpoorest s\tback\tbusy\tsteal\t  scenario")
	for _, r := range rows {
		a, verdict := r.audit, ""
		if r.broken {
			verdict = "BROKEN "
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f%%\t%.2f\t%.0f%%\t%.0f%%\t  %s%s\n", a.Asked, a.Sent, r.arrived, a.Skipped, a.LateDropped,
			a.Lost, r.unexplained, milliseconds(r.lateness), round(r.n[0]), round(r.n[1]), round(r.n[2]), round(r.n[3]), round(r.over), 100*r.poorest.share, r.back.Seconds(), r.busy, r.stolen, verdict, r.name)
	}
	w.Flush()
	return b.String()
}
