package report

import (
	"math"
	"sync"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// A Meter measures an open loop in one process, and makes the report of it:
//
//	meter := report.NewMeter(profile)
//	for _, due := range profile.Pace(ctx) {
//		meter.Go(due, func() report.Sample { … })
//	}
//	err := report.Text(os.Stdout, meter.Report())
//
// Each request runs in a goroutine of its own, so none waits for an answer to another one. Latency counts from when a request was due. Safe for
// concurrent use. It takes some 2 MB.
type Meter struct {
	profile pacer.Profile
	running sync.WaitGroup

	mu       sync.Mutex
	start    time.Time // due time of the first request; zero = there was none
	second   int64     // the interval is that of this second since start
	recorder *Recorder // of the interval
	total    *Snapshot // of those before
	series   Series
}

// NewMeter returns a Meter of requests that are sent by a profile.
func NewMeter(p pacer.Profile) *Meter {
	return &Meter{profile: p, recorder: NewRecorder(), total: NewSnapshot("local", "1")}
}

// Go makes a request in a new goroutine and records it. Due is when it was to be sent, the first call's being the start of the run. What the request
// returns tells Status, Class and bytes; the times in it are the Meter's.
func (m *Meter) Go(due time.Time, request func() Sample) {
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

// Report waits until every request has ended, and returns the report of all of them.
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
	due := func(us int64) int64 { // slots due before this time; 10⁻⁶ of a slot is the error of the sum
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

// rate is what was asked for in the last second, requests per second.
func (m *Meter) rate(took time.Duration) float64 {
	last := min(took, time.Second)
	if last <= 0 {
		return 0
	}
	return (m.profile.Integral(took) - m.profile.Integral(took-last)) / last.Seconds()
}

// at is the recorder for what happens now.
func (m *Meter) at(now time.Time) *Recorder {
	if second := int64(now.Sub(m.start) / time.Second); second > m.second {
		m.flush()
		m.second = second
	}
	return m.recorder
}

// flush ends an interval.
func (m *Meter) flush() {
	interval := NewSnapshot("local", "1")
	interval.Record(m.recorder)
	m.recorder.Reset()
	m.series.Add(m.second*1_000_000+500_000, interval)
	m.total.Merge(interval)
}
