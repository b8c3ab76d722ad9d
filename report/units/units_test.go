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
