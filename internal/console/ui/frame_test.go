package ui

import "testing"

// TestFrameRate: frames count flows, as status does, and tell how many requests a flow has: commands count those.
func TestFrameRate(t *testing.T) {
	t.Parallel()
	look := long(3, 1)
	look.Rate, look.RateThen = 100, 200
	for steps, want := range map[float64]float64{0: 1, 1: 1, 1.5: 1.5, 4: 4} {
		look.StepsPerFlow = steps
		if f := NewFrame(look, true); f.Rate != 100 || f.RateThen != 200 || f.Steps != want {
			t.Errorf("%v steps: %v/s, then %v/s, %v requests each", steps, f.Rate, f.RateThen, f.Steps)
		}
	}
}
