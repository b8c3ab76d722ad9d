package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/ui"
)

// TestUICost: fifty pages of one server all have their frames. On a quiet machine they cost Redis less than 5 % of a core,
// and each page has a frame a second.
func TestUICost(t *testing.T) {
	nightly(t)
	const pages = 50
	b := newBed(t)
	workers, span := scale(3, 5), scale(6*time.Second, 20*time.Second)
	b.fleet(workers, "x", "--qps", "1000")
	b.comes("x", "running")
	time.Sleep(span / 4) // the first seconds have fewer points to read
	alone := b.redisCPU(span)
	u := b.ui()
	v := u.viewer()
	var all []*follower
	for range pages {
		all = append(all, v.follow("x"))
	}
	for _, f := range all {
		f.frame()
	}
	watched := b.redisCPU(span)
	least := 1 << 30
	for _, f := range all {
		least = min(least, len(f.events))
	}
	t.Logf("Redis uses %.2f %% of a core with %d workers, and %.2f %% with %d pages: %.2f %% more; each page had at least %d frames in %v",
		100*alone, workers, 100*watched, pages, 100*(watched-alone), least, span)
	if acceptance() && watched-alone > 0.05 {
		t.Errorf("%d pages cost Redis %.1f %% of a core, want at most 5 %%", pages, 100*(watched-alone))
	}
	if acceptance() && least < int(span.Seconds())-2 {
		t.Errorf("a page had %d frames in %v", least, span)
	}
	for _, f := range all {
		for range 3 {
			f.frame()
		}
	}
	all[0].until("requests", func(f ui.Frame) bool { return f.Report.Sent > 0 })
}

// redisCPU returns the share of a core that Redis uses over a span of time.
func (b *bed) redisCPU(span time.Duration) float64 {
	b.t.Helper()
	used := func() (sum float64) {
		text, err := b.redis.Client().Info(b.t.Context(), "cpu").Result()
		if err != nil {
			b.t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_user" || name == "used_cpu_sys" {
				seconds, err := strconv.ParseFloat(value, 64)
				if err != nil {
					b.t.Fatal(err)
				}
				sum += seconds
			}
		}
		return sum
	}
	begin, before := time.Now(), used()
	time.Sleep(span)
	return (used() - before) / time.Since(begin).Seconds()
}
