package loadworker

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestAnnounceSeats: a worker says once that it waits, that it sends, and that its share is more than it can have.
func TestAnnounceSeats(t *testing.T) {
	var log strings.Builder
	observe := announceSeats(slog.New(slog.NewTextHandler(&log, nil)), 10)
	now := int64(1)
	see := func(n int64, held lease.Ranges) {
		l := lease.Law{Law: pacer.Law{ID: 1, R0: n, R1: n, Den: 1_000_000, K: pacer.Endless}, End: pacer.Endless, ClockEpoch: 1}
		for range 4 {
			now += idleTime / 2
			over := lease.Law{Law: pacer.Law{ID: 2, T0: 1 << 40}, Phase: lease.Ended, Prev: 1, Cut: pacer.Endless, ClockEpoch: 1} // the run has a length
			observe(lease.Reply{Status: lease.OK, Now: now, Members: 3}, &lease.View{Laws: (*lease.Laws)(nil).With(l, over), Held: held})
		}
	}
	see(0, lease.Whole()) // a rate of 0: --qps max
	see(2, nil)           // it has no share yet
	see(2, lease.Ranges{{Lo: 0, Hi: 1}})
	see(8, lease.Whole())
	see(22, lease.Ranges{{Lo: 0, Hi: circle.Units / 2}})
	var got []string
	for line := range strings.Lines(log.String()) {
		_, text, _ := strings.Cut(line, "level=")
		got = append(got, strings.TrimSpace(text))
	}
	want := []string{
		`INFO msg="waiting: the run has so few requests in flight that none is this worker's" concurrency=2 workers=3`,
		`INFO msg="sending: some of the requests in flight are this worker's now" share=8`,
		`WARN msg="the run has fewer requests in flight than its concurrency: this worker's share is larger than --max-connections and --max-in-flight allow" share=11 most=10`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
