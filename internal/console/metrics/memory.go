package metrics

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
)

// A Source reads all runs. It may return some of them together with an error: then nothing is known of the others.
// It must be safe for concurrent use.
type Source = func(context.Context) ([]results.Look, error)

// How long the counters of a run are shown after Redis has lost it, how long they are kept in case it comes back, and
// how long a run is shown after its end.
const (
	lostFor  = time.Minute
	keptFor  = time.Hour
	endedFor = 10 * time.Minute
)

// A Memory remembers the counters of runs, so that none goes back.
//
// What is known of a run may become less. A Redis that restarted empty, or a replica that took over, knows nothing of
// workers that were gone before. A worker that was taken for lost may report after all. Then a counter stays at the
// highest value so far, until the run has counted more. The same is true for each bucket of a histogram. A run of the
// same name that started at another time is another run: its counters begin at 0.
//
// If Redis does not answer, counters stay as they are and gauges are absent. If Redis has lost a run, its counters are
// shown for one more minute. If the run comes back within an hour, they continue. A run is shown until ten minutes
// after its end.
//
// The zero value is ready to use. A Memory is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	runs map[string]*remembered
}

// remembered is what a Memory knows of one run.
type remembered struct {
	started time.Time // by the clock of Redis; zero = not yet
	first   time.Time // when the source first had it, by our clock
	seen    time.Time // when the source last had it, by our clock
	over    bool      // it ended long ago
	counted map[string]Sample
	now     []Sample // gauges; nil = not known now
}

// A Sample is one value of a metric.
type Sample struct {
	Metric    Metric
	Labels    []string // first the run, then values for Metric.Labels; none for Up
	Number    float64
	Histogram *Exponential // of a histogram; it must not be changed
	Start     time.Time    // when a counter or histogram began at 0
}

// Read takes the answer of a source at a time of our clock, and returns all samples, sorted by metric and labels.
func (m *Memory) Read(looks []results.Look, err error, at time.Time) []Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs = map[string]*remembered{}
	}
	all := List()
	for _, r := range m.runs {
		r.now = nil
		if err != nil {
			r.seen = at // it may still be there
		}
	}
	for _, l := range looks {
		m.take(l, all, at)
	}
	var out []Sample
	for _, metric := range all {
		if metric.Name == Up {
			out = append(out, Sample{Metric: metric, Number: isTrue(err == nil).number})
		}
	}
	for name, r := range m.runs {
		switch gone := at.Sub(r.seen); {
		case gone > keptFor:
			delete(m.runs, name)
		case gone <= lostFor && !r.over:
			out = append(slices.AppendSeq(out, maps.Values(r.counted)), r.now...)
		}
	}
	return sorted(out, all)
}

// take notes what is known of a run now.
func (m *Memory) take(l results.Look, all []Metric, at time.Time) {
	r := m.runs[l.Run]
	if r == nil || !r.started.IsZero() && !r.started.Equal(l.StartedAt) {
		r = &remembered{first: at, counted: map[string]Sample{}}
		m.runs[l.Run] = r
	}
	r.started, r.seen = l.StartedAt, at
	if r.over = l.Settled && l.Now().Sub(l.EndedAt) > endedFor; r.over {
		return
	}
	shown := map[string]bool{}
	for _, metric := range all {
		if metric.read == nil {
			continue
		}
		metric.read(l, func(v value, labels ...string) {
			s := Sample{Metric: metric, Labels: valid(append([]string{l.Run}, labels...)), Number: v.number, Histogram: v.histogram}
			key := metric.Name + "\x00" + strings.Join(s.Labels, "\x00")
			switch {
			case shown[key]: // a monitoring system refuses the whole page if a sample is there twice
			case metric.Kind == Gauge:
				r.now = append(r.now, s)
			default:
				if s.Start = r.started; s.Start.IsZero() {
					s.Start = r.first
				}
				r.counted[key] = s.raise(r.counted[key])
			}
			shown[key] = true
		})
	}
}

// raise returns the sample with no number lower than before.
func (s Sample) raise(before Sample) Sample {
	s.Number = max(s.Number, before.Number)
	if s.Histogram != nil {
		s.Histogram = s.Histogram.raise(before.Histogram)
	}
	return s
}

// valid makes texts valid UTF-8, which monitoring systems insist on.
func valid(texts []string) []string {
	for i, text := range texts {
		texts[i] = strings.ToValidUTF8(text, "\uFFFD")
	}
	return texts
}

// sorted sorts samples by the order of their metrics, and then by labels.
func sorted(all []Sample, metrics []Metric) []Sample {
	place := map[string]int{}
	for i, m := range metrics {
		place[m.Name] = i
	}
	slices.SortFunc(all, func(a, b Sample) int {
		if d := place[a.Metric.Name] - place[b.Metric.Name]; d != 0 {
			return d
		}
		return slices.Compare(a.Labels, b.Labels)
	})
	return all
}

// unixSeconds returns a time in seconds since 1970, 0 for the zero time.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}
