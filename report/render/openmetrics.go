package render

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// OpenMetrics writes the numbers in the text format of OpenMetrics 1.0, for Prometheus, the textfile collector of its
// node exporter, and other readers. It uses only gauges and summaries, so readers of Prometheus' older text format
// accept it too.
func OpenMetrics(w io.Writer, r report.Report) error {
	m := metrics{run: r.Run}
	m.about(r)
	m.counts(r)
	m.times(r)
	m.streams(r)
	m.connections(r.Connections)
	m.steps(r)
	m.queries(r)
	m.workers(r)
	m.WriteString("# EOF\n")
	return write(w, "OpenMetrics", m.Bytes())
}

// metrics collects the text.
type metrics struct {
	bytes.Buffer
	run string // a label of every sample
}

// family begins a metric. The unit ends its name; "" = none.
func (m *metrics) family(name, kind, unit, help string) {
	fmt.Fprintf(m, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	if unit != "" {
		fmt.Fprintf(m, "# UNIT %s %s\n", name, unit)
	}
}

// sample writes one value. labels alternates names and values.
func (m *metrics) sample(name string, value float64, labels ...string) {
	fmt.Fprintf(m, "%s{run=%s", name, label(m.run))
	for i := 0; i+1 < len(labels); i += 2 {
		fmt.Fprintf(m, ",%s=%s", labels[i], label(labels[i+1]))
	}
	fmt.Fprintf(m, "} %s\n", strconv.FormatFloat(value, 'g', -1, 64))
}

// gauge writes a metric with one value.
func (m *metrics) gauge(name, unit, help string, value float64) {
	m.family(name, "gauge", unit, help)
	m.sample(name, value)
}

// summary writes the quantiles of a distribution of n values.
func (m *metrics) summary(name string, d record.Distribution, n int64, labels ...string) {
	m.quantiles(name, d, labels...)
	m.sample(name+"_count", float64(n), labels...)
}

// quantiles writes those of a distribution.
func (m *metrics) quantiles(name string, d record.Distribution, labels ...string) {
	for _, p := range d.Quantiles() {
		m.sample(name, float64(p.NS)/1e9, append(labels, "quantile", strconv.FormatFloat(p.Q, 'g', -1, 64))...)
	}
}

// label escapes the value of a label.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable.Line(strings.ToValidUTF8(s, "\uFFFD"))) + `"`
}

// truth returns 1 or 0.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// about writes what the run is, and the judgement.
func (m *metrics) about(r report.Report) {
	m.family("loadctl_run", "gauge", "", "What the labels say of the run; always 1.")
	m.sample("loadctl_run", 1, "state", r.State(), "method", r.Described.Method, "url", r.Described.URL,
		"created_by", r.Described.CreatedBy, "reported_by", r.Described.ReportedBy, "redis", r.Described.Redis)
	m.gauge("loadctl_hosts", "", "Machines with workers.", float64(r.Described.Hosts))
	m.judged(r)
	if !r.StartedAt.IsZero() {
		m.gauge("loadctl_started_seconds", "seconds", "When the schedule of the run began, Unix time.", float64(r.StartedAt.UnixMicro())/1e6)
	}
	m.gauge("loadctl_length_seconds", "seconds", "From the start to the end of the run, or to now.", r.DurationS)
	m.gauge("loadctl_running", "", "Whether the run goes on.", truth(r.Running))
	m.gauge("loadctl_complete", "", "Whether the report holds all that the workers did.", truth(r.Complete))
}

// judged writes the checks, and what thresholds have measured. Of thresholds with the same name, which an archive may
// contain, it writes the first: no two samples may have the same labels.
func (m *metrics) judged(r report.Report) {
	m.family("loadctl_check", "gauge", "", "What was judged, with its result: passed, failed or undecided; always 1.")
	written := map[string]bool{}
	for _, c := range r.Checks() {
		if name := label(c.Name); !written[name] {
			written[name] = true
			m.sample("loadctl_check", 1, "check", c.Name, "result", c.Result)
		}
	}
	if len(r.Thresholds) == 0 {
		return
	}
	m.family("loadctl_threshold", "gauge", "", "What a threshold has measured, in its unit; NaN = nothing.")
	written = map[string]bool{}
	for i, c := range r.ThresholdChecks() {
		if name := label(c.Name); !written[name] {
			written[name] = true
			value, unit, bound := measuredOf(r.Thresholds[i])
			m.sample("loadctl_threshold", value, "threshold", c.Name, "result", c.Result, "unit", unit, "bound", bound)
		}
	}
}

// measuredOf returns the value, its unit and its bound as OpenMetrics has them: times are in seconds.
func measuredOf(t threshold.Result) (value float64, unit, bound string) {
	value, unit, bound = math.NaN(), string(t.Unit), "exact"
	if t.Value != nil {
		value = *t.Value
	}
	if t.Bound {
		bound = "lower"
	}
	if t.Unit == threshold.TimeKind {
		return value / 1e9, "seconds", bound
	}
	return value, unit, bound
}

// counts writes the rates, the audit and the answers.
func (m *metrics) counts(r report.Report) {
	m.gauge("loadctl_target_rate", "", "Requests per second asked for last, of the whole cluster.", r.TargetRate)
	m.gauge("loadctl_sent_rate", "", "Requests sent per second.", r.Rate)
	m.gauge("loadctl_completed_rate", "", "Requests completed per second.", r.Throughput)
	m.gauge("loadctl_success_ratio", "ratio", "Completed of all that ended.", r.Success)
	m.family("loadctl_audit", "gauge", "", "The terms of the audit: slots or requests.")
	a := r.Audit
	for _, t := range append(a.IssuedTerms(), report.Term{Name: "issued", N: a.Issued}, report.Term{Name: "asked", N: a.Asked}, report.Term{Name: "overrun", N: a.Overrun},
		report.Term{Name: "ungranted", N: a.Ungranted}, report.Term{Name: "completed", N: a.Completed}, report.Term{Name: "failed", N: a.Failed}, report.Term{Name: "in_flight", N: a.InFlight}) {
		m.sample("loadctl_audit", float64(t.N), "term", t.Name)
	}
	if a.Followed > 0 {
		m.sample("loadctl_audit", float64(a.Followed), "term", "followed")
	}
	for _, f := range []struct {
		name, label, help string
		counts            map[string]int64
	}{
		{"loadctl_responses", "status", "Answers by status.", r.StatusCodes},
		{"loadctl_errors", "class", "Failed requests by class.", r.Errors},
		{"loadctl_transferred_bytes", "direction", "Bytes of HTTP messages.", map[string]int64{"in": r.BytesIn, "out": r.BytesOut}},
	} {
		_, unit, _ := strings.Cut(f.name, "transferred_")
		m.family(f.name, "gauge", unit, f.help)
		for _, name := range slices.Sorted(maps.Keys(f.counts)) {
			m.sample(f.name, float64(f.counts[name]), f.label, name)
		}
	}
	if r.MessagesIn > 0 {
		m.gauge("loadctl_received_messages", "", "Messages received, over protocols that have them.", float64(r.MessagesIn))
	}
	m.gauge("loadctl_out_of_range", "", "Times above 1 h, which are in no distribution.", float64(r.OutOfRange))
}

// times writes the distributions: a summary for each, and the minimum and mean. If no request ended there are none.
func (m *metrics) times(r report.Report) {
	if !r.HasTimes() {
		return
	}
	ended := r.Audit.Completed + r.Audit.Failed
	m.distribution("loadctl_latency", "From when a request was due to its end.", r.Latency, ended)
	m.distribution("loadctl_service_time", "From when a request was sent to its end.", r.ServiceTime, ended)
	if r.FirstBytes > 0 {
		m.distribution("loadctl_first_byte", "From when a request was sent to the first byte of its answer.", r.FirstByte, r.FirstBytes)
	}
	m.distribution("loadctl_lag", "From when a request was due to when it was sent.", r.Lag, ended)
	if r.LowerBoundsAbove != nil {
		m.gauge("loadctl_lower_bounds_above_ratio", "ratio", "Quantiles of latency and lag above this one are lower bounds.", *r.LowerBoundsAbove)
	}
}

// distribution writes one of n values.
func (m *metrics) distribution(name, help string, d record.Distribution, n int64) {
	m.family(name+"_seconds", "summary", "seconds", help)
	m.summary(name+"_seconds", d, n)
	m.ends(name, d)
}

// ends writes the minimum and the mean.
func (m *metrics) ends(name string, d record.Distribution) {
	m.gauge(name+"_min_seconds", "seconds", "The least of it.", float64(d.Min)/1e9)
	m.gauge(name+"_mean_seconds", "seconds", "The mean of it.", float64(d.Mean)/1e9)
}

// connections writes their counts and phases, if there were any.
func (m *metrics) connections(c report.Connections) {
	if !c.Any() {
		return
	}
	m.gauge("loadctl_connections_opened", "", "Connections that the peer accepted.", float64(c.Opened))
	m.gauge("loadctl_connections_closed_by_server", "", "Connections that the server closed.", float64(c.ClosedByServer))
	m.gauge("loadctl_requests_reused", "", "Requests over a connection that had carried one before.", float64(c.Reused))
	for _, p := range phasesOf(c) {
		m.distribution("loadctl_"+p.name, p.help, p.Distribution, p.n)
	}
}

// workers writes the figures of each process.
func (m *metrics) workers(r report.Report) {
	for _, f := range []struct {
		name, help string
		of         func(report.WorkerReport) int64
	}{
		{"sent", "Requests that a process of a worker has begun.", func(w report.WorkerReport) int64 { return w.Sent }},
		{"late_dropped", "Slots that it did not send because it was too late.", func(w report.WorkerReport) int64 { return w.LateDropped }},
		{"seen_late", "Slots that it came to late by itself.", func(w report.WorkerReport) int64 { return w.SeenLate }},
		{"busy", "Slots that found no connection free.", func(w report.WorkerReport) int64 { return w.Busy }},
	} {
		name := "loadctl_worker_" + f.name
		m.family(name, "gauge", "", f.help)
		for _, w := range r.Workers {
			m.sample(name, float64(f.of(w)), "worker", w.ID, "incarnation", w.Incarnation)
		}
	}
	m.family("loadctl_limits", "gauge", "", "How many workers met a limit, by whose it was and its cause.")
	for _, l := range r.Limits() {
		m.sample("loadctl_limits", float64(l.Workers), "limit", l.Limit, "cause", l.Cause)
	}
}
