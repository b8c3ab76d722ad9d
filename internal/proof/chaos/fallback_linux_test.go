package chaos

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// fallbackScenario is the negative control. A common fallback when Redis is away is the full rate, by a limiter on each
// machine: that sends N times the rate. Our fleet keeps the bound in the same outage.
func fallbackScenario() scenario {
	const perSecond, outage = 500, 2 * time.Second
	return scenario{name: "Redis frozen for 2 s, 500/s, beside 8 local limiters", qps: perSecond, lasts: 7 * time.Second, play: func(s *stage) {
		s.breaks()
		s.redis.Pause()
		before := s.web.Count()
		theirs := fallBack(s.t, s.workers, perSecond, outage)
		ours := s.web.Count() - before
		s.redis.Resume()
		s.t.Logf("in an outage of %v at %d/s, %d local limiters sent %d, as many workers %d", outage, perSecond, s.workers, theirs, ours)
		if asked := float64(s.workers) * perSecond * outage.Seconds(); float64(theirs) < 0.8*asked {
			s.t.Errorf("the local limiters sent %d of %.0f: this is no control", theirs, asked)
		}
	}}
}

// fallBack is n clients that have lost Redis and go on, each at the full rate. It returns the number of arrivals.
func fallBack(t *testing.T, n, perSecond int, d time.Duration) int64 {
	t.Helper()
	web, err := arrivals.Start(arrivals.Options{NoPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	until := time.Now().Add(d)
	var fleet sync.WaitGroup
	for range n {
		fleet.Go(func() {
			limiter := rate.NewLimiter(rate.Limit(perSecond), 1)
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for limiter.Wait(t.Context()) == nil && time.Now().Before(until) {
				response, err := client.Get(web.URL())
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		})
	}
	fleet.Wait()
	return web.Count()
}
