package watch

import (
	"fmt"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
)

// TestLinesAboveTheLine: messages of a worker appear above the progress line, which is gone at the end.
func TestLinesAboveTheLine(t *testing.T) {
	p := watchtest.NewTerminal(t, 10)
	l := NewLive(Options{Out: p.Slave, Every: time.Second})
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

// TestNoLiveLine: without a terminal there are only the messages. The run is not even opened.
func TestNoLiveLine(t *testing.T) {
	var out watchtest.Buffer
	l := NewLive(Options{Out: &out, Every: time.Second})
	end := l.Follow(t.Context(), nil)
	fmt.Fprintln(l, "said")
	end()
	if got := out.String(); got != "said\n" {
		t.Errorf("%q", got)
	}
}
