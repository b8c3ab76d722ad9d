package record_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

// TestSelfMerges: sums add up, maxima are those of the worst beat, and unknown values stay unknown.
func TestSelfMerges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	total, parts := record.NewSnapshot("w", "1"), [2]*record.Snapshot{record.NewSnapshot("w", "1"), record.NewSnapshot("w", "1")}
	var cpu, of, worst, over int64
	for range 100 {
		b := reporttest.Beat()
		b.Self.CPU = record.NewLoad(rng.Int64N(2*reporttest.Second), 2*reporttest.Second)
		b.Self.Steal = record.Load{}
		b.Self.Tardy, b.Counts.SeenLate, b.Counts.Busy, b.Counts.Opening, b.Counts.NoRoom = 7, 10, 20, 20, 20
		b.JudgeBeat()
		cpu, of, worst = cpu+b.Self.CPU.Sum, of+2*reporttest.Second, max(worst, b.Self.CPU.Sum/2)
		if b.Self.CPU.Sum >= 2*reporttest.Second*9/10 {
			over += reporttest.Second
		}
		total.Merge(b)
		parts[rng.IntN(2)].Merge(b)
	}
	if got := total.Self.CPU; got.Sum != cpu || got.Of != of || got.Worst != worst || got.Over != over || over == 0 {
		t.Errorf("%+v, want %d of %d, worst %d, over %d", got, cpu, of, worst, over)
	}
	// The shards had time to spare, whatever the process used.
	if s := total.Self; s.Late != 100*reporttest.Second || s.Full != s.Late || s.Opening != s.Late || s.NoRoom != s.Late || s.Tardy != 7 {
		t.Errorf("%+v", s)
	}
	if total.Self.Wall != 100*reporttest.Second || total.Self.Cores != 2 || total.Self.Steal.Known() {
		t.Errorf("%+v", total.Self)
	}
	parts[0].Merge(parts[1])
	if parts[0].Self != total.Self {
		t.Errorf("in another order %+v, want %+v", parts[0].Self, total.Self)
	}
	if total.Reset(); total.Self != (record.Self{}) {
		t.Errorf("after Reset: %+v", total.Self)
	}
}

func TestNewLoadOfNonsense(t *testing.T) {
	for _, l := range []record.Load{record.NewLoad(-1, 5), record.NewLoad(1, 0), record.NewLoad(1, -1)} {
		if l.Known() {
			t.Errorf("%+v", l)
		}
	}
}

// TestSelfCodec: the measurements survive a round trip; an old snapshot without them is read as one that measured
// nothing.
func TestSelfCodec(t *testing.T) {
	s := example(t)
	s.Self = reporttest.Beat().Self
	s.Self.Collections, s.Self.Full, s.Self.CPU.Over = 7, 8, 9
	s.Self.Late, s.Self.Opening, s.Self.NoRoom, s.Self.Tardy = 12, 13, 14, 15
	s.Counts.SeenLate, s.Counts.Busy, s.Counts.Opening, s.Counts.NoRoom = 10, 11, 16, 17
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back record.Snapshot
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if back.Self != s.Self || back.Counts != s.Counts {
		t.Errorf("%+v %+v, want %+v %+v", back.Self, back.Counts, s.Self, s.Counts)
	}
	var old map[string]any
	if err := json.Unmarshal(data, &old); err != nil {
		t.Fatal(err)
	}
	delete(old, "self")
	for _, name := range []string{"seen_late", "busy", "opening", "no_room"} {
		delete(old["counts"].(map[string]any), name)
	}
	data, err = json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	s.Counts.SeenLate, s.Counts.Busy, s.Counts.Opening, s.Counts.NoRoom = 0, 0, 0, 0
	equalSnapshots(t, &back, s)
	if back.Self != (record.Self{}) {
		t.Errorf("%+v of nothing", back.Self)
	}
	r := report.Build(report.Input{Workers: []report.WorkerInput{{ID: "old", Total: &back}}}).Workers[0]
	if !reflect.DeepEqual(r.Self, report.SelfReport{Load: map[string]record.LoadReport{}}) || r.Verdicts == nil {
		t.Errorf("%+v", r)
	}
}

func TestSelfCodecRefuses(t *testing.T) {
	for _, c := range []struct{ self, want string }{
		{`{"wall_ns":-1}`, "count wall_ns = -1"},
		{`{"cores":9007199254740993}`, "count cores"},
		{`{"cpu":{"sum_ns":-5}}`, "load count cpu = -5"},
		{`{"steal":{"over_ns":-1}}`, "load count steal"},
		{`{"late_ns":-1}`, "count late_ns = -1"},
		{`{"opening_ns":-1}`, "count opening_ns"},
		{`{"tardy_ns":-1}`, "count tardy_ns"},
		{`{"gc_pause":7}`, "cannot unmarshal"},
	} {
		var s record.Snapshot
		if err := s.UnmarshalBinary([]byte(`{"v":1,"self":` + c.self + `}`)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.self, err, c.want)
		}
	}
}
