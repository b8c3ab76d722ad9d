package record_test

import (
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

const ms = 1_000_000

// TestRecorderMeasuresPhases asserts that first bytes count from sending, of all requests and of each step, and that
// connections are counted apart.
func TestRecorderMeasuresPhases(t *testing.T) {
	rec := record.NewRecorder("login", "buy")
	rec.Done(record.Finished{Due: 0, Sent: 2 * ms, First: 7 * ms, Done: 10 * ms, Step: 0})
	rec.Done(record.Finished{Due: 0, Sent: 1 * ms, First: 31 * ms, Done: 50 * ms, Step: 1, Class: "status", Reused: true})
	rec.Done(record.Finished{Due: 0, Sent: 1 * ms, Done: 50 * ms, Step: 1, Class: "timeout", Reused: true}) // no byte came
	rec.Done(record.Finished{Due: 0, Sent: 1 * ms, First: ms / 2, Done: 2 * ms, Step: 1})                   // clock granularity
	rec.Done(record.Finished{Sent: 0, First: record.HighestNS + ms, Done: record.HighestNS + 2*ms, Step: 1})
	rec.LookedUp(4 * ms)
	rec.Connected(2 * ms)
	rec.Connected(record.HighestNS + ms)
	rec.Secured(9 * ms)
	rec.ClosedByServer()

	s := record.NewSnapshot("w", "i")
	s.Record(rec)
	c := s.Connections
	for _, h := range []struct {
		name     string
		h        *record.Compact
		count    int64
		min, max int64
	}{
		{"first byte", s.FirstByte, 3, 0, 30 * ms},
		{"of login", s.Steps["login"].FirstByte, 1, 5 * ms, 5 * ms},
		{"of buy", s.Steps["buy"].FirstByte, 2, 0, 30 * ms},
		{"dns", c.DNS, 1, 4 * ms, 4 * ms},
		{"connect", c.Connect, 1, 2 * ms, 2 * ms},
		{"tls", c.TLS, 1, 9 * ms, 9 * ms},
	} {
		if got := h.h.Histogram(); got.Count() != h.count || !roughly(got.Min(), h.min) || !roughly(got.Max(), h.max) {
			t.Errorf("%s: %d values in %d…%d, want %d in %d…%d", h.name, got.Count(), got.Min(), got.Max(), h.count, h.min, h.max)
		}
	}
	if c.Opened != 2 || c.Reused != 2 || c.ClosedByServer != 1 {
		t.Errorf("connections %+v", c)
	}
	if s.Counts.OutOfRange != 2 { // latency and service time of the last request
		t.Errorf("out of range %d, want 2", s.Counts.OutOfRange)
	}
	rec.Reset()
	empty := record.NewSnapshot("w", "i")
	empty.Record(rec)
	if empty.FirstByte.Count() != 0 || !empty.Connections.IsZero() || len(empty.Steps) != 0 {
		t.Errorf("after Reset: %+v", empty)
	}
	s.Reset()
	if s.FirstByte.Count() != 0 || !s.Connections.IsZero() {
		t.Errorf("snapshot after Reset: %+v", s)
	}
}

// roughly says that got is want to 2 significant digits.
func roughly(got, want int64) bool { return got >= want-want/100-512 && got <= want+want/100+512 }

// TestPhasesAreWithinOneMillisecondAtHundred asserts the accuracy of first bytes.
func TestPhasesAreWithinOneMillisecondAtHundred(t *testing.T) {
	for at := int64(50 * ms); at <= 105*ms; at += 99_991 {
		h := record.NewCompact()
		h.Histogram().Record(at)
		if got := h.Histogram().Quantile(0.5); got < at-ms || got > at+ms {
			t.Errorf("%d ns is shown as %d ns", at, got)
		}
	}
}

// TestTimesOfPhasesMove asserts that TakeTimes moves the histograms of phases and leaves their counts.
func TestTimesOfPhasesMove(t *testing.T) {
	from, want := phases(t, 1), phases(t, 1)
	to := record.NewSnapshot("", "")
	to.TakeTimes(from)
	equal(t, "first byte", to.FirstByte.Histogram(), want.FirstByte.Histogram())
	equal(t, "connect", to.Connections.Connect.Histogram(), want.Connections.Connect.Histogram())
	equal(t, "first byte of a", to.Steps["a"].FirstByte.Histogram(), want.Steps["a"].FirstByte.Histogram())
	if from.FirstByte.Count()+from.Connections.Connect.Count()+from.Steps["a"].FirstByte.Count() != 0 {
		t.Error("times stayed")
	}
	if to.Connections.Opened != 0 || from.Connections.Opened != want.Connections.Opened {
		t.Errorf("opened %d and %d, want 0 and %d", to.Connections.Opened, from.Connections.Opened, want.Connections.Opened)
	}
}

// phases returns a snapshot of two steps with all phases.
func phases(t *testing.T, seed int64) *record.Snapshot {
	t.Helper()
	rec := record.NewRecorder("a", "b")
	for i := range 500 * seed {
		rec.Sent()
		rec.StepSent(int(i % 2))
		rec.Done(record.Finished{Sent: i, First: i + i*ms/7, Done: i + i*ms, Step: int(i % 2), Reused: i%3 > 0})
		if i%3 == 0 {
			rec.LookedUp(i * 100)
			rec.Connected(i * 1000)
			rec.Secured(i * 3000)
		}
	}
	rec.ClosedByServer()
	s := record.NewSnapshot("w", "i")
	s.Record(rec)
	return s
}

// TestPhasesSurviveTheCodec asserts that first bytes and connections are the same after encoding, with steps, where the
// sum is left out, and without.
func TestPhasesSurviveTheCodec(t *testing.T) {
	withSteps, without := phases(t, 2), phases(t, 3)
	without.Steps = nil
	apart := phases(t, 4)
	apart.FirstByte.Histogram().Record(77 * ms) // of a request without a step
	for name, s := range map[string]*record.Snapshot{"with steps": withSteps, "without": without, "one without": apart, "empty": record.NewSnapshot("w", "i")} {
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back record.Snapshot
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		equalSnapshots(t, &back, s)
		for step, want := range s.Steps {
			equal(t, step, back.Steps[step].FirstByte.Histogram(), want.FirstByte.Histogram())
		}
	}
}

// TestOldSnapshotsHaveNoPhases asserts that a snapshot of an older program decodes to one without phases.
func TestOldSnapshotsHaveNoPhases(t *testing.T) {
	var s record.Snapshot
	if err := s.UnmarshalBinary([]byte(`{"v":1,"counts":{"sent":3,"completed":3},"steps":{"a":{"sent":3,"completed":3}}}`)); err != nil {
		t.Fatal(err)
	}
	if s.FirstByte.Count() != 0 || !s.Connections.IsZero() || s.Steps["a"].FirstByte.Count() != 0 {
		t.Errorf("decoded %+v", s)
	}
	s.Merge(phases(t, 1))
}
