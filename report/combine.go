package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/units"
)

// A Part is one of the reports to combine. Name stands for it in notes and errors.
type Part struct {
	Name   string
	Report Report
}

// maxParts bounds the sums of counts, each at most 2^53.
const maxParts = 1000

// Combine makes one report of the reports of several runs that were side by side and shared no Redis, such as the same
// test on several machines. It adds up counts, audits, rates asked for and histograms, and lists all workers. Series
// and events are aligned by the time since each start. Rates are over the longest duration. The result is complete if
// all parts are; its notes name the part that they concern.
func Combine(parts []Part) (Report, error) {
	if err := checkParts(parts); err != nil {
		return Report{}, err
	}
	if len(parts) == 1 {
		return parts[0].Report, nil
	}
	r := emptySum()
	r.ClosedLoop, r.Concurrency, r.Described = parts[0].Report.ClosedLoop, concurrencyOf(parts), parts[0].Report.Described
	r.Described.Hosts, r.Described.Commands = 0, []Command{}
	r.Described.Trace = nil // each run has its own
	var runs, limiters, names []string
	var series [][]record.Point
	var sets []samples.Set
	seconds := 0.0
	for _, p := range parts {
		r.addPart(p)
		runs, limiters, names = append(runs, p.Report.Run), append(limiters, p.Report.Limiter), append(names, p.Name)
		series = append(series, p.Report.Histograms.Series)
		sets = append(sets, samples.Set{Samples: p.Report.Samples, Closed: p.Report.ClosedLoop})
		seconds = max(seconds, r.DurationS)
		if n := len(p.Report.Series); n > 0 {
			seconds = max(seconds, float64(p.Report.Series[n-1].T+1))
		}
	}
	r.Run, r.Limiter = distinct(runs), distinct(limiters)
	kept := r.Audit.kept(r.followedLate())
	r.sumUp(kept)
	if kept < 1 {
		r.LowerBoundsAbove = &kept
	}
	r.addSeries(Input{Duration: time.Duration(seconds * float64(time.Second))}, series)
	for _, p := range parts {
		for _, s := range p.Report.Series {
			r.Series[s.T/r.SeriesWidthS].Asked += s.Asked
		}
	}
	r.Samples = evidence(samples.Merge(sets...))
	r.combineQueries(parts)
	r.combineThresholds(parts)
	r.Notes = append(r.Notes, fmt.Sprintf("combined from %d reports without a Redis in common, aligned by the time since each start: %s", len(parts), distinct(names)))
	r.takeEvents(eventsOf(parts, r.StartedAt))
	return r, nil
}

// concurrencyOf adds up how many requests were in flight; nil if the numbers of the parts did not change alike.
func concurrencyOf(parts []Part) []int64 {
	sum := slices.Clone(parts[0].Report.Concurrency)
	for _, p := range parts[1:] {
		if len(p.Report.Concurrency) != len(sum) {
			return nil
		}
		for i, n := range p.Report.Concurrency {
			sum[i] += n
		}
	}
	return sum
}

// checkParts refuses parts that cannot be added up.
func checkParts(parts []Part) error {
	if len(parts) == 0 || len(parts) > maxParts {
		return fmt.Errorf("combine %d reports: give 1 to %d", len(parts), maxParts)
	}
	if len(parts) == 1 {
		return nil
	}
	processes := map[string]string{}
	for _, p := range parts {
		if p.Report.Histograms == nil {
			return fmt.Errorf("combine %s: it has no histograms; give an archive, as -o archive writes it", p.Name)
		}
		if p.Report.ClosedLoop != parts[0].Report.ClosedLoop {
			return fmt.Errorf("combine %s and %s: only one is a closed loop, so their latencies are not comparable; report them one by one", parts[0].Name, p.Name)
		}
		for _, w := range p.Report.Workers {
			process := w.ID + "/" + w.Incarnation
			if other, twice := processes[process]; twice {
				return fmt.Errorf("combine %s and %s: both contain the same process of worker %.40q; leave one of them out", other, p.Name, w.ID)
			}
			processes[process] = p.Name
		}
	}
	return nil
}

// emptySum returns a report of nothing.
func emptySum() Report {
	return Report{
		Complete:    true,
		StatusCodes: map[string]int64{},
		Errors:      map[string]int64{},
		Workers:     []WorkerReport{},
		Notes:       []string{},
		Histograms:  &Histograms{Latency: record.NewHistogram(), Service: record.NewHistogram(), Lag: record.NewHistogram(), Phases: NewPhases(), Streams: record.NewStreams(), Errors: map[string]*record.Histogram{}},
	}
}

// addPart adds one report to the sum.
func (r *Report) addPart(p Part) {
	o := p.Report
	r.Running, r.Complete = r.Running || o.Running, r.Complete && o.Complete
	if r.StartedAt.IsZero() || !o.StartedAt.IsZero() && o.StartedAt.Before(r.StartedAt) {
		r.StartedAt = o.StartedAt
	}
	r.DurationS = max(r.DurationS, o.DurationS)
	r.TargetRate += o.TargetRate
	r.Asked += o.Asked
	r.BytesIn += o.BytesIn
	r.BytesOut += o.BytesOut
	r.MessagesIn += o.MessagesIn
	r.OutOfRange += o.OutOfRange
	r.Audit.add(o.Audit)
	r.Connections.add(o.Connections)
	r.Goodput.Judged += o.Goodput.Judged
	r.Goodput.Good += o.Goodput.Good
	for code, n := range o.StatusCodes {
		r.StatusCodes[code] += n
	}
	for class, n := range o.Errors {
		r.Errors[class] += n
	}
	r.addSteps(&o)
	r.Histograms.add(o.Histograms)
	r.Workers = append(r.Workers, o.Workers...)
	if !o.Complete && !o.Running {
		r.Notes = append(r.Notes, p.Name+" is not complete")
	}
	r.Described.Hosts += o.Described.Hosts
	r.Described.Commands = append(r.Described.Commands, o.Described.Commands...)
	if o.Described.Target() != r.Described.Target() || o.Described.Line() != r.Described.Line() {
		r.Notes = append(r.Notes, fmt.Sprintf("%s differs from the first one: %s %s", p.Name, o.Described.Target(), o.Described.Line()))
	}
	for _, note := range o.Notes {
		r.Notes = append(r.Notes, p.Name+": "+note)
	}
}

// sumUp computes the figures that follow from the sums. kept is the share of requests that were not dropped late.
func (r *Report) sumUp(kept float64) {
	a := r.Audit
	r.Sent = a.Sent
	r.Rate = units.Ratio(float64(a.Sent), r.DurationS)
	r.countRequests()
	r.Throughput = units.Ratio(float64(a.Completed), r.DurationS)
	r.Success = units.Ratio(float64(a.Completed), float64(a.Completed+a.Failed))
	r.Latency = r.Histograms.Latency.Distribution(kept)
	r.ServiceTime = r.Histograms.Service.Distribution(1)
	r.Lag = r.Histograms.Lag.Distribution(kept)
	r.sumUpPhases()
	r.sumUpStreams(kept)
	if r.ClosedLoop { // it has no due times
		r.Lag = record.Distribution{}
	}
}

// add adds the buckets of o.
func (h *Histograms) add(o *Histograms) {
	h.Latency.Merge(o.Latency)
	h.Service.Merge(o.Service)
	h.Lag.Merge(o.Lag)
	h.Phases.add(&o.Phases)
	h.Streams.Merge(&o.Streams)
	for class, e := range o.Errors {
		if h.Errors[class] == nil {
			h.Errors[class] = record.NewHistogram()
		}
		h.Errors[class].Merge(e)
	}
}

// add adds each term; the equations still hold.
func (a *Audit) add(o Audit) {
	a.Issued += o.Issued
	a.Asked += o.Asked
	a.Sent += o.Sent
	a.LateDropped += o.LateDropped
	a.Skipped += o.Skipped
	a.Recalled += o.Recalled
	a.Lost += o.Lost
	a.Held += o.Held
	a.Overrun += o.Overrun
	a.Ungranted += o.Ungranted
	a.Completed += o.Completed
	a.Failed += o.Failed
	a.InFlight += o.InFlight
	a.Followed += o.Followed
}

// distinct lists the different names, shortened if they are many; "" if there are none.
func distinct(names []string) string {
	const shown = 8
	var all []string
	for _, n := range names {
		if n != "" && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	if hidden := len(all) - shown; hidden > 0 {
		return strings.Join(all[:shown], " + ") + fmt.Sprintf(" and %d more", hidden)
	}
	return strings.Join(all, " + ")
}
