// Package metrics shows runs to monitoring systems: a page for Prometheus, and a push by OTLP over HTTP. Both, the
// table in docs/metrics.md and the dashboard in examples/grafana come from one list of metrics.
//
//	http.Handle("/metrics", &metrics.Page{Source: source}) // a Source reads all runs
//
// Histograms are those of the merged fleet. They are native (exponential) histograms, whose buckets are 2.2 % wide. So
// Prometheus computes the percentiles of the fleet within 2.2 % of the report. For a Prometheus without native
// histograms, the page also has a few classic buckets.
//
// No counter of a run goes back: see [Memory].
package metrics
