package pacer_test

import (
	"math"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// slotsOf is how many slots a piece asks for.
func slotsOf(p pacer.Piece) float64 {
	return float64(p.R0+p.R1) / 2 / float64(p.Den) * float64(p.Dur) / 1e6
}

// TestPart: the two parts of a piece ask for what the whole asks for, wherever it is cut.
func TestPart(t *testing.T) {
	for _, text := range []string{"sine:mean=500,amplitude=300,period=3s", "steps:from=100,to=400,by=100,every=1500ms"} {
		p, err := pacer.ParseProfile(text)
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Pieces()
		if err != nil {
			t.Fatal(err)
		}
		for _, whole := range all {
			for cut := int64(1); cut < whole.Dur; cut += 37_000 {
				first, rest := whole.Part(0, cut), whole.Part(cut, 0)
				if first.Check() != nil || rest.Check() != nil || first.Dur+rest.Dur != whole.Dur {
					t.Fatalf("%v, cut at %d: %v and %v", whole, cut, first, rest)
				}
				if got, want := slotsOf(first)+slotsOf(rest), slotsOf(whole); math.Abs(got-want) > 0.01 {
					t.Fatalf("%v, cut at %d: %.3f slots, want %.3f", whole, cut, got, want)
				}
			}
		}
	}
	ramp := pacer.Piece{R0: 100, R1: 200, Den: 1, Dur: 1_000_000}
	if rest := ramp.Part(ramp.Dur, 0); rest.Dur != 1 || rest.Check() != nil {
		t.Errorf("at its end %v is left, and no length would be endless", rest)
	}
	if silent := (pacer.Piece{Den: 1, Dur: 10}).Part(5, 0); silent != (pacer.Piece{Den: 1, Dur: 5}) {
		t.Errorf("of silence %v is left", silent)
	}
}
