package streams

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/server/site"
)

// TestAtOnce asserts that at most as many streams are written at a time as there are slots, that each stream waits for its turn, and
// that clients that go away, in the queue or in the middle, take nothing from the others.
func TestAtOnce(t *testing.T) {
	for _, of := range []string{Events, Tokens} {
		synctest.Test(t, func(t *testing.T) {
			const ms = time.Millisecond
			s := parse(t, "first=100ms,"+of+"=5,gap=25ms,at-once=2", of) // 200 ms each: 10 a second
			path, body := "/", ""
			if of == Tokens {
				path, body = "/v1/completions", `{"stream":true,"prompt":"a"}`
			}
			served, err := site.New(404, s.Routes(NewLog(nil)))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			var clients sync.WaitGroup
			got := make([]*client, 12)
			for i := range got {
				got[i] = &client{}
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				r := httptest.NewRequest("POST", path, nil).WithContext(ctx)
				reply := served.Find(r).Reply(r, []byte(body))
				if i == 5 { // leaves after two pieces and the head, when its second event is written
					got[i].leaves = 3
				}
				clients.Go(func() {
					err := reply.Stream(time.Now(), time.Now(), got[i])
					if want := map[int]error{5: errGone, 7: context.Canceled}[i]; !errors.Is(err, want) {
						t.Errorf("client %d: %v, want %v", i, err, want)
					}
				})
				if i == 7 { // leaves the queue
					synctest.Wait()
					leave()
				}
				synctest.Wait()
			}
			clients.Wait()
			// The clients 0 to 4 begin at 0, 0, 200, 200 and 400 ms. 5 begins at 400 ms and leaves at 525 ms, when 6 begins.
			for i, begin := range map[int]time.Duration{0: 0, 1: 0, 2: 200, 3: 200, 4: 400, 6: 525, 8: 600, 9: 725, 10: 800, 11: 925} {
				if first := got[i].times[1].Sub(began); first != begin*ms+100*ms {
					t.Errorf("%s: client %d has its first event after %v, want %v", of, i, first, begin*ms+100*ms)
				}
			}
			if len(got[7].times) > 1 {
				t.Errorf("who left the queue got %d pieces", len(got[7].times))
			}
		})
	}
}

// TestAtOnceKeepsItsRate asserts that a server that is late for each event still writes as many streams as its slots allow.
func TestAtOnceKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := parse(t, "first=50ms,events=2,gap=50ms,at-once=3", Events) // 30 a second
		began, log := time.Now(), NewLog(nil)
		var clients sync.WaitGroup
		for range 300 {
			reply := ask(t, s, log, "GET", "/", "")
			clients.Go(func() {
				if err := reply.Stream(began, began, &client{slow: 3 * time.Millisecond}); err != nil {
					t.Error(err)
				}
			})
		}
		clients.Wait()
		if took := time.Since(began); took < 10*time.Second || took > 10*time.Second+20*time.Millisecond {
			t.Errorf("300 streams took %v, want 10 s", took)
		}
	})
}
