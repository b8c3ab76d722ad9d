package record_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

// streamed records n random answers in pieces of two steps.
func streamed(rng *rand.Rand, n int) *record.Recorder {
	rec := record.NewRecorder("a", "b")
	for range n {
		f := record.Finished{Sent: 2 * ms, Done: 400 * ms, Step: rng.IntN(2), Judged: rng.IntN(3) > 0, Good: rng.IntN(2) > 0}
		if rng.IntN(7) == 0 {
			f.Class = "truncated"
		}
		s := &record.Stream{First: (3 + rng.Int64N(50)) * ms, Events: 1 + rng.Int64N(900), TokensIn: rng.Int64N(9), TokensOut: rng.Int64N(90), Usage: rng.IntN(2) > 0, PerToken: rng.Int64N(9) * ms}
		s.Last = s.First + rng.Int64N(300*ms)
		for range rng.IntN(5) {
			rec.Gap(f.Step, rng.Int64N(40*ms))
		}
		if rng.IntN(9) > 0 {
			f.Stream = s
		}
		rec.Sent()
		rec.StepSent(f.Step)
		rec.Done(f)
	}
	return rec
}

// equalStreams compares counts and times.
func equalStreams(t *testing.T, what string, a, b record.Streams) {
	t.Helper()
	if a.Answers != b.Answers || a.Events != b.Events || a.TokensIn != b.TokensIn || a.TokensOut != b.TokensOut || a.Usages != b.Usages {
		t.Fatalf("%s: %+v, want %+v", what, a, b)
	}
	equal(t, what+": first event", a.FirstEvent, b.FirstEvent)
	equal(t, what+": service", a.Service, b.Service)
	equal(t, what+": gap", a.Gap, b.Gap)
	equal(t, what+": stream", a.Stream, b.Stream)
	equal(t, what+": per answer", a.PerAnswer, b.PerAnswer)
	equal(t, what+": per token", a.PerToken, b.PerToken)
}

// equalSteps compares what steps have of answers in pieces.
func equalSteps(t *testing.T, a, b *record.Snapshot) {
	t.Helper()
	if len(a.Steps) != len(b.Steps) {
		t.Fatalf("%d steps, want %d", len(a.Steps), len(b.Steps))
	}
	for name, s := range b.Steps {
		if a.Steps[name].Judged != s.Judged || a.Steps[name].Good != s.Good {
			t.Errorf("step %s: %+v, want %+v", name, a.Steps[name], s)
		}
		equalStreams(t, "step "+name, a.Steps[name].Streams, s.Streams)
	}
}

// TestStreamsSurviveTheCodec asserts that an encoded snapshot has the answers in pieces of the run and of its steps, and that merged
// snapshots have those of both.
func TestStreamsSurviveTheCodec(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 41))
		one, other := streamed(rng, 1+rng.IntN(300)), streamed(rng, 1+rng.IntN(300))
		want, merged := record.NewSnapshot("", ""), record.NewSnapshot("", "")
		for _, rec := range []*record.Recorder{one, other} {
			want.Record(rec)
			part, back := record.NewSnapshot("w", "1"), record.NewSnapshot("", "")
			part.Record(rec)
			data, err := part.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if err := back.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			equalStreams(t, "decoded", back.Streams, part.Streams)
			equalSteps(t, back, part)
			merged.Merge(back)
		}
		if merged.Counts != want.Counts {
			t.Fatalf("%+v, want %+v", merged.Counts, want.Counts)
		}
		equalStreams(t, "merged", merged.Streams, want.Streams)
		equalSteps(t, merged, want)
	}
}

// TestTakenTimesOfStreamsAreThose asserts that TakeTimes moves all histograms of answers in pieces, and no count.
func TestTakenTimesOfStreamsAreThose(t *testing.T) {
	s, times, want := record.NewSnapshot("", ""), record.NewSnapshot("", ""), record.NewSnapshot("", "")
	rec := streamed(rand.New(rand.NewPCG(1, 2)), 200)
	s.Record(rec)
	want.Record(rec)
	times.TakeTimes(s)
	if times.Streams.Answers != 0 || s.Streams.Answers != want.Streams.Answers || s.Streams.Gap.Count() != 0 || s.Steps["a"].Streams.Gap.Count() != 0 {
		t.Errorf("%+v and %+v", times.Streams, s.Streams)
	}
	s.AddTimes(times)
	equalStreams(t, "taken and added", s.Streams, want.Streams)
	equalSteps(t, s, want)
}

// TestRecorderMeasuresStreams asserts what each figure counts from, and that failed answers have a first event only.
func TestRecorderMeasuresStreams(t *testing.T) {
	rec := record.NewRecorder("a")
	good := &record.Stream{First: 30 * ms, Last: 90 * ms, Events: 7, TokensIn: 5, TokensOut: 6, Usage: true, PerToken: 12 * ms}
	rec.Gap(0, 11*ms)
	rec.Done(record.Finished{Due: 10 * ms, Sent: 20 * ms, Done: 99 * ms, Stream: good, Judged: true, Good: true})
	cut := &record.Stream{First: 50 * ms, Last: 60 * ms, Events: 2}
	rec.Done(record.Finished{Due: 10 * ms, Sent: 20 * ms, Done: 99 * ms, Stream: cut, Class: "truncated", Judged: true, Good: true})
	rec.Done(record.Finished{Done: ms})
	s := record.NewSnapshot("", "")
	s.Record(rec)
	for what, of := range map[string]record.Streams{"the run": s.Streams, "its step": s.Steps["a"].Streams} {
		if of.Answers != 2 || of.Events != 9 || of.TokensIn != 5 || of.TokensOut != 6 || of.Usages != 1 {
			t.Errorf("%s: %+v", what, of)
		}
		for name, c := range map[string]struct {
			h            *record.Histogram
			n, low, high int64
		}{
			"first event": {of.FirstEvent, 2, 20 * ms, 40 * ms}, "service": {of.Service, 2, 10 * ms, 30 * ms}, "gap": {of.Gap, 1, 11 * ms, 11 * ms},
			"stream": {of.Stream, 1, 80 * ms, 80 * ms}, "events": {of.PerAnswer, 1, 7 * record.PerEvent, 7 * record.PerEvent}, "per token": {of.PerToken, 1, 12 * ms, 12 * ms},
		} {
			if c.h.Count() != c.n || !near(c.h.Min(), c.low) || !near(c.h.Max(), c.high) {
				t.Errorf("%s: %s has %d values, %d to %d, want %+v", what, name, c.h.Count(), c.h.Min(), c.h.Max(), c)
			}
		}
	}
	if s.Counts.Judged != 2 || s.Counts.Good != 1 || s.Steps["a"].Judged != 2 || s.Steps["a"].Good != 1 {
		t.Errorf("judged %+v, %+v", s.Counts, s.Steps["a"])
	}
	rec.Reset()
	empty := record.NewSnapshot("", "")
	empty.Record(rec)
	if !empty.Streams.IsZero() || empty.Counts != (record.Counts{}) {
		t.Errorf("after Reset: %+v, %+v", empty.Streams, empty.Counts)
	}
}

// TestEventsOfAnswersAreExact asserts that a number of up to 2,047 events of an answer is exact.
func TestEventsOfAnswersAreExact(t *testing.T) {
	for n := int64(1); n <= 2047; n++ {
		rec, s := record.NewRecorder(), record.NewSnapshot("", "")
		rec.Done(record.Finished{Done: ms, Stream: &record.Stream{First: 1, Last: 2, Events: n}})
		s.Record(rec)
		if h := s.Streams.PerAnswer; h.Quantile(0.5)/record.PerEvent != n || h.Min()/record.PerEvent != n {
			t.Fatalf("%d events are %d to %d", n, h.Min(), h.Quantile(0.5))
		}
	}
}

// TestSnapshotsWithoutStreamsHaveNoWordOfThem asserts that the encoded snapshot of a run of plain answers is as before.
func TestSnapshotsWithoutStreamsHaveNoWordOfThem(t *testing.T) {
	rec := record.NewRecorder("a")
	rec.Sent()
	rec.StepSent(0)
	rec.Done(record.Finished{Done: ms})
	s := record.NewSnapshot("w", "1")
	s.Record(rec)
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"streams", "judged", "good", "event", "token"} {
		if bytes.Contains(data, []byte(word)) {
			t.Errorf("%s is in %s", word, data)
		}
	}
	var back record.Snapshot
	if err := back.UnmarshalBinary(data); err != nil || !reflect.DeepEqual(back.Streams, record.NewStreams()) {
		t.Errorf("%+v, %v", back.Streams, err)
	}
}
