package metrics

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// A Page serves the metrics of all runs to Prometheus. It is safe for concurrent use, and must not be copied.
//
// Each histogram has classic buckets and native ones. A client gets the native ones if it accepts the protobuf format, as
// a Prometheus with native histograms does, and then that one leaves out the classic ones. In the text formats there are
// only the classic ones. Exemplars are in protobuf, and in the text of OpenMetrics for who accepts that. It answers with
// 200 also if the source fails: then Up is 0.
type Page struct {
	Source     Source
	NativeOnly bool // leaves out the classic buckets: in the text format a histogram then has only its sum and count

	memory Memory
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	looks, err := p.Source(r.Context())
	page := prometheus.NewPedanticRegistry()
	page.MustRegister(collector{p.memory.Read(looks, err, time.Now()), p.NativeOnly, strings.Contains(r.Header.Get("Accept"), protobuf)})
	promhttp.HandlerFor(page, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
}

// protobuf is the format that a Prometheus with native histograms asks for.
const protobuf = "application/vnd.google.protobuf"

// A collector is a prometheus.Collector of samples that are known already.
type collector struct {
	all        []Sample
	nativeOnly bool
	native     bool // who asks takes native histograms
}

// Describe implements prometheus.Collector.
func (s collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range List() {
		to <- m.desc()
	}
}

// Collect implements prometheus.Collector.
func (s collector) Collect(to chan<- prometheus.Metric) {
	for _, one := range s.all {
		m := one.metric()
		if h := one.Histogram; h != nil {
			b := both{m, h.AtMost, h.Exemplars}
			if s.nativeOnly {
				b.atMost = nil
			}
			if s.native {
				b.exemplars = slowestOf(b.exemplars)
			}
			m = b
		}
		to <- m
	}
}

// both is a native histogram with classic buckets and exemplars. The library makes such a one only of values that it observes
// itself.
type both struct {
	prometheus.Metric
	atMost    []int64 // nil = without classic buckets
	exemplars []Exemplar
}

// Write implements prometheus.Metric.
func (b both) Write(to *dto.Metric) error {
	if err := b.Metric.Write(to); err != nil {
		return err
	}
	bounds := Bounds()
	for i, n := range b.atMost {
		to.Histogram.Bucket = append(to.Histogram.Bucket, &dto.Bucket{CumulativeCount: new(uint64(n)), UpperBound: new(bounds[i])})
	}
	exemplify(to.Histogram, b.exemplars)
	return nil
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
