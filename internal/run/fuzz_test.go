package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{
		`{"version":7,"target":{"url":"noop://"},"qps":"30/1m","max_lag_ns":1,"catch_up_ns":1,"min_workers":1}`,
		`{"version":8,"qps":[]}`, `{"version":7,"qps":"x"}`, `{"version":7,"stages":["1m:1k"]}`, `[]`, `null`, `{"version":1e9}`, ``,
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
	const record = `["inc","active",7,1,0,0,0,0,0,1700000000000000,1000,0,50,1700000000500000,1] - OK||||0`
	f.Add("1700000000500000", "100:100:1:0:1", "5:1700000000000000:0:100:100:1:0:4503599627370496:1:4503599627370496", "w", record)
	f.Add("", "1:2:3", "1:2:3", "w/x", "a b c d e")
	f.Add("-1", "1:1:0:0:1", ":", "", `["inc","active",1,2,3] x y`)
	f.Fuzz(func(t *testing.T, started, pieces, law, worker, record string) {
		s := &State{Phase: "running", now: time.UnixMicro(1_700_000_001_000_000)}
		b := map[string]string{"started": started, "pieces": pieces, "n": "1", "issued": "5", "permitfor": "10000000"}
		if s.parseBudget(b) != nil || s.parseLaws(map[string]string{"5": law}) != nil || s.parseWorkers(map[string]string{worker: record}) != nil {
			return
		}
		s.count()
		s.askedBy(0, 1_000_000)
		s.mayStillSend(Spec{})
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
