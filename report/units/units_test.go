package units_test

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/units"
)

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Second: "10s", time.Minute: "1m", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", time.Hour: "1h", 20 * time.Hour: "20h",
		time.Hour + time.Second: "1h0m1s", 90 * time.Minute: "1h30m", 1500 * time.Millisecond: "1.5s", 250 * time.Microsecond: "250µs",
	} {
		if got := units.Length(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestThousandths: no digit is shown that says nothing.
func TestThousandths(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.2: "0.2", 0.0004: "0", 500: "500", 2500.5: "2500.5", 1.0 / 3: "0.333", 1e8: "100000000"} {
		if got := units.Thousandths(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestThings: one thing has no s.
func TestThings(t *testing.T) {
	for n, want := range map[int64]string{0: "0 workers", 1: "1 worker", 2: "2 workers", 12_000: "12000 workers"} {
		if got := units.Things(n, "worker"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
