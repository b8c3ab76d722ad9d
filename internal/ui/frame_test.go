package ui

import "testing"

// TestFrameRate: the rate of a frame counts requests, as the command set-rate does, also where a slot makes several.
func TestFrameRate(t *testing.T) {
	t.Parallel()
	look := long(3, 1)
	look.Rate, look.RateThen = 100, 200
	for steps, want := range map[float64]float64{0: 1, 1: 1, 1.5: 1.5, 4: 4} {
		look.Steps = steps
		if f := NewFrame(look, true); f.Rate != 100*want || f.RateThen != 200*want {
			t.Errorf("%v steps: %v/s, then %v/s", steps, f.Rate, f.RateThen)
		}
	}
}
