package ui

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
)

// TestPageShowsConcurrency asserts that the tiles of a closed loop say how many requests are in flight: all numbers so far, and the
// present one. A loop without such a number is as fast as it goes.
func TestPageShowsConcurrency(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	for _, c := range []struct {
		numbers     []int64
		now         int64
		asked, rate string
	}{
		{nil, 0, "maxas fast as it goes", "maxas fast as it goes"},
		{[]int64{8}, 8, "c=8as many requests in flight", "c=8as many requests in flight"},
		{[]int64{4, 8, 16, 32, 1000}, 1000, "c=4, c=8, c=16, …, c=1,000as many requests in flight", "c=1,000as many requests in flight"},
		{[]int64{4, 8}, 0, "c=4, c=8as many requests in flight", "c=8as many requests in flight"}, // an archive
	} {
		s := newStage(t, func() Frame {
			f := onStage(t, 300)
			f.Report.ClosedLoop, f.Report.Concurrency, f.Concurrency = true, c.numbers, c.now
			return f
		})
		tab := browsertest.Start(t).Visit(t, s.URL+"/#/run/checkout", browsertest.Look{Width: 1280, Height: 800})
		tab.Until(`document.querySelector("figure[data-chart=latency] canvas")`)
		for name, want := range map[string]string{"asked": c.asked, "rate asked for": c.rate} {
			shown := browsertest.Value[[]string](tab, `[...document.querySelectorAll(".tile:not([hidden])")].map(e => e.textContent).filter(t => t.startsWith("`+name+`"))`)
			if len(shown) != 1 || strings.ReplaceAll(shown[0], "\u00a0", "") != name+want {
				t.Errorf("%v: tile %q, want %q", c.numbers, shown, name+want)
			}
		}
		if heard := tab.Log(); len(heard) > 0 {
			t.Errorf("the page has errors: %q", heard)
		}
	}
}
