package report

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestSelfMerges: sums add up, maxima are those of the worst beat, and unknown values stay unknown.
func TestSelfMerges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	total, parts := NewSnapshot("w", "1"), [2]*Snapshot{NewSnapshot("w", "1"), NewSnapshot("w", "1")}
	var cpu, of, worst, over int64
	for range 100 {
		b := beat()
		b.Self.CPU = NewLoad(rng.Int64N(2*second), 2*second)
		b.Self.Steal = Load{}
		b.Self.Tardy, b.Counts.SeenLate, b.Counts.Busy, b.Counts.Opening, b.Counts.NoRoom = 7, 10, 20, 20, 20
		b.JudgeBeat()
		cpu, of, worst = cpu+b.Self.CPU.Sum, of+2*second, max(worst, b.Self.CPU.Sum/2)
		if b.Self.CPU.Sum >= 2*second*9/10 {
			over += second
		}
		total.Merge(b)
		parts[rng.IntN(2)].Merge(b)
	}
	if got := total.Self.CPU; got.Sum != cpu || got.Of != of || got.Worst != worst || got.Over != over || over == 0 {
		t.Errorf("%+v, want %d of %d, worst %d, over %d", got, cpu, of, worst, over)
	}
	// The shards had time to spare, whatever the process used.
	if s := total.Self; s.Late != 100*second || s.Full != s.Late || s.Opening != s.Late || s.NoRoom != s.Late || s.Tardy != 7 {
		t.Errorf("%+v", s)
	}
	if total.Self.Wall != 100*second || total.Self.Cores != 2 || total.Self.Steal.Known() {
		t.Errorf("%+v", total.Self)
	}
	parts[0].Merge(parts[1])
	if parts[0].Self != total.Self {
		t.Errorf("in another order %+v, want %+v", parts[0].Self, total.Self)
	}
	if total.Reset(); total.Self != (Self{}) {
		t.Errorf("after Reset: %+v", total.Self)
	}
}

func TestNewLoadOfNonsense(t *testing.T) {
	for _, l := range []Load{NewLoad(-1, 5), NewLoad(1, 0), NewLoad(1, -1)} {
		if l.Known() {
			t.Errorf("%+v", l)
		}
	}
}

// TestSelfCodec: the measurements survive a round trip; an old snapshot without them is read as one that measured
// nothing.
func TestSelfCodec(t *testing.T) {
	s := example(t)
	s.Self = beat().Self
	s.Self.Collections, s.Self.Full, s.Self.CPU.Over = 7, 8, 9
	s.Self.Late, s.Self.Opening, s.Self.NoRoom, s.Self.Tardy = 12, 13, 14, 15
	s.Counts.SeenLate, s.Counts.Busy, s.Counts.Opening, s.Counts.NoRoom = 10, 11, 16, 17
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Snapshot
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
	if back.Self != (Self{}) {
		t.Errorf("%+v of nothing", back.Self)
	}
	r := Build(Input{Workers: []WorkerInput{{ID: "old", Total: &back}}}).Workers[0]
	if !reflect.DeepEqual(r.Self, SelfReport{Load: map[string]LoadReport{}}) || r.Verdicts == nil {
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
		var s Snapshot
		if err := s.UnmarshalBinary([]byte(`{"v":1,"self":` + c.self + `}`)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.self, err, c.want)
		}
	}
}
