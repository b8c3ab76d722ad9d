package watch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestHeartbeat: a dead-man's switch gets signs of life three times as often as needed, even if some fail.
func TestHeartbeat(t *testing.T) {
	for deadman, every := range map[time.Duration]time.Duration{
		3 * time.Second: time.Second, 15 * time.Second: 5 * time.Second, 24 * time.Hour: 5 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			began, n := time.Now(), 0
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				Heartbeat(ctx, deadman, func(limit context.Context) error {
					if at := time.Since(began); at != time.Duration(n)*every {
						t.Errorf("%v: sign %d after %v, want one every %v", deadman, n, at, every)
					}
					if end, ok := limit.Deadline(); !ok || time.Until(end) > every {
						t.Errorf("%v: a call may take until %v", deadman, end)
					}
					n++
					return errors.New("no answer")
				})
			}()
			time.Sleep(10*every + every/2)
			cancel()
			<-ended
			if n != 11 {
				t.Errorf("%v: %d signs of life", deadman, n)
			}
		})
	}
}
