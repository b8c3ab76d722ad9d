package pacer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// A worker whose run is gone says what it does, and for how long in truth: one that was given slots sends what it has, one that was given
// none, of a closed loop, can only say when it ends.
func TestLostSaysWhatFollows(t *testing.T) {
	for _, c := range []struct {
		name, want, not string
		reply           []func(*pacer.Reply)
	}{
		{"slots", "going on by itself until", "this worker ends", []func(*pacer.Reply){grant(7, 0, 5)}},
		{"closed loop", "this worker ends if no worker that was given the run's description restores it\" in=3.5s", "by itself", nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
				if call == 0 {
					return ok(c.reply...), nil
				}
				return ok(status(pacer.StatusNoState)), nil
			}}
			var said bytes.Buffer
			l := f.leaser()
			l.Log = slog.New(slog.NewTextHandler(&said, nil))
			err := l.Run(t.Context())
			if !errors.Is(err, pacer.ErrNoState) || !strings.Contains(said.String(), c.want) || strings.Contains(said.String(), c.not) {
				t.Errorf("%s: %v, said %q, want %q and not %q", c.name, err, said.String(), c.want, c.not)
			}
			// In virtual time: what was said is what came.
			if took := time.Since(f.times[0]).Round(100 * time.Millisecond); took < 3500*time.Millisecond || took > 3700*time.Millisecond {
				t.Errorf("%s: it ended %v after the last reply", c.name, took)
			}
		})
	}
}

// TestLostHearsOfAStop: a worker whose run is gone asks on after it can restore the run no more, so it hears that the run was stopped.
func TestLostHearsOfAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
			if call == 0 {
				return ok(), nil // of a closed loop: no slots, no permit
			}
			return ok(status(pacer.StatusNoState)), nil
		}}
		began := time.Now()
		l := f.leaser()
		l.Restore = func(_ context.Context, k pacer.Known) error {
			since := time.Since(began)
			if since > 600*time.Millisecond && k.Law.F != 0 {
				t.Errorf("after %v it would still restore the run", since)
			}
			if since > 1500*time.Millisecond {
				return pacer.ErrNoState // the word that it was stopped
			}
			return nil
		}
		if err := l.Run(t.Context()); !errors.Is(err, pacer.ErrNoState) || time.Since(began) > 1700*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
