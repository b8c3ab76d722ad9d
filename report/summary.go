package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Input is what a Report is built from. Nothing in it is changed or kept.
type Input struct {
	Run        string
	StartedAt  time.Time     // the run's first t0
	Duration   time.Duration // from StartedAt to the end, or to now
	Planned    time.Duration // how long it was to be; 0 = not known, or without an end
	Running    bool          // the run goes on
	TargetRate float64       // requests per second last asked for, of the whole cluster
	ClosedLoop bool          // there is no rate: see Report
	Limiter    string        // see Report
	Described  Description   // what is known of it; Build counts the hosts
	Events     []Event       // all that Redis knows, oldest first; Build adds the outages that workers saw
	Budget     Budget
	Workers    []WorkerInput // one for each incarnation
	Thresholds []Threshold   // what the run has to meet
	Warmup     time.Duration // what happened in it is left out by the thresholds

	// Missing says, a sentence each, what is not known of the run. It makes the report incomplete.
	Missing []string

	// Series are points of the run over time that are in no worker's Series, in any order and of any width.
	Series []Point

	// Times are histograms of what workers did that are in no worker's Total; its counts do not count. Nil = none.
	Times *Snapshot

	// AskedBy returns how many slots are due in [fromUS, toUS), in µs since
	// StartedAt. It fills the series; nil leaves asked at 0 there.
	AskedBy func(fromUS, toUS int64) int64
}

// WorkerInput is what is known of one incarnation of a worker.
type WorkerInput struct {
	ID, State   string    // State is any word; it passes through
	Incarnation string    // one process of the worker
	LastSeen    time.Time // last contact with the server; zero = never
	Leased      int64     // slots leased to this incarnation, by the server's count
	Beyond      int64     // of these, at or after the end of their generation
	Gone        bool      // no longer running: what it did not account for is lost
	Gaps        int64     // snapshots missing between those that were received
	Total       *Snapshot // its last cumulative snapshot; nil = none was received
	Series      []Point   // its points over time
}

// Build merges what the workers recorded, audits it and sums it up.
func Build(in Input) Report {
	merged, series := in.merge()
	audit := newAudit(in.Budget, in.Workers)
	if in.ClosedLoop {
		audit = audit.ofLoop()
	}
	kept := audit.kept()
	r := Report{
		Run:         in.Run,
		StartedAt:   in.StartedAt.UTC(),
		Running:     in.Running,
		DurationS:   in.Duration.Seconds(),
		Asked:       audit.Asked,
		Sent:        audit.Sent,
		TargetRate:  in.TargetRate,
		ClosedLoop:  in.ClosedLoop,
		Limiter:     in.Limiter,
		Described:   in.Described.described(in.Workers),
		Rate:        ratio(float64(audit.Sent), in.Duration.Seconds()),
		Throughput:  ratio(float64(audit.Completed), in.Duration.Seconds()),
		Success:     ratio(float64(audit.Completed), float64(audit.Completed+audit.Failed)),
		Latency:     merged.Latency.distribution(kept),
		ServiceTime: merged.Service.distribution(1),
		Lag:         merged.Lag.distribution(kept),
		StatusCodes: make(map[string]int64),
		Errors:      make(map[string]int64),
		BytesIn:     merged.Counts.BytesIn,
		BytesOut:    merged.Counts.BytesOut,
		Audit:       audit,
		Workers:     make([]WorkerReport, 0, len(in.Workers)),
		Notes:       []string{},
		OutOfRange:  merged.Counts.OutOfRange,
		Histograms: &Histograms{
			Latency: merged.Latency, Service: merged.Service, Lag: merged.Lag,
			Errors: make(map[string]*Histogram),
		},
	}
	for code, n := range merged.Status {
		r.StatusCodes[statusName(code)] += n
	}
	for class, e := range merged.Errors {
		r.Errors[class] = e.Count
		r.Histograms.Errors[class] = e.Latency
	}
	for _, w := range in.Workers {
		r.addWorker(w)
	}
	r.addSeries(in, series)
	if in.ClosedLoop {
		r.Lag = Distribution{} // nothing was due before it was sent
		r.Notes = append(r.Notes, r.closedNotes(in.Workers)...)
	}
	r.setComplete(in)
	r.takeEvents(in.allEvents())
	r.noteStop(in.Planned)
	r.judgeThresholds(in)
	return r
}

// closedLoop is what to know about the latencies of a closed loop; closedNotes, in closed.go, has the rest.
const closedLoop = "closed loop: each connection sent its next request when the last one was answered; latencies leave out what users would " +
	"have waited (coordinated omission). For latencies at a rate use --qps NUMBER"

// merge adds up the snapshots and collects the series.
func (in Input) merge() (*Snapshot, [][]Point) {
	merged := NewSnapshot("", "")
	series := [][]Point{in.Series}
	for _, w := range in.Workers {
		if w.Total != nil {
			merged.Merge(w.Total)
		}
		series = append(series, w.Series)
	}
	merged.mergeTimes(in.Times)
	return merged, series
}

// ratio is a/b, and 0 where there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// statusName is the key of a status code in a Report.
func statusName(code int) string {
	if code == OtherStatus {
		return "other"
	}
	return strconv.Itoa(code)
}

// distribution sums up h, which has the share kept of all values; the others were larger, but nobody knows how large. A quantile q ≤ kept of
// all is the quantile q/kept of those in h; one above kept is at least their maximum, which it is given as.
func (h *Histogram) distribution(kept float64) Distribution {
	quantile := func(q float64) int64 { return h.Quantile(min(1, q/kept)) }
	return Distribution{
		Min:   h.Min(),
		Mean:  int64(math.Round(h.Mean())),
		P50:   quantile(0.5),
		P90:   quantile(0.9),
		P95:   quantile(0.95),
		P99:   quantile(0.99),
		P999:  quantile(0.999),
		P9999: quantile(0.9999),
		Max:   h.Max(),
	}
}

// addWorker adds the line of one incarnation.
func (r *Report) addWorker(w WorkerInput) {
	line := WorkerReport{ID: w.ID, Incarnation: w.Incarnation, State: w.State, Final: w.final(), LastSeen: w.LastSeen.UTC(), Gaps: w.Gaps}
	line.Verdicts = verdicts(within(w.Total, r.length()), r.ClosedLoop)
	line.Self.Load = map[string]LoadReport{}
	if w.Total != nil {
		n, self := w.Total.Counts, &w.Total.Self
		line.Sent, line.LateDropped, line.SeenLate = n.Sent, n.LateDropped, n.SeenLate
		line.Busy, line.Opening, line.NoRoom, line.MostInFlight = n.Busy, n.Opening, n.NoRoom, w.Total.MostInFlight
		line.Self = SelfReport{MeasuredS: float64(self.Wall) / 1e9, Cores: self.Cores, GCCycles: self.Collections, Load: self.loadsKnown()}
	}
	r.Workers = append(r.Workers, line)
}

// addSeries adds the points over time. The workers' points exist only where
// something happened, but seconds in which nothing was sent matter most, so holes
// are filled, and the width is chosen so that the whole duration fits.
func (r *Report) addSeries(in Input, series [][]Point) {
	width := int64(1)
	seconds := int64(math.Ceil(max(0, in.Duration.Seconds())))
	for seconds > maxPoints*width {
		width *= 2
	}
	points := mergeSeries(width, series)
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
	r.fillSeries()
}

// fillSeries is what the series tells of the points: all but what was asked for.
func (r *Report) fillSeries() {
	for _, p := range r.Histograms.Series {
		old, h := r.Series[p.Index], p.Latency
		r.Series[p.Index] = SeriesReport{
			T: old.T, Asked: old.Asked, Sent: p.Sent, OK: p.Completed, Failed: p.Failed, Errors: p.errors(),
			P50NS: h.Quantile(0.5), P90NS: h.Quantile(0.9), P99NS: h.Quantile(0.99), P999NS: h.Quantile(0.999),
		}
	}
}

// shortfall notes what was not sent, and why.
func (r *Report) shortfall() {
	a := r.Audit
	r.unsent(a.Ungranted, "because no worker was granted it in time: Redis was away or had lost "+
		"its state, workers were gone, or the burst or window is too small for calls 5 ms apart: then give a larger --burst or --window")
	r.unsent(a.Skipped, "because it was no worker's: there was none, or after a failover nobody could say whose it was")
	r.unsent(max(0, a.LateDropped-a.Overrun), "because it would have been late: the workers or their connections did not keep up, "+
		"or Redis did not answer for longer than promises last")
	if !slices.ContainsFunc(r.Workers, func(w WorkerReport) bool { return !w.Final }) { // else those whose counts are missing are named
		r.unsent(a.Lost, "because the promises of its workers had ended: Redis did not answer for longer than they last")
	}
}

// unsent notes that n of what was asked for were not sent, and why, where that is much.
func (r *Report) unsent(n int64, why string) {
	if r.worth(n) && !r.Running {
		r.Notes = append(r.Notes, fmt.Sprintf("%s %% of what was asked for was not sent, %s", percent(ratio(float64(n), float64(r.Asked))), why))
	}
}

// worth tells whether n slots are so many that it is said what became of them.
func (r *Report) worth(n int64) bool { return float64(n) > worthANote*float64(r.Asked) }

// worthANote is the share of slots that may be dropped or skipped before the report says so in words: who sees "complete" reads no further.
const worthANote = 0.01
