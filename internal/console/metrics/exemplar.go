package metrics

import (
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loadctl/loadctl/report/samples"
)

// An Exemplar is one request of a bucket, with the trace that shows it. The zero value is none.
type Exemplar struct {
	TraceID string
	Seconds float64 // its latency
	At      time.Time
}

// exemplars returns the newest sample of each classic bucket that has a trace; one more than Bounds for those above all
// bounds. step is "" for all steps. It returns nil if there is none.
func exemplars(all []samples.Sample, step string) []Exemplar {
	bounds := Bounds()
	var newest []Exemplar
	recorded := slices.ContainsFunc(all, func(s samples.Sample) bool { return s.Traced }) // else nobody knows which are
	for _, s := range all {
		if recorded && !s.Traced {
			continue
		}
		// Samples come from Redis: a wrong id would make Prometheus refuse the page.
		if len(s.TraceID) != 32 || strings.Trim(s.TraceID, "0123456789abcdef") != "" || step != "" && s.Step != step {
			continue
		}
		if newest == nil {
			newest = make([]Exemplar, len(bounds)+1)
		}
		e := Exemplar{s.TraceID, float64(s.Latency) / 1e9, s.Due.Add(time.Duration(s.Latency))}
		i, _ := slices.BinarySearch(bounds, e.Seconds)
		newest[i] = newest[i].later(e)
	}
	return newest
}

// later returns the later one of two.
func (e Exemplar) later(o Exemplar) Exemplar {
	if e.TraceID == "" || o.At.After(e.At) {
		return o
	}
	return e
}

// laterOf returns the later exemplar of each bucket. Prometheus refuses one that is older than the last one it took.
func laterOf(a, b []Exemplar) []Exemplar {
	if len(a) == 0 || len(b) == 0 {
		return append(slices.Clip(a), b...)
	}
	out := slices.Clone(a)
	for i := range out {
		if b[i].TraceID != "" {
			out[i] = out[i].later(b[i])
		}
	}
	return out
}

// slowestOf returns only the slowest exemplar of the newest 15 s, for a native histogram. That is one series, and Prometheus
// takes its exemplars only in the order of their times, up to the first that is older than one before.
func slowestOf(all []Exemplar) []Exemplar {
	const window = 15 // s
	slowest := -1
	for i, e := range all {
		switch {
		case e.TraceID == "":
		case slowest < 0:
			slowest = i
		case e.At.Unix()/window > all[slowest].At.Unix()/window, e.At.Unix()/window == all[slowest].At.Unix()/window && e.Seconds > all[slowest].Seconds:
			slowest = i
		}
	}
	one := make([]Exemplar, len(all))
	if slowest >= 0 {
		one[slowest] = all[slowest]
	}
	return one
}

// message returns the exemplar as the library has it; nil if there is none.
func (e Exemplar) message() *dto.Exemplar {
	if e.TraceID == "" {
		return nil
	}
	return &dto.Exemplar{
		Label: []*dto.LabelPair{{Name: new("trace_id"), Value: new(e.TraceID)}}, Value: new(e.Seconds), Timestamp: timestamppb.New(e.At),
	}
}

// exemplify adds exemplars to classic buckets, or to a histogram that has none.
func exemplify(h *dto.Histogram, all []Exemplar) {
	if len(all) > len(h.Bucket) && len(h.Bucket) > 0 && all[len(all)-1].TraceID != "" {
		h.Bucket = append(h.Bucket, &dto.Bucket{CumulativeCount: new(h.GetSampleCount()), UpperBound: new(math.Inf(1))})
	}
	for i, e := range all {
		switch m := e.message(); {
		case m == nil:
		case len(h.Bucket) > 0:
			h.Bucket[i].Exemplar = m
		default:
			h.Exemplars = append(h.Exemplars, m)
		}
	}
}
