package metrics

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write examples/grafana/loadctl.json and the table of docs/metrics.md")

const dashboardFile = "../../../examples/grafana/loadctl.json"

// A panel is one chart of the dashboard.
type panel struct {
	title, kind, unit string // kind is timeseries or stat
	width             int    // of 24
	queries           []query
}

type query struct{ expr, legend string }

// dashboard lists the panels. RATE in a query is the interval for rates, RUN selects the chosen runs.
func dashboard() []panel {
	rate := func(metric, legend string) query { return query{"sum(rate(" + metric + "{RUN}[RATE]))", legend} }
	by := func(label, metric string) query {
		return query{"sum by (" + label + ") (rate(" + metric + "{RUN}[RATE]))", "{{" + label + "}}"}
	}
	now := func(label, metric string) query {
		return query{"sum by (" + label + ") (" + metric + "{RUN})", "{{" + label + "}}"}
	}
	quantiles := func(metric string) (all []query) {
		for _, q := range [][2]string{{"0.5", "p50"}, {"0.9", "p90"}, {"0.99", "p99"}, {"0.999", "p99.9"}} {
			all = append(all, query{either(q[0], "", "rate("+metric, "{RUN}[RATE])"), q[1]})
		}
		return all
	}
	since := func(q string) string { return either(q, "", "loadctl_latency_seconds", "{RUN}") }
	return []panel{
		{"Requests", "timeseries", "reqps", 16, []query{
			{"sum(loadctl_rate_asked{RUN})", "asked now"}, rate("loadctl_requests_asked_total", "asked"), rate("loadctl_requests_sent_total", "sent"),
			rate("loadctl_requests_followed_total", "later ones of flows"), rate("loadctl_requests_ok_total", "ok"), rate("loadctl_requests_failed_total", "failed")}},
		{"Run", "stat", "none", 8, []query{
			{"max by (run, phase) (loadctl_run_phase{RUN}) == 1", "{{run}}: {{phase}}"}, {"min by (run) (loadctl_plan_factor{RUN})", "{{run}}: part of its plan"}, {"min(loadctl_redis_up)", "Redis answers"}}},
		{"Latency of the fleet (due to done)", "timeseries", "s", 8, quantiles("loadctl_latency_seconds")},
		{"Service time of the fleet (sent to done)", "timeseries", "s", 8, quantiles("loadctl_service_time_seconds")},
		{"First byte of the answer (from sent)", "timeseries", "s", 8, quantiles("loadctl_first_byte_seconds")},
		{"Lag of the fleet (due to sent)", "timeseries", "s", 8, quantiles("loadctl_lag_seconds")},
		{"Latency since the start", "stat", "s", 8, []query{
			{since("0.5"), "p50"}, {since("0.99"), "p99"}, {since("0.999"), "p99.9"}}},
		{"Failed, by class", "timeseries", "reqps", 8, []query{by("class", "loadctl_errors_total")}},
		{"Not sent, by reason", "timeseries", "reqps", 8, []query{by("reason", "loadctl_requests_dropped_total")}},
		{"Workers", "timeseries", "none", 8, []query{now("state", "loadctl_workers")}},
		{"In flight", "timeseries", "none", 8, []query{{"sum(loadctl_requests_in_flight{RUN})", "in flight"}}},
		{"Whose limit: workers", "timeseries", "none", 8, []query{
			{"sum by (limit, cause) (loadctl_limited_workers{RUN})", "{{limit}}: {{cause}}"}}},
		{"Thresholds", "stat", "none", 12, []query{{"max by (threshold, result) (loadctl_threshold_result{RUN}) == 1", "{{threshold}} {{result}}"}}},
		{"Values of thresholds", "timeseries", "none", 12, []query{
			{"max by (threshold, unit) (loadctl_threshold_value{RUN})", "{{threshold}} ({{unit}})"}}},
		{"Steps: sent", "timeseries", "reqps", 8, []query{by("step", "loadctl_step_requests_sent_total")}},
		{"Steps: failed and dropped late", "timeseries", "reqps", 8, []query{
			by("step", "loadctl_step_requests_failed_total"), {"sum by (step) (rate(loadctl_step_requests_late_total{RUN}[RATE]))", "{{step}} late"}}},
		{"Steps: p99 of latency", "timeseries", "s", 8, []query{
			{either("0.99", "step", "rate(loadctl_step_latency_seconds", "{RUN}[RATE])"), "{{step}}"}}},
		{"Steps: ok", "timeseries", "reqps", 8, []query{by("step", "loadctl_step_requests_ok_total")}},
		{"Steps: p99 of the first byte", "timeseries", "s", 8, []query{
			{either("0.99", "step", "rate(loadctl_step_first_byte_seconds", "{RUN}[RATE])"), "{{step}}"}}},
		{"Connections", "timeseries", "none", 8, []query{
			rate("loadctl_connections_opened_total", "opened per second"), rate("loadctl_connections_closed_by_server_total", "closed by the server"),
			rate("loadctl_requests_reused_total", "requests over a reused one")}},
		{"Connections: p99 of their phases", "timeseries", "s", 8, []query{
			{either("0.99", "", "rate(loadctl_dns_seconds", "{RUN}[RATE])"), "lookup"},
			{either("0.99", "", "rate(loadctl_connect_seconds", "{RUN}[RATE])"), "connect"},
			{either("0.99", "", "rate(loadctl_tls_seconds", "{RUN}[RATE])"), "TLS"}}},
		{"Bytes", "timeseries", "Bps", 8, []query{rate("loadctl_received_bytes_total", "received"), rate("loadctl_sent_bytes_total", "sent")}},
		{"Audit", "stat", "none", 8, []query{now("term", "loadctl_audit_slots")}},
		{"First event of the answer (from due)", "timeseries", "s", 8, quantiles("loadctl_first_event_seconds")},
		{"Between events of an answer", "timeseries", "s", 8, quantiles("loadctl_event_gap_seconds")},
		{"Length", "stat", "s", 12, []query{{"max by (run) (loadctl_run_duration_seconds{RUN})", "{{run}}"}}},
		{"Started", "stat", "dateTimeAsIso", 12, []query{{"1000 * max by (run) (loadctl_run_start_time_seconds{RUN})", "{{run}}"}}},
	}
}

// either returns the query of a quantile, by a label if there is one: of native histograms if Prometheus has them, else of
// classic buckets. Behind the name of the metric come _bucket and rest.
func either(q, by, metric, rest string) string {
	native, le := "sum", "sum by (le) "
	if by != "" {
		native, le = "sum by ("+by+") ", "sum by (le, "+by+") "
	}
	return fmt.Sprintf("histogram_quantile(%s, %s(%s%s)) or histogram_quantile(%s, %s(%s_bucket%s))", q, native, metric, rest, q, le, metric, rest)
}

// grafana returns the file that Grafana reads.
func grafana(panels []panel) []byte {
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var all []object
	x, y := 0, 0
	for id, p := range panels {
		var targets []object
		for i, q := range p.queries {
			expr := strings.NewReplacer("RUN", `run=~"$run"`, "RATE", "$__rate_interval").Replace(q.expr)
			targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "expr": expr, "legendFormat": q.legend, "instant": p.kind == "stat", "range": p.kind != "stat"})
		}
		if x+p.width > 24 {
			x, y = 0, y+8
		}
		all = append(all, object{"id": id + 1, "title": p.title, "type": p.kind, "datasource": source, "targets": targets,
			"gridPos": object{"x": x, "y": y, "w": p.width, "h": 8}, "fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []any{}},
			"options": map[string]object{"timeseries": {"legend": object{"showLegend": true}}, "stat": {"textMode": "value_and_name"}}[p.kind]})
		x += p.width
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(object{
		"title": "loadctl", "uid": "loadctl", "tags": []string{"loadctl"}, "schemaVersion": 39, "version": 1, "refresh": "5s", "timezone": "browser",
		"time": object{"from": "now-15m", "to": "now"}, "graphTooltip": 1, "panels": all,
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
			{"name": "run", "type": "query", "label": "Run", "datasource": source, "multi": true, "includeAll": true, "refresh": 2, "sort": 1,
				"definition": "label_values(loadctl_run_phase, run)", "query": object{"query": "label_values(loadctl_run_phase, run)", "refId": "runs"}},
		}},
	}); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// TestDashboard: the file is the one made here, and each metric of the list is on it.
func TestDashboard(t *testing.T) {
	made := grafana(dashboard())
	if *update {
		if err := os.WriteFile(dashboardFile, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(dashboardFile); err != nil || !bytes.Equal(text, made) {
		t.Errorf("%s is not the dashboard of the list (%v); run go test ./internal/console/metrics -run Dashboard -update", dashboardFile, err)
	}
	text := fmt.Sprint(dashboard())
	for _, m := range List() {
		if !strings.Contains(text, m.Name+"{") && !strings.Contains(text, m.Name+")") {
			t.Errorf("%s is on no panel", m.Name)
		}
	}
}
