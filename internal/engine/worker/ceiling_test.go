package worker

import (
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// TestExceeds: a rate of flows, times their mean number of steps, is not above the limit because of rounding.
func TestExceeds(t *testing.T) {
	for _, requests := range []float64{0.3, 2.5, 333, 480, 1e8} {
		most := pacer.Rate{Num: int64(requests * 10), Den: 10}
		for steps := int64(1); steps < 500; steps++ {
			for _, flows := range []int64{1, 3, 7, 38, 99_991} {
				mean := float64(steps) / float64(flows)
				if asked := requests / mean * mean; Exceeds(asked, 0, most) {
					t.Fatalf("%.17g is above %v", asked, most)
				}
			}
		}
		if !Exceeds(requests*1.000001, 0, most) || !Exceeds(requests, requests/1e6, most) || Exceeds(requests*1.1, 0, pacer.Rate{}) {
			t.Errorf("limit %v", most)
		}
	}
}
