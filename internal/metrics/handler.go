package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves the metrics of all runs of a source to Prometheus. It is safe for concurrent use. It serves native
// histograms to a client that accepts the protobuf format, as a Prometheus with native histograms does. In the text
// format a histogram has only its sum and count. It answers with 200 also if the source fails: then Up is 0.
func Handler(source Source) http.Handler {
	var memory Memory
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		looks, err := source(r.Context())
		page := prometheus.NewPedanticRegistry()
		page.MustRegister(samples(memory.Read(looks, err, time.Now())))
		promhttp.HandlerFor(page, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// samples is a prometheus.Collector of samples that are known already.
type samples []Sample

// Describe implements prometheus.Collector.
func (s samples) Describe(to chan<- *prometheus.Desc) {
	for _, m := range List() {
		to <- m.desc()
	}
}

// Collect implements prometheus.Collector.
func (s samples) Collect(to chan<- prometheus.Metric) {
	for _, one := range s {
		to <- one.metric()
	}
}

func (m Metric) desc() *prometheus.Desc {
	labels := m.Labels
	if m.Name != Up {
		labels = append([]string{"run"}, labels...)
	}
	return prometheus.NewDesc(m.Name, m.Help+".", labels, nil)
}

// metric returns the sample as the library has it. The library reports errors when it writes the page.
func (s Sample) metric() prometheus.Metric {
	var out prometheus.Metric
	var err error
	desc := s.Metric.desc()
	switch s.Metric.Kind {
	case Histogram:
		h := s.Histogram
		out, err = prometheus.NewConstNativeHistogram(desc, uint64(h.Count()), h.Sum, h.Buckets, nil, 0, Schema,
			prometheus.DefNativeHistogramZeroThreshold, s.Start, s.Labels...)
	case Counter:
		out, err = prometheus.NewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, s.Number, s.Start, s.Labels...)
	default:
		out, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, s.Number, s.Labels...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return out
}
