package metrics

import (
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

// encode returns samples as the body of an OTLP export. Each run is a resource of its own, with these attributes and
// the id service.instance.id. Two programs that push the same run so push the same series, and nothing counts twice.
//
// MetricsData has the same bytes as the request of the service. The package of the request would link gRPC.
func encode(all []Sample, attributes map[string]string, version string, at time.Time) ([]byte, error) {
	var data otlp.MetricsData
	for run, samples := range byRun(all) {
		scope := &otlp.ScopeMetrics{Scope: &common.InstrumentationScope{Name: "loadctl", Version: version}}
		for _, part := range slices.Collect(byMetric(samples)) {
			scope.Metrics = append(scope.Metrics, export(part, at))
		}
		own := map[string]string{"service.name": "loadctl", "service.version": version, "service.instance.id": run}
		maps.Copy(own, attributes)
		data.ResourceMetrics = append(data.ResourceMetrics, &otlp.ResourceMetrics{
			Resource: &resource.Resource{Attributes: pairs(own)}, ScopeMetrics: []*otlp.ScopeMetrics{scope},
		})
	}
	return proto.Marshal(&data)
}

// byRun yields the samples of each run, in their order. A push has no samples without a run.
func byRun(all []Sample) func(yield func(string, []Sample) bool) {
	runs := map[string][]Sample{}
	for _, s := range all {
		if len(s.Labels) > 0 {
			runs[s.Labels[0]] = append(runs[s.Labels[0]], s)
		}
	}
	return func(yield func(string, []Sample) bool) {
		for _, run := range slices.Sorted(maps.Keys(runs)) {
			if !yield(run, runs[run]) {
				return
			}
		}
	}
}

// byMetric yields the samples of each metric.
func byMetric(all []Sample) func(yield func([]Sample) bool) {
	return func(yield func([]Sample) bool) {
		for len(all) > 0 {
			n := slices.IndexFunc(all, func(s Sample) bool { return s.Metric.Name != all[0].Metric.Name })
			if n < 0 {
				n = len(all)
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// otlpName returns the name without what a translation to Prometheus adds: the unit, and _total. So a metric has the
// same name in Prometheus, however it gets there.
func (m Metric) otlpName() string {
	name := strings.TrimSuffix(m.Name, "_total")
	return strings.TrimSuffix(strings.TrimSuffix(name, "_seconds"), "_bytes")
}

// export returns the samples of one metric as OTLP has them.
func export(all []Sample, at time.Time) *otlp.Metric {
	m := all[0].Metric
	out := &otlp.Metric{Name: m.otlpName(), Unit: m.Unit, Description: m.Help + "."}
	switch m.Kind {
	case Histogram:
		h := &otlp.ExponentialHistogram{AggregationTemporality: otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
		for _, s := range all {
			h.DataPoints = append(h.DataPoints, s.exponential(at))
		}
		out.Data = &otlp.Metric_ExponentialHistogram{ExponentialHistogram: h}
	case Counter:
		sum := &otlp.Sum{IsMonotonic: true, AggregationTemporality: otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
		for _, s := range all {
			p := s.point(at)
			p.StartTimeUnixNano = uint64(s.Start.UnixNano())
			p.Value = &otlp.NumberDataPoint_AsInt{AsInt: int64(s.Number)}
			sum.DataPoints = append(sum.DataPoints, p)
		}
		out.Data = &otlp.Metric_Sum{Sum: sum}
	default:
		gauge := &otlp.Gauge{}
		for _, s := range all {
			p := s.point(at)
			p.Value = &otlp.NumberDataPoint_AsDouble{AsDouble: s.Number}
			gauge.DataPoints = append(gauge.DataPoints, p)
		}
		out.Data = &otlp.Metric_Gauge{Gauge: gauge}
	}
	return out
}

func (s Sample) point(at time.Time) *otlp.NumberDataPoint {
	return &otlp.NumberDataPoint{Attributes: s.attributes(), TimeUnixNano: uint64(at.UnixNano())}
}

// exponential returns a histogram. Bucket i of OTLP is bucket i+1 of Prometheus.
func (s Sample) exponential(at time.Time) *otlp.ExponentialHistogramDataPoint {
	p := &otlp.ExponentialHistogramDataPoint{
		Attributes: s.attributes(), StartTimeUnixNano: uint64(s.Start.UnixNano()), TimeUnixNano: uint64(at.UnixNano()),
		Count: uint64(s.Histogram.Count()), Sum: &s.Histogram.Sum, Scale: Schema,
	}
	if used := slices.Sorted(maps.Keys(s.Histogram.Buckets)); len(used) > 0 {
		first, last := used[0], used[len(used)-1]
		p.Positive = &otlp.ExponentialHistogramDataPoint_Buckets{Offset: int32(first - 1), BucketCounts: make([]uint64, last-first+1)}
		for i, n := range s.Histogram.Buckets {
			p.Positive.BucketCounts[i-first] = uint64(n)
		}
	}
	return p
}

// attributes returns the labels of the sample.
func (s Sample) attributes() []*common.KeyValue {
	all := []*common.KeyValue{pair("run", s.Labels[0])}
	for i, name := range s.Metric.Labels {
		all = append(all, pair(name, s.Labels[i+1]))
	}
	return all
}

func pair(key, text string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}}}
}

func pairs(all map[string]string) (out []*common.KeyValue) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, pair(key, all[key]))
	}
	return out
}
