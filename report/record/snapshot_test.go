package record_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

// samples returns n random samples of all kinds.
func samples(rng *rand.Rand, n int) []record.Finished {
	classes := []string{"", "", "", "timeout", "connect", "status"}
	out := make([]record.Finished, n)
	values := reporttest.Durations(rng, 2*n)
	for i := range out {
		due := rng.Int64N(1e15)
		sent := due + values[2*i]/1000
		out[i] = record.Finished{
			Due: due, Sent: sent, Done: sent + values[2*i+1],
			Status: 200 + rng.IntN(400), Class: classes[rng.IntN(len(classes))],
			BytesIn: rng.Int64N(5_000), BytesOut: rng.Int64N(500), Reused: rng.IntN(5) > 0,
		}
		if took := out[i].Done - sent; rng.IntN(10) > 0 {
			out[i].First = sent + rng.Int64N(max(1, took))
		}
	}
	return out
}

// feed records a sample as a shard would.
func feed(r *record.Recorder, s record.Finished) {
	r.Sent()
	r.Done(s)
	if !s.Reused {
		took := s.First - s.Sent
		r.LookedUp(took / 7)
		r.Connected(took / 3)
		r.Secured(took / 2)
	}
	if s.BytesOut%7 == 0 {
		r.ClosedByServer()
	}
}

// equalConnections compares counts and times.
func equalConnections(t *testing.T, a, b record.Connections) {
	t.Helper()
	if a.Opened != b.Opened || a.Reused != b.Reused || a.ClosedByServer != b.ClosedByServer {
		t.Fatalf("connections %+v, want %+v", a, b)
	}
	equal(t, "dns", a.DNS.Histogram(), b.DNS.Histogram())
	equal(t, "connect", a.Connect.Histogram(), b.Connect.Histogram())
	equal(t, "tls", a.TLS.Histogram(), b.TLS.Histogram())
}

// equalSnapshots compares everything that is measured.
func equalSnapshots(t *testing.T, a, b *record.Snapshot) {
	t.Helper()
	if a.Counts != b.Counts {
		t.Fatalf("counts %+v, want %+v", a.Counts, b.Counts)
	}
	if !reflect.DeepEqual(a.Status, b.Status) {
		t.Fatalf("status %v, want %v", a.Status, b.Status)
	}
	equal(t, "latency", a.Latency, b.Latency)
	equal(t, "service time", a.Service, b.Service)
	equal(t, "lag", a.Lag, b.Lag)
	equal(t, "first byte", a.FirstByte.Histogram(), b.FirstByte.Histogram())
	equalConnections(t, a.Connections, b.Connections)
	if len(a.Errors) != len(b.Errors) {
		t.Fatalf("%d classes, want %d", len(a.Errors), len(b.Errors))
	}
	for name, e := range b.Errors {
		if a.Errors[name] == nil || a.Errors[name].Count != e.Count {
			t.Fatalf("class %q: %+v, want count %d", name, a.Errors[name], e.Count)
		}
		equal(t, name, a.Errors[name].Latency, e.Latency)
	}
}

// I11: however samples are spread over shards, intervals and workers, and through the encoding, the merge equals one
// histogram of all samples.
func TestMergeEqualsOneHistogram(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 11))
		all := samples(rng, 1+rng.IntN(20_000))

		one := record.NewRecorder()
		shards := make([]*record.Recorder, 1+rng.IntN(6))
		intervals := make([]*record.Snapshot, len(shards))
		for i := range shards {
			shards[i], intervals[i] = record.NewRecorder(), record.NewSnapshot("w", "i")
		}
		merged := record.NewSnapshot("", "")
		handOver := func(i int) {
			intervals[i].Record(shards[i])
			shards[i].Reset()
			data, err := intervals[i].MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			var received record.Snapshot
			if err := received.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			merged.Merge(&received)
			intervals[i].Reset()
		}
		for _, s := range all {
			feed(one, s)
			i := rng.IntN(len(shards))
			feed(shards[i], s)
			if rng.IntN(1_000) == 0 {
				handOver(i)
			}
		}
		for i := range shards {
			handOver(i)
		}
		want := record.NewSnapshot("", "")
		want.Record(one)
		equalSnapshots(t, merged, want)
	}
}

func TestMergeKeepsIdentityAndGrowsInterval(t *testing.T) {
	s, o := record.NewSnapshot("a", "1"), record.NewSnapshot("b", "2")
	s.Seq, o.Seq, o.Start, o.End, o.Final = 3, 9, 100, 200, true
	s.Merge(o)
	o.Start, o.End = 50, 70
	s.Merge(o)
	if s.Worker != "a" || s.Incarnation != "1" || s.Seq != 3 || s.Final || s.Start != 50 || s.End != 200 {
		t.Errorf("after merges: %+v", s)
	}
	s.Reset()
	if s.Worker != "a" || s.Seq != 3 || s.Start != 0 || s.End != 0 {
		t.Errorf("after Reset: %+v", s)
	}
}

// example returns a snapshot with something in every field.
func example(t testing.TB) *record.Snapshot {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	rec := record.NewRecorder()
	for _, s := range samples(rng, 300) {
		feed(rec, s)
	}
	feed(rec, record.Finished{Done: 2 * record.HighestNS, Status: 4_000})
	rec.LateDropped(1)
	rec.Recalled(2)
	rec.Ungranted(4)
	s := record.NewSnapshot("host-1", "a1b2")
	s.Seq, s.Start, s.End, s.Final = 7, 1_700_000_000_000_000, 1_700_000_001_000_000, true
	s.Record(rec)
	return s
}

func TestSnapshotCodec(t *testing.T) {
	s := example(t)
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte(`{"v":1,`)) {
		t.Errorf("encoding begins with %.20q", data)
	}
	var back record.Snapshot
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	equalSnapshots(t, &back, s)
	if back.Worker != s.Worker || back.Incarnation != s.Incarnation || back.Seq != s.Seq ||
		back.Start != s.Start || back.End != s.End || back.Final != s.Final {
		t.Errorf("decoded %+v, want %+v", back, s)
	}
}

func TestSnapshotCodecRefuses(t *testing.T) {
	classes := make(map[string]map[string]int)
	for i := range record.MaxClasses + 2 {
		classes[strings.Repeat("x", i+1)[:min(i+1, 60)]+string(rune('A'+i))] = map[string]int{"count": 1}
	}
	many, _ := json.Marshal(map[string]any{"v": 1, "errors": classes})
	for _, c := range []struct{ name, data, want string }{
		{"newer", `{"v":2,"counts":"another type"}`, "version 2 is newer than version 1"},
		{"no version", `{}`, "no valid version"},
		{"old version", `{"v":0}`, "no valid version"},
		{"no JSON", "\x00\x01", "invalid character"},
		{"cut", `{"v":1,`, "unexpected end"},
		{"negative", `{"v":1,"counts":{"sent":-1}}`, "count sent = -1"},
		{"huge", `{"v":1,"counts":{"bytes_in":9007199254740993}}`, "count bytes_in"},
		{"status", `{"v":1,"status":{"1000":1}}`, "status code 1000"},
		{"status count", `{"v":1,"status":{"200":-1}}`, "count status"},
		{"null class", `{"v":1,"errors":{"x":null}}`, `class "x" is empty`},
		{"long class", `{"v":1,"errors":{"` + strings.Repeat("x", 65) + `":{}}}`, "65 bytes"},
		{"many classes", string(many), "66 error classes"},
		{"histogram", `{"v":1,"latency":"` + foreign(1, record.HighestNS, 5) + `"}`, "layout"},
		{"first byte", `{"v":1,"first_byte":"AAAA"}`, "2^53"},
		{"first byte in no bucket", `{"v":1,"first_byte":"AAECAwQFBgc="}`, "decode histogram"},
		{"first byte without base64", `{"v":1,"steps":{"a":{"first_byte":"!"}}}`, "illegal base64"},
		{"first byte of HdrHistogram", `{"v":1,"first_byte":"` + foreign(1, record.HighestNS, 2) + `"}`, "decode histogram"},
		{"opened", `{"v":1,"connections":{"opened":-1}}`, "count opened = -1"},
		{"reused", `{"v":1,"connections":{"reused":9007199254740993}}`, "count reused"},
		{"closed", `{"v":1,"connections":{"closed_by_server":-5}}`, "count closed_by_server"},
		{"connect", `{"v":1,"connections":{"connect":7}}`, "Compact"},
		{"answers in pieces", `{"v":1,"streams":{"answers":-1}}`, "count answers = -1"},
		{"tokens of a step", `{"v":1,"steps":{"a":{"streams":{"tokens_in":9007199254740993}}}}`, "count tokens_in"},
		{"good answers", `{"v":1,"counts":{"good":-1}}`, "count good = -1"},
		{"event gap", `{"v":1,"streams":{"event_gap":"` + foreign(1, record.HighestNS, 5) + `"}}`, "layout"},
		{"too long", strings.Repeat(" ", record.MaxSnapshotBytes+1), "more than"},
	} {
		s := record.NewSnapshot("before", "")
		err := s.UnmarshalBinary([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if s.Worker != "before" {
			t.Errorf("%s: changed at an error", c.name)
		}
	}
}

func TestSnapshotCodecFillsWhatIsMissing(t *testing.T) {
	var s record.Snapshot
	if err := s.UnmarshalBinary([]byte(`{"v":1,"latency":null,"status":null,"first_byte":null,"connections":{"dns":null},"errors":{"a":{"count":1}},"streams":{"answers":1,"stream":null},"steps":{"a":{"sent":1,"streams":{"events":1}}}}`)); err != nil {
		t.Fatal(err)
	}
	s.Merge(example(t)) // would panic on anything nil
	record.NewSnapshot("", "").Merge(&s)
}

func FuzzSnapshotUnmarshal(f *testing.F) {
	data, err := example(f).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte(`{"v":1,"first_byte":"AA","connections":{"opened":1,"connect":"gA=="},"steps":{"a":{"first_byte":"gA=="}}}`))
	f.Add([]byte(`{"v":1,"self":{"wall_ns":1000000000,"cores":2,"cpu":{"sum_ns":5,"of_ns":9,"worst_ns_per_s":7,"over_ns":1}}}`))
	f.Add([]byte(`{"v":1,"errors":{"a":{"count":1,"latency":null}},"status":{"-1":1}}`))
	for _, text := range hostile() {
		if len(text) < 10_000 {
			f.Add([]byte(`{"v":1,"latency":"` + text + `"}`))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s record.Snapshot
		if s.UnmarshalBinary(data) != nil {
			return
		}
		again, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back record.Snapshot
		if err := back.UnmarshalBinary(again); err != nil {
			t.Fatalf("what was accepted is refused once written again: %v", err)
		}
		if back.Counts != s.Counts || back.Self != s.Self || back.Latency.Count() != s.Latency.Count() {
			t.Fatalf("changed by a round trip: %+v, then %+v", s, back)
		}
		total := record.NewSnapshot("", "")
		total.Merge(&back)
		report.Build(report.Input{Workers: []report.WorkerInput{{Total: total}}})
	})
}
