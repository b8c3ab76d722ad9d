package metrics

import (
	"cmp"
	"maps"
	"slices"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// A Kind is the type of a metric.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"   // never goes back while a run lasts
	Gauge     Kind = "gauge"     // how it is now
	Histogram Kind = "histogram" // native and classic; no bucket goes back
)

// A Metric is one line of the list.
type Metric struct {
	Name   string   // as Prometheus has it
	Kind   Kind     // its type
	Unit   string   // for OTLP, in UCUM: s, By, or what is counted in braces
	Help   string   // one sentence without the full stop
	Labels []string // besides run; Up has no label at all

	read func(l results.Look, show func(v value, labels ...string))
}

// A value is a number or a histogram.
type value struct {
	number    float64
	histogram *Exponential
}

func number[N int | int64 | float64](n N) value { return value{number: float64(n)} }

func isTrue(b bool) value {
	if b {
		return number(1)
	}
	return number(0)
}

// Up is the name of the only metric that belongs to no run.
const Up = "loadctl_redis_up"

// List returns all metrics, in the order of the documentation.
func List() []Metric {
	return slices.Concat(counters(), steps(), histograms(), streams(), gauges(), judgements())
}

// counters are those of the run as a whole. In a workload of flows, asked and sent count flows, by their first
// requests.
func counters() []Metric {
	audit := func(name, unit, help string, n func(report.Report) int64) Metric {
		return Metric{Name: name, Kind: Counter, Unit: unit, Help: help,
			read: func(l results.Look, show func(value, ...string)) { show(number(n(l.Report))) }}
	}
	return []Metric{
		audit("loadctl_requests_asked_total", "{request}", "Requests that the rate in force asked for (flows, if slots begin flows)",
			func(r report.Report) int64 { return r.Audit.Asked }),
		audit("loadctl_requests_sent_total", "{request}", "Requests whose sending began (of a flow, only the first one)",
			func(r report.Report) int64 { return r.Audit.Sent }),
		audit("loadctl_requests_followed_total", "{request}", "Requests of flows after their first ones",
			func(r report.Report) int64 { return r.Audit.Followed }),
		audit("loadctl_requests_ok_total", "{request}", "Requests that were answered as expected",
			func(r report.Report) int64 { return r.Audit.Completed }),
		audit("loadctl_requests_failed_total", "{request}", "Requests that ended otherwise",
			func(r report.Report) int64 { return r.Audit.Failed }),
		{Name: "loadctl_errors_total", Kind: Counter, Unit: "{request}", Labels: []string{"class"},
			Help: "Failed requests by class; the sum over all classes is loadctl_requests_failed_total", read: readErrors},
		{Name: "loadctl_requests_dropped_total", Kind: Counter, Unit: "{request}", Labels: []string{"reason"},
			Help: "Slots that were not sent, by reason: late, recalled, skipped, lost or ungranted", read: readDropped},
		audit("loadctl_connections_opened_total", "{connection}", "Connections that the peer accepted",
			func(r report.Report) int64 { return r.Connections.Opened }),
		audit("loadctl_connections_closed_by_server_total", "{connection}", "Connections that the server closed",
			func(r report.Report) int64 { return r.Connections.ClosedByServer }),
		audit("loadctl_requests_reused_total", "{request}", "Requests over a connection that had carried one before",
			func(r report.Report) int64 { return r.Connections.Reused }),
		audit("loadctl_received_bytes_total", "By", "Bytes received from the endpoint", func(r report.Report) int64 { return r.BytesIn }),
		audit("loadctl_sent_bytes_total", "By", "Bytes sent to the endpoint", func(r report.Report) int64 { return r.BytesOut }),
	}
}

// steps are the counters of each step of a workload, under names of their own, so that no sum counts a request twice.
func steps() []Metric {
	step := func(name, help string, n func(report.StepReport) int64) Metric {
		return Metric{Name: name, Kind: Counter, Unit: "{request}", Help: help, Labels: []string{"step"},
			read: func(l results.Look, show func(value, ...string)) {
				for _, s := range l.Report.Steps {
					show(number(n(s)), s.Name)
				}
			}}
	}
	return []Metric{
		step("loadctl_step_requests_sent_total", "Requests of a step whose sending began", func(s report.StepReport) int64 { return s.Sent }),
		step("loadctl_step_requests_ok_total", "Requests of a step that were answered as expected",
			func(s report.StepReport) int64 { return s.Completed }),
		step("loadctl_step_requests_failed_total", "Requests of a step that ended otherwise", func(s report.StepReport) int64 { return s.Failed }),
		step("loadctl_step_requests_late_total", "Requests of a step that were dropped because they were too late",
			func(s report.StepReport) int64 { return s.LateDropped }),
	}
}

// histograms are those of the merged fleet.
func histograms() []Metric {
	fleet := func(name, help string, of func(*report.Histograms) *record.Histogram) Metric {
		return Metric{Name: name, Kind: Histogram, Unit: "s", Help: help, read: func(l results.Look, show func(value, ...string)) {
			if h := l.Report.Histograms; h != nil {
				show(value{histogram: FromRecord(of(h))})
			}
		}}
	}
	return []Metric{
		{Name: "loadctl_latency_seconds", Kind: Histogram, Unit: "s", Help: "Time from when a request was due until it ended, of the whole fleet",
			read: func(l results.Look, show func(value, ...string)) {
				if h := l.Report.Histograms; h != nil {
					show(traced(h.Latency, l, ""))
				}
			}},
		fleet("loadctl_service_time_seconds", "Time from when a request was sent until it ended, of the whole fleet",
			func(h *report.Histograms) *record.Histogram { return h.Service }),
		fleet("loadctl_lag_seconds", "Time from when a request was due until it was sent, of the whole fleet",
			func(h *report.Histograms) *record.Histogram { return h.Lag }),
		fleet("loadctl_first_byte_seconds", "Time from when a request was sent until the first byte of its answer, of the whole fleet",
			func(h *report.Histograms) *record.Histogram { return h.Phases.FirstByte.Histogram() }),
		fleet("loadctl_dns_seconds", "Time of lookups of the host's name, of the whole fleet",
			func(h *report.Histograms) *record.Histogram { return h.Phases.DNS.Histogram() }),
		fleet("loadctl_connect_seconds", "Time until the peer accepted a connection, of the whole fleet; with HTTP/3 the whole handshake of QUIC",
			func(h *report.Histograms) *record.Histogram { return h.Phases.Connect.Histogram() }),
		fleet("loadctl_tls_seconds", "Time of handshakes of TLS, of the whole fleet",
			func(h *report.Histograms) *record.Histogram { return h.Phases.TLS.Histogram() }),
		{Name: "loadctl_step_latency_seconds", Kind: Histogram, Unit: "s", Labels: []string{"step"},
			Help: "Time from when a request of a step was due until it ended, of the whole fleet",
			read: func(l results.Look, show func(value, ...string)) {
				if h := l.Report.Histograms; h != nil {
					for _, name := range slices.Sorted(maps.Keys(h.Steps)) {
						show(traced(h.Steps[name], l, name), name)
					}
				}
			}},
		{Name: "loadctl_step_first_byte_seconds", Kind: Histogram, Unit: "s", Labels: []string{"step"},
			Help: "Time from when a request of a step was sent until the first byte of its answer, of the whole fleet",
			read: func(l results.Look, show func(value, ...string)) {
				if h := l.Report.Histograms; h != nil {
					for _, name := range slices.Sorted(maps.Keys(h.Phases.Steps)) {
						show(value{histogram: FromRecord(h.Phases.Steps[name].Histogram())}, name)
					}
				}
			}},
	}
}

// streams are the histograms of answers in pieces. A run without such answers has none.
func streams() []Metric {
	fleet := func(name, help string, of func(record.Streams) *record.Histogram) Metric {
		return Metric{Name: name, Kind: Histogram, Unit: "s", Help: help, read: func(l results.Look, show func(value, ...string)) {
			if h := l.Report.Histograms; h != nil && !h.Streams.IsZero() {
				show(value{histogram: FromRecord(of(h.Streams))})
			}
		}}
	}
	return []Metric{
		fleet("loadctl_first_event_seconds", "Time from when a request was due until the first event of its answer, of the whole fleet",
			func(s record.Streams) *record.Histogram { return s.FirstEvent }),
		fleet("loadctl_event_gap_seconds", "Time between consecutive events of an answer, of the whole fleet",
			func(s record.Streams) *record.Histogram { return s.Gap }),
	}
}

// traced returns a histogram of latencies with exemplars of a step; "" = of all.
func traced(h *record.Histogram, l results.Look, step string) value {
	e := FromRecord(h)
	e.Exemplars = exemplars(l.Report.Samples, step)
	return value{histogram: e}
}

// gauges show how a run is now.
func gauges() []Metric {
	one := func(name, unit, help string, n func(results.Look) float64) Metric {
		return Metric{Name: name, Kind: Gauge, Unit: unit, Help: help,
			read: func(l results.Look, show func(value, ...string)) { show(number(n(l))) }}
	}
	return []Metric{
		{Name: Up, Kind: Gauge, Unit: "{state}", Help: "1 if Redis answered all questions about runs, 0 if not: then counters stand still and gauges are absent"},
		one("loadctl_rate_asked", "{request/s}", "Requests per second that are asked for now, of the whole fleet (flows, if slots begin flows)",
			func(l results.Look) float64 { return l.Rate }),
		one("loadctl_plan_factor", "{share}", "Part of its plan's rates that the run sends, 0 to 1: less than 1 after a step of a guard, or a cut of a budget",
			func(l results.Look) float64 { return cmp.Or(l.Factor, 1) }),
		one("loadctl_requests_in_flight", "{request}", "Requests sent that have not ended, by workers that are present",
			func(l results.Look) float64 { return float64(l.InFlight) }),
		one("loadctl_run_start_time_seconds", "s", "When the run started, in seconds since 1970 by the clock of Redis; 0 = not yet",
			func(l results.Look) float64 { return unixSeconds(l.StartedAt) }),
		one("loadctl_run_duration_seconds", "s", "Time from the start of the run until now, or until its end",
			func(l results.Look) float64 { return l.Report.DurationS }),
		{Name: "loadctl_run_phase", Kind: Gauge, Unit: "{state}", Labels: []string{"phase"}, Help: "1 for the phase of the run, 0 for all others", read: readPhase},
		{Name: "loadctl_workers", Kind: Gauge, Unit: "{worker}", Labels: []string{"state"}, Help: "Processes of workers by state", read: readWorkers},
		{Name: "loadctl_limited_workers", Kind: Gauge, Unit: "{worker}", Labels: []string{"limit", "cause"},
			Help: "Workers that met a limit, by whose limit it was (generator, machine or endpoint) and by cause", read: readLimits},
		{Name: "loadctl_audit_slots", Kind: Gauge, Unit: "{request}", Labels: []string{"term"},
			Help: "The terms of the audit as the report has them now; unlike counters they may go back", read: readAudit},
	}
}

// judgements are the results of thresholds.
func judgements() []Metric {
	return []Metric{
		{Name: "loadctl_threshold_result", Kind: Gauge, Unit: "{state}", Labels: []string{"threshold", "result"},
			Help: "1 for the result of the threshold so far, 0 for all others", read: readResults},
		{Name: "loadctl_threshold_value", Kind: Gauge, Unit: "{value}", Labels: []string{"threshold", "unit"},
			Help: "The value of the threshold so far, in its unit; absent = nothing was measured", read: readValues},
	}
}

func readErrors(l results.Look, show func(value, ...string)) {
	for _, class := range slices.Sorted(maps.Keys(l.Report.Errors)) {
		show(number(l.Report.Errors[class]), class)
	}
}

func readDropped(l results.Look, show func(value, ...string)) {
	a := l.Report.Audit
	show(number(a.LateDropped), "late")
	show(number(a.Recalled), "recalled")
	show(number(a.Skipped), "skipped")
	show(number(a.Lost), "lost")
	show(number(a.Ungranted), "ungranted")
}

func readPhase(l results.Look, show func(value, ...string)) {
	for _, phase := range []string{"waiting", "running", "paused", "stopped", "ended"} {
		show(isTrue(l.Phase == phase), phase)
	}
}

// readWorkers takes the states from the report: there a silent worker of a run that is over counts as lost.
func readWorkers(l results.Look, show func(value, ...string)) {
	in := map[string]int{}
	for _, w := range l.Report.Workers {
		in[w.State]++
	}
	for _, state := range []string{"active", "silent", "left", "stopped", "lost", "removed", "replaced"} {
		show(number(in[state]), state)
	}
}

func readLimits(l results.Look, show func(value, ...string)) {
	for _, limit := range l.Report.Limits() {
		show(number(limit.Workers), limit.Limit, limit.Cause)
	}
}

func readAudit(l results.Look, show func(value, ...string)) {
	a := l.Report.Audit
	for _, term := range []struct {
		name string
		n    int64
	}{
		{"issued", a.Issued}, {"asked", a.Asked}, {"sent", a.Sent}, {"late_dropped", a.LateDropped}, {"skipped", a.Skipped},
		{"recalled", a.Recalled}, {"lost", a.Lost}, {"held", a.Held}, {"overrun", a.Overrun}, {"ungranted", a.Ungranted},
	} {
		show(number(term.n), term.name)
	}
}

func readResults(l results.Look, show func(value, ...string)) {
	for _, t := range l.Report.Thresholds {
		for _, result := range []string{threshold.Passed, threshold.Failed, threshold.Undecided} {
			show(isTrue(t.Result == result), t.Threshold, result)
		}
	}
}

func readValues(l results.Look, show func(value, ...string)) {
	for _, t := range l.Report.Thresholds {
		switch {
		case t.Value == nil:
		case t.Unit == threshold.TimeKind:
			show(number(*t.Value/1e9), t.Threshold, "seconds")
		default:
			show(number(*t.Value), t.Threshold, string(t.Unit))
		}
	}
}
