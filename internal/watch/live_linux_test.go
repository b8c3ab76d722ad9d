package watch

import (
	"fmt"
	"testing"

	"github.com/loadctl/loadctl/internal/watch/watchtest"
)

// TestLinesAboveTheLine: what a worker says comes above the line that is written anew, and the line is gone at the end.
func TestLinesAboveTheLine(t *testing.T) {
	p := watchtest.NewTerminal(t, 10)
	l := NewLive(p.Slave)
	say := func(text string) {
		if n, err := fmt.Fprintln(l, text); n != len(text)+1 || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	say("first")
	l.line.show("0123456789")
	say("second")
	l.line.clear()
	l.line.clear()
	say("third")
	if got, want := p.Shown(), "first\n\r\x1b[K012345678\r\x1b[Ksecond\n012345678\r\x1b[Kthird\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoLiveLine: without a terminal there is nothing but what is said. The run is not even asked for.
func TestNoLiveLine(t *testing.T) {
	var out watchtest.Buffer
	l := NewLive(&out)
	end := l.Follow(t.Context(), nil)
	fmt.Fprintln(l, "said")
	end()
	if got := out.String(); got != "said\n" {
		t.Errorf("%q", got)
	}
}
