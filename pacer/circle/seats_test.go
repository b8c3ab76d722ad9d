package circle

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// seatAt is the place of a seat, one by one.
func seatAt(j int64) int64 {
	return (int64(bits.Reverse32(uint32(j%Units))>>8) + seatG) % Units
}

// TestSeatsBruteForce: Seats agrees with a look at each seat.
func TestSeatsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int64{0, 1, 2, 3, 8, 64, 1000, 5000} {
		for _, a := range append(ranges(rng, 50), Range{0, Units}, Range{0, 1}, Range{Units - 1, 1}, Range{seatG, 1}, Range{seatG - 1, 2}) {
			want := int64(0)
			for j := range n {
				if at := seatAt(j); a.Lo <= at && at < a.Lo+a.N {
					want++
				}
			}
			if got := a.Seats(n); got != want {
				t.Fatalf("%+v has %d of %d seats, want %d", a, got, n, want)
			}
		}
	}
	if n := (Range{0, Units}).Seats(3*Units + 5); n != 3*Units+5 {
		t.Errorf("the whole circle has %d seats", n)
	}
}

// TestSeatsAreFair: workers with equal ranges have equally many seats if both are powers of two. Else they differ by three at
// most, for up to 12 workers and 64 seats. The seats of all add up, and more seats take none away.
func TestSeatsAreFair(t *testing.T) {
	for workers := int64(1); workers <= 12; workers++ {
		before := make([]int64, workers)
		for n := int64(1); n <= 64; n++ {
			sum, least, most := int64(0), n, int64(0)
			for w := range workers {
				lo := Units * w / workers
				got := Range{lo, Units*(w+1)/workers - lo}.Seats(n)
				if got < before[w] {
					t.Fatalf("worker %d of %d has %d of %d seats, and had %d before", w, workers, got, n, before[w])
				}
				before[w] = got
				sum, least, most = sum+got, min(least, got), max(most, got)
			}
			allowed := int64(3)
			if n&(n-1) == 0 && workers&(workers-1) == 0 {
				allowed = (n%workers + workers - 1) / workers
			}
			if sum != n || most-least > allowed {
				t.Errorf("%d seats for %d workers: %d in all, from %d to %d", n, workers, sum, least, most)
			}
		}
	}
}

func BenchmarkSeats(b *testing.B) {
	a := Range{Units / 3, Units / 3}
	for b.Loop() {
		a.Seats(64)
	}
}
