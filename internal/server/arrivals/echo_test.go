package arrivals

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// TestEcho: each line or datagram comes back as it was, and is counted once. A stall holds answers back, not arrivals.
func TestEcho(t *testing.T) {
	for _, kind := range []string{Lines, Datagrams} {
		for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
			for _, latency := range []time.Duration{0, time.Millisecond} {
				s := start(t, Options{Echo: kind, Addr: address, Latency: latency})
				if want := kind + "://" + s.Addr(); s.URL() != want {
					t.Errorf("%s, want %s", s.URL(), want)
				}
				c, err := net.Dial(kind, s.Addr())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				br := bufio.NewReader(c)
				for i := range 20 {
					began := time.Now()
					if i == 10 {
						s.Stall(20 * time.Millisecond)
					}
					line := fmt.Sprintf("line %d\n", i)
					if _, err := c.Write([]byte(line)); err != nil {
						t.Fatal(err)
					}
					if got, err := br.ReadString('\n'); err != nil || got != line {
						t.Fatalf("%s: %q, %v", kind, got, err)
					}
					if took := time.Since(began); took < latency || i == 10 && took < 20*time.Millisecond {
						t.Errorf("%s: an answer took %v", kind, took)
					}
				}
				if n := s.Count(); n != 20 || len(s.Arrivals()) != 20 {
					t.Errorf("%s: %d arrived", kind, n)
				}
			}
		}
	}
}

// TestLongLine: a line without an end takes no memory without end, and is no request.
func TestLongLine(t *testing.T) {
	s := start(t, Options{Echo: Lines})
	c := dial(t, s)
	_, _ = c.Write([]byte(strings.Repeat("x", longestLine+1))) // it may be cut off
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an answer to half a line")
	}
	if n := s.Count(); n != 0 {
		t.Errorf("%d arrived", n)
	}
}
