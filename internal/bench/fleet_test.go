//go:build linux

package main

import (
	"math"
	"testing"
	"time"
)

// A few workers in one process take part in a run, and what Redis did for them is told apart.
func TestCrowd(t *testing.T) {
	server, err := startRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	for name, silent := range map[string]bool{"publishing": false, "silent": true} {
		c := crowd{redis: server.url(), server: server.pid(), name: name, workers: 3, silent: silent, lasting: 4 * time.Second, warm: 500 * time.Millisecond}
		got, err := c.run(t.Context(), server.client)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Workers != 3 || got.Leases == 0 || got.CPU <= 0 || got.Inside <= 0 || silent != (got.Snapshots == 0) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPaceOfAFleet(t *testing.T) {
	for workers, want := range map[int]float64{1: 10.5, 50: 526, 100: 1053} {
		if got := leasing(workers); math.Abs(got-want) > 1 {
			t.Errorf("%d workers lease %.1f times a second, want %.1f", workers, got, want)
		}
	}
	for perSecond, sound := range map[float64]bool{800: false, 1000: true, 1053: true, 1120: true, 1400: false} {
		if err := onTime(perSecond, 100, leasing(100)); (err == nil) != sound {
			t.Errorf("%.0f calls/s of 100 workers: %v", perSecond, err)
		}
	}
}
