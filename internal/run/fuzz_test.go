package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{
		`{"version":8,"target":{"url":"noop://"},"qps":"30/1m","max_lag_ns":1,"catch_up_ns":1,"min_workers":1}`,
		`{"version":9,"qps":[]}`, `{"version":8,"qps":"x"}`, `{"version":8,"stages":["1m:1k"]}`, `[]`, `null`, `{"version":1e9}`, ``,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSpec("x", text)
		if err != nil {
			if !errors.Is(err, ErrBroken) && !errors.Is(err, ErrNewer) && !errors.Is(err, ErrOlder) || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		if diff := s.Diff(s); len(diff) != 0 {
			t.Fatalf("%q differs from itself: %v", text, diff)
		}
		if s.Validate() == nil {
			if _, err := s.plan(); err != nil {
				t.Fatalf("%q is valid and has no budget: %v", text, err)
			}
		}
	})
}

// FuzzState: whatever is in Redis, reading it is an error or a state, and no panic.
func FuzzState(f *testing.F) {
	for _, qps := range []int64{0, 100} { // as a run is that has begun
		spec := constant(qps)
		spec.Duration = time.Second
		plan, err := spec.plan()
		if err != nil {
			f.Fatal(err)
		}
		first := lease.Law{Law: pacer.Law{ID: 1, T0: 1_700_000_000_000_000, R0: qps, R1: qps, Den: 1, Dur: 1_000_000, K: qps},
			Plan: &lease.Plan{Pieces: plan.pieces}, Piece: 1, End: 1_700_000_001_000_000, Era: 1}
		laws, _ := lease.PackLaws([]lease.Law{first})
		core := make([]int64, 22)
		core[4], core[6], core[7], core[9] = 1, first.T0, 1, 10_000_000 // era, started, n, hold
		piece := numbers(0, 1<<24, 1, 0, 1, 0)
		f.Add(numbers(core...), laws, first.Plan.String(), "w", record(presentMember, "inc", piece), piece+"w/inc", piece, 1.0, "1700000000500000")
	}
	f.Add("", "1:2:3", "0:0;1:2:3", "w/x", "a b c d e", "x", "y", 1e300, "-1")
	f.Add(strings.Repeat("x", 22*8), strings.Repeat("x", 21*8), "0:1;1:1:1:1", "", strings.Repeat("x", 11*8), strings.Repeat("x", 48), strings.Repeat("\xff", 48), -1.0, "1")
	f.Fuzz(func(t *testing.T, core, laws, plan, worker, record, log, loose string, score float64, began string) {
		text := stateText{
			budget: map[string]string{"uid": "u", "core": core, "plan/0": plan, "began": began}, workers: map[string]string{worker: record},
			laws: []string{laws}, due: []redis.Z{{Score: score, Member: worker}}, loose: []redis.Z{{Score: score, Member: loose}}, log: []string{log},
			now: time.UnixMicro(1_700_000_001_000_000),
		}
		spec := constant(100)
		s, err := (&Run{Name: "x", UID: "u", Spec: spec}).parse(text, readAll)
		if err != nil {
			if !errors.Is(err, ErrBroken) || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		s.askedBy(0, 1_000_000)
		s.waitsFor(spec)
		s.Peak()
		if s.elapsed() < 0 || s.rateNow().Den == 0 {
			t.Fatalf("%+v", s)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add("0 ")
	f.Add("12 1,1,12,5,4,1, 2,1,13,5,4,1,timeout=1,")
	f.Add("-1 1,1,0,5,4,1,")
	f.Fuzz(func(t *testing.T, text string) {
		second, open, err := parseRecord(text)
		if err != nil {
			return
		}
		again, err := joinPoints(open)
		if err != nil {
			t.Fatal(err)
		}
		if s, o, err := parseRecord(fmt.Sprint(second, " ", string(again))); err != nil || s != second || len(o) != len(open) {
			t.Fatalf("%q: %d with %d points, then %d with %d, %v", text, second, len(open), s, len(o), err)
		}
	})
}
