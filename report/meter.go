package report

import (
	"math"
	"sync"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
)

// A Meter measures an open loop in one process and makes its report:
//
//	meter := report.NewMeter(profile)
//	for _, due := range profile.Pace(ctx) {
//		meter.Go(due, func() record.Finished { … })
//	}
//	err := render.Text(os.Stdout, meter.Report())
//
// Each request runs in its own goroutine, so none waits for another one's answer. Latency counts from when a request
// was due. A Meter is safe for concurrent use. It takes about 2 MB.
type Meter struct {
	profile pacer.Profile
	running sync.WaitGroup

	mu       sync.Mutex
	start    time.Time        // due time of the first request; zero = none yet
	second   int64            // the interval is this second since start
	recorder *record.Recorder // of the interval
	total    *record.Snapshot // of the intervals before
	series   record.Series
}

// NewMeter returns a Meter for requests that are sent by a profile.
func NewMeter(p pacer.Profile) *Meter {
	return &Meter{profile: p, recorder: record.NewRecorder(), total: record.NewSnapshot("local", "1")}
}

// Go makes a request in a new goroutine and records it. due is when it was to be sent; the first call's due is the
// start of the run.
//
// The Meter fills in Due, Sent and Done of the Finished that request returns: Due is due, Sent is when request was called,
// and Done is when it returned. What request sets there is ignored. request fills in Status, Class, BytesIn and
// BytesOut.
func (m *Meter) Go(due time.Time, request func() record.Finished) {
	m.mu.Lock()
	if m.start.IsZero() {
		m.start = due
	}
	m.at(time.Now()).Sent()
	m.mu.Unlock()
	m.running.Go(func() {
		sent := time.Now()
		s := request()
		done := time.Now()
		s.Due, s.Sent, s.Done = 0, int64(sent.Sub(due)), int64(done.Sub(due))
		m.mu.Lock()
		defer m.mu.Unlock()
		m.at(done).Done(s)
	})
}

// Report waits until every request has ended, and returns the report.
func (m *Meter) Report() Report {
	m.running.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.start.IsZero() {
		m.start = now
	}
	m.flush()
	m.total.Final = true
	sent, took := m.total.Counts.Sent, now.Sub(m.start)
	if length := m.profile.Length(); length > 0 {
		took = min(took, length)
	}
	due := func(us int64) int64 { // slots due before this time; the error of the sum is 10⁻⁶ of a slot
		asked := m.profile.Integral(time.Duration(us) * time.Microsecond)
		return min(sent, int64(math.Ceil(asked-1e-6)))
	}
	return Build(Input{
		Run: "local", StartedAt: m.start, Duration: took, Planned: m.profile.Length(), TargetRate: m.rate(took),
		Budget:  Budget{Issued: sent},
		Workers: []WorkerInput{{ID: "local", State: "left", LastSeen: now, Gone: true, Leased: sent, Total: m.total, Series: m.series.Points()}},
		AskedBy: func(from, to int64) int64 { return due(to) - due(from) },
	})
}

// rate returns the rate asked for in the last second, in requests per second.
func (m *Meter) rate(took time.Duration) float64 {
	last := min(took, time.Second)
	if last <= 0 {
		return 0
	}
	return (m.profile.Integral(took) - m.profile.Integral(took-last)) / last.Seconds()
}

// at returns the recorder of the current interval.
func (m *Meter) at(now time.Time) *record.Recorder {
	if second := int64(now.Sub(m.start) / time.Second); second > m.second {
		m.flush()
		m.second = second
	}
	return m.recorder
}

// flush ends an interval.
func (m *Meter) flush() {
	interval := record.NewSnapshot("local", "1")
	interval.Record(m.recorder)
	m.recorder.Reset()
	m.series.Add(m.second*1_000_000+500_000, interval)
	m.total.Merge(interval)
}
