package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets/status"
)

// Input is what a Report is built from. Build neither changes nor keeps it.
type Input struct {
	Run        string
	StartedAt  time.Time     // the run's first t0
	Duration   time.Duration // from StartedAt to the end, or to now
	Planned    time.Duration // planned length; 0 = unknown, or without an end
	Running    bool          // the run goes on
	TargetRate float64       // requests per second last asked for, of the whole cluster
	ClosedLoop bool          // there is no rate: see Report
	// Concurrency is how many requests of a closed loop were in flight: see Report
	Concurrency []int64
	Limiter     string      // see Report
	Described   Description // what is known of it; Build counts the hosts
	Events      []Event     // all that Redis knows, oldest first; Build adds the outages that workers saw
	Budget      Budget
	Workers     []WorkerInput         // one for each incarnation
	Thresholds  []threshold.Threshold // conditions that the run has to meet
	Warmup      time.Duration         // thresholds leave out this time at the start

	// Missing says in sentences what is unknown about the run. It makes the report incomplete.
	Missing []string

	// Series are points of the run that are in no worker's Series, in any order and of any width.
	Series []record.Point

	// Queries are those that the run asks, and Values their answers, in any order. A threshold on a query fails where there
	// was no answer for QueryStale.
	Queries    []Query
	Values     []record.ValuePoint
	QueryStale time.Duration

	// Samples are requests that the workers kept as evidence. Unread says in a sentence which of them cannot be read; the
	// report is complete without them.
	Samples samples.Set
	Unread  string

	// Times are histograms of workers that are in no worker's Total; its counts are ignored. Nil = none.
	Times *record.Snapshot

	// Steps names the steps in the order of the workload. Those that it does not name follow, sorted by name.
	Steps []string

	// FromAnswer names the steps that are due some time after the answer before them.
	FromAnswer []string

	// AskedBy returns how many requests are asked for in [fromUS, toUS), in µs since StartedAt. It fills the series; if
	// it is nil, asked is 0 there.
	AskedBy func(fromUS, toUS int64) int64
}

// WorkerInput is what is known of one incarnation of a worker.
type WorkerInput struct {
	ID, State   string           // State is any word; it passes through
	Incarnation string           // one process of the worker
	LastSeen    time.Time        // last contact with the server; zero = never
	Leased      int64            // slots owned by this incarnation, by the server's count
	Beyond      int64            // of these, slots at or after the end of their law
	Gone        bool             // no longer running: slots that it did not account for are lost
	Gaps        int64            // snapshots missing between those received
	Total       *record.Snapshot // its last cumulative snapshot; nil = none received
	Series      []record.Point   // its points over time
}

// Build merges what the workers recorded, audits it and summarizes it.
func Build(in Input) Report {
	merged, series := in.merge()
	audit := newAudit(in.Budget, in.Workers)
	if in.ClosedLoop {
		audit = audit.ofLoop()
	}
	r := emptySum()
	r.Run, r.StartedAt, r.Running, r.DurationS = in.Run, in.StartedAt.UTC(), in.Running, in.Duration.Seconds()
	r.Audit, r.Asked, r.TargetRate, r.ClosedLoop, r.Concurrency, r.Limiter = audit, audit.Asked, in.TargetRate, in.ClosedLoop, slices.Clone(in.Concurrency), in.Limiter
	r.Described = in.Described.described(in.Workers)
	r.BytesIn, r.BytesOut, r.MessagesIn, r.OutOfRange = merged.Counts.BytesIn, merged.Counts.BytesOut, merged.Counts.MessagesIn, merged.Counts.OutOfRange
	r.Histograms.Latency, r.Histograms.Service, r.Histograms.Lag = merged.Latency, merged.Service, merged.Lag
	r.Histograms.Phases, r.Histograms.Streams = phasesOf(merged), merged.Streams
	r.Goodput.Judged, r.Goodput.Good = merged.Counts.Judged, merged.Counts.Good
	r.Connections.addCounts(&merged.Connections)
	r.sumUp(audit.kept(merged.Counts.FollowedLate))
	for code, n := range merged.Status {
		r.StatusCodes[statusName(code)] += n
	}
	for class, e := range merged.Errors {
		r.Errors[class] = e.Count
		r.Histograms.Errors[class] = e.Latency
	}
	r.setSteps(merged.Steps, in.Steps)
	for i := range r.Steps {
		r.Steps[i].FromAnswer = slices.Contains(in.FromAnswer, r.Steps[i].Name)
	}
	for _, w := range in.Workers {
		r.addWorker(w)
	}
	r.addSeries(in, series)
	r.addQueries(in.Queries, in.Values)
	if r.Samples = evidence(in.Samples); in.Unread != "" {
		r.Notes = append(r.Notes, in.Unread)
	}
	if in.ClosedLoop {
		r.Notes = append(r.Notes, r.closedNotes(in.Workers)...)
	}
	r.setComplete(in)
	r.takeEvents(in.allEvents())
	r.noteStop(in.Planned)
	r.noteScalings()
	r.judgeThresholds(in)
	return r
}

// countRequests sets what differs from Sent if flows have several requests.
func (r *Report) countRequests() {
	if r.Audit.Followed > 0 {
		r.Requests, r.RequestRate = r.Audit.Requests(), units.Ratio(float64(r.Audit.Requests()), r.DurationS)
	}
}

// closedLoop is a note on the latencies of a closed loop; closedNotes, in closed.go, adds the others.
const closedLoop = "closed loop: the next request was sent when one had ended; latencies do not include the time that users would " +
	"have waited (coordinated omission). For latencies at a rate use --qps NUMBER"

// merge adds up the snapshots and collects the series.
func (in Input) merge() (*record.Snapshot, [][]record.Point) {
	merged := record.NewSnapshot("", "")
	series := [][]record.Point{in.Series}
	for _, w := range in.Workers {
		if w.Total != nil {
			merged.Merge(w.Total)
		}
		series = append(series, w.Series)
	}
	merged.AddTimes(in.Times)
	return merged, series
}

// statusName returns the key of a status code in a Report.
func statusName(code int) string {
	if code == record.OtherStatus {
		return "other"
	}
	return status.Name(code)
}

// addWorker adds the line of one incarnation.
func (r *Report) addWorker(w WorkerInput) {
	line := WorkerReport{ID: w.ID, Incarnation: w.Incarnation, State: w.State, Final: w.final(), LastSeen: w.LastSeen.UTC(), Gaps: w.Gaps}
	line.Verdicts = record.Verdicts(w.Total.Within(r.Length()), r.ClosedLoop)
	line.Self.Load = map[string]record.LoadReport{}
	if w.Total != nil {
		n, self := w.Total.Counts, &w.Total.Self
		line.Sent, line.LateDropped, line.SeenLate = n.Sent, n.LateDropped, n.SeenLate
		line.Busy, line.Opening, line.NoRoom, line.MostInFlight = n.Busy, n.Opening, n.NoRoom, w.Total.MostInFlight
		line.Self = SelfReport{MeasuredS: float64(self.Wall) / 1e9, Cores: self.Cores, GCCycles: self.Collections, Load: self.KnownLoads()}
	}
	r.Workers = append(r.Workers, line)
}

// addSeries adds the points over time. Workers have points only for seconds with requests, but seconds in which nothing
// was sent matter most. So it fills the holes, and chooses the width so that the whole duration fits.
func (r *Report) addSeries(in Input, series [][]record.Point) {
	width := int64(1)
	seconds := int64(math.Ceil(max(0, in.Duration.Seconds())))
	for seconds > record.MaxPoints*width {
		width *= 2
	}
	points := record.JoinSeries(width, series)
	n := (seconds + width - 1) / width
	if len(points) > 0 {
		last := points[len(points)-1]
		width = last.Width
		n = max((seconds+width-1)/width, last.Index+1)
	}
	r.Histograms.Series = points
	r.SeriesWidthS = width
	r.Series = make([]SeriesReport, n)
	for i := range r.Series {
		r.Series[i].T = int64(i) * width
		if in.AskedBy != nil {
			from := r.Series[i].T * 1_000_000
			to := min(from+width*1_000_000, in.Duration.Microseconds())
			r.Series[i].Asked = in.AskedBy(from, max(from, to))
		}
	}
	r.FillSeries()
}

// FillSeries fills in what follows from the points themselves: all but what was asked for.
func (r *Report) FillSeries() {
	for _, p := range r.Histograms.Series {
		old, h := r.Series[p.Index], p.Latency
		r.Series[p.Index] = SeriesReport{
			T: old.T, Asked: old.Asked, Sent: p.Sent, OK: p.Completed, Failed: p.Failed, Errors: p.Classes(), Queries: old.Queries,
			P50NS: h.Quantile(0.5), P90NS: h.Quantile(0.9), P99NS: h.Quantile(0.99), P999NS: h.Quantile(0.999),
			Streams: seriesStreams(&p), Goodput: SeriesGoodput{p.Judged, p.Good},
		}
	}
}

// shortfall notes how much was not sent, and why.
func (r *Report) shortfall() {
	a := r.Audit
	r.unsent(a.Ungranted, "because the limiter did not grant it in time: Redis was away or had lost "+
		"its state, workers were gone, or --burst or --window is too small for calls 5 ms apart")
	r.unsent(a.Skipped, whySkipped)
	if late := r.followedLate(); float64(late) > noteThreshold*float64(a.Requests()) && !r.Running {
		r.Notes = append(r.Notes, fmt.Sprintf("%s %% of the later requests of flows were not sent, because they would have been late: there was no connection for them",
			units.Percent(units.Ratio(float64(late), float64(a.Followed+late)))))
	}
	r.unsent(max(0, a.LateDropped-a.Overrun), "because it would have been late: the workers or their connections did not keep up, "+
		"or Redis did not answer for longer than leases last")
	if !slices.ContainsFunc(r.Workers, func(w WorkerReport) bool { return !w.Final }) { // else notes name the workers whose counts are missing
		r.unsent(a.Lost, r.whyLost())
	}
}

const whySkipped = "because no worker owned it: there was none, or after a failover the owner was unknown"

// whyLost is the cause of lost slots if the counts of all workers are known.
func (r Report) whyLost() string {
	if slices.ContainsFunc(r.Workers, func(w WorkerReport) bool { return w.State == "replaced" }) {
		return "because another process took the id of a worker: give each worker an id of its own"
	}
	return "because leases had ended: Redis did not answer for longer than they last, or a worker stood still or was removed"
}

// unsent notes that n of what was asked for were not sent, and why, if n is above noteThreshold.
func (r *Report) unsent(n int64, why string) {
	if r.worth(n) && !r.Running {
		r.Notes = append(r.Notes, fmt.Sprintf("%s %% of what was asked for was not sent, %s", units.Percent(units.Ratio(float64(n), float64(r.Asked))), why))
	}
}

// worth reports whether n slots are enough for a note.
func (r *Report) worth(n int64) bool { return float64(n) > noteThreshold*float64(r.Asked) }

// noteThreshold is the share of slots dropped or skipped above which the report gets a note: readers who see "complete"
// stop there.
const noteThreshold = 0.01
