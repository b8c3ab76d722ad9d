package pacer_test

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// TestConcurrency: stages with a concurrency are constant pieces, which carry the number.
func TestConcurrency(t *testing.T) {
	var stages []pacer.Stage
	for _, text := range []string{"1m0s:c=64", "1ms:c=1", "30s:c=1000000"} {
		s, err := pacer.ParseStage(text)
		if err != nil || s.String() != text {
			t.Fatalf("%s: %v, %v", text, s, err)
		}
		stages = append(stages, s)
	}
	pieces, err := pacer.Stages(pacer.Rate{Den: 1}, stages...).Pieces()
	if got, want := pacer.JoinPieces(pieces), "64:64:1000000:60000000;1:1:1000000:1000;1000000:1000000:1000000:30000000"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for i, p := range pieces {
		if p.Concurrency() != stages[i].Concurrency || p.Check() != nil {
			t.Errorf("%v: %d, %v", p, p.Concurrency(), p.Check())
		}
	}
	endless, err := pacer.Profile{Segments: []pacer.Segment{pacer.Concurrent(8, 0)}}.Pieces()
	if err != nil || pacer.JoinPieces(endless) != "8:8:1000000:0" || endless[0].Concurrency() != 8 {
		t.Errorf("%v, %v", endless, err)
	}
	if p := (pacer.Piece{R0: 8, R1: 8, Den: 1}); p.Concurrency() != 0 {
		t.Errorf("a rate is a concurrency of %d", p.Concurrency())
	}
	if part := endless[0].Part(1_000_000, 3_000_000); part.Concurrency() != 8 {
		t.Errorf("a part of it has %d: %v", part.Concurrency(), part)
	}
	for _, text := range []string{"60s:c=0", "60s:c=-1", "60s:c=", "60s:c=1.5", "60s:c=1000001", "0s:c=8", "60s:c=8:8", "60s:C=8"} {
		if _, err := pacer.ParseStage(text); err == nil || !strings.HasPrefix(err.Error(), "stage ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
