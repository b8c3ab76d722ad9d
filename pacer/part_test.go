package pacer_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// slotsOf is how many slots pieces ask for.
func slotsOf(ps []pacer.Piece) (n float64) {
	for _, p := range ps {
		n += float64(p.R0+p.R1) / 2 / float64(p.Den) * float64(p.Dur) / 1e6
	}
	return n
}

// What is left of a profile after a while asks for what the whole asks for, without that while.
func TestRest(t *testing.T) {
	for _, text := range []string{"sine:mean=500,amplitude=300,period=3s", "steps:from=100,to=400,by=100,every=1500ms"} {
		p, err := pacer.ParseProfile(text)
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Pieces()
		if err != nil {
			t.Fatal(err)
		}
		whole := slotsOf(all)
		for e := time.Duration(0); e < 5*time.Second; e += 37 * time.Millisecond {
			want := whole - p.Integral(e)
			if p.Loop {
				want = whole // once around, beginning there
			}
			if got := slotsOf(pacer.Rest(all, p.Loop, e.Microseconds())); math.Abs(got-want) > 0.01 {
				t.Fatalf("%s after %v: %.3f slots are left, want %.3f", text, e, got, want)
			}
		}
	}
	constant, err := pacer.Constant(pacer.PerSecond(5), time.Second).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	if rest := pacer.Rest(constant, false, second); len(rest) != 0 {
		t.Errorf("after its end a profile has %v left", rest)
	}
}
