package threshold

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

// TestEachWindow: every window is the sum of its points, whatever their number.
func TestEachWindow(t *testing.T) {
	for range 200 {
		points := make([]Window, 1+rand.IntN(20))
		for i := range points {
			h := record.NewPoint(0, 1).Latency
			for range rand.IntN(4) {
				h.Record(rand.Int64N(1e9))
			}
			points[i] = Window{At: int64(i), Seconds: 1, Asked: rand.Int64N(9), Sent: rand.Int64N(9), OK: rand.Int64N(9), Failed: rand.Int64N(9), Latency: h}
		}
		size, next := 1+rand.IntN(len(points)), 0
		describe := func(w Window) string {
			return fmt.Sprint(w.At, w.Seconds, w.Asked, w.Sent, w.OK, w.Failed, w.Latency.Count(), w.Latency.Quantile(0.5), w.Latency.Max())
		}
		eachWindow(points, size, func(got Window) {
			want := points[next].clone()
			for _, p := range points[next+1 : next+size] {
				want.add(p)
			}
			if describe(got) != describe(want) {
				t.Fatalf("window %d of %d of %d: %s, want %s", next, size, len(points), describe(got), describe(want))
			}
			next++
		})
		if next != len(points)-size+1 {
			t.Fatalf("%d windows of %d of %d", next, size, len(points))
		}
	}
}
