package targets

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestNoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := open(t, Spec{URL: "noop://"}, Local{})
		slow := open(t, Spec{URL: "noop://?latency=1s"}, Local{})
		began := time.Now()
		do(t, fast, 0, "")
		if d := time.Since(began); d != 0 {
			t.Errorf("at once took %v", d)
		}
		do(t, slow, 0, "")
		if d := time.Since(began); d != time.Second {
			t.Errorf("a latency of 1s took %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if got := slow.Do(ctx, Call{}); got.Class != ClassTimeout {
			t.Errorf("past the deadline: %q", got.Class)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if got := fast.Do(canceled, Call{}); got.Class != ClassCanceled {
			t.Errorf("canceled: %q", got.Class)
		}
		fast.Close()
		do(t, fast, 0, ClassCanceled)
	})
}
