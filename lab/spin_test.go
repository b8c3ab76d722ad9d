//go:build linux

package main

import (
	"testing"
	"time"
)

// TestSpin checks that all requests arrive and none before it is due, also when requests wait for a connection.
func TestSpin(t *testing.T) {
	e, address := listening(t, endpointOptions{})
	s := spinner{request: []byte("GET / HTTP/1.1\r\nHost: bench\r\n\r\n")}
	if err := s.connect("http://"+address+"/", 2); err != nil {
		t.Fatal(err)
	}
	const n, rate = 300, 1000
	began := monotonic()
	if err := s.fire(n, rate); err != nil {
		t.Fatal(err)
	}
	if _, err := e.line(t.Context(), "first ", long); err != nil {
		t.Fatal(err)
	}
	times, err := e.finish(t.Context())
	if err != nil || len(times) != n {
		t.Fatalf("%d arrived, want %d; %v", len(times), n, err)
	}
	// The kernel may correct the clock of the arrivals meanwhile, by up to 500 ppm.
	const reading = int64(time.Microsecond)
	slew := (monotonic()-began)/2000 + reading
	for k, at := range times {
		if due := began + int64(k)*int64(time.Second)/rate; at < due-slew {
			t.Errorf("request %d came %v before it was due", k, time.Duration(due-at))
		}
	}
}
