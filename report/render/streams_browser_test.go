package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/units"
)

// TestHTMLShowsStreams asserts that the page of a run with answers in pieces draws first events and gaps over time, with the values of
// the JSON report.
func TestHTMLShowsStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	r := report.Build(reporttest.Streamed(reporttest.TenMinutes(t, 600)))
	file, _ := htmlOf(t, r)
	browser := browsertest.Start(t)
	tab := browser.Open(t, file, browsertest.Look{Width: 1280, Height: 1000})
	browsertest.Value[float64](tab, whenDrawn)
	hasInk(t, tab, 7)
	tables := browsertest.Value[map[string][][]string](tab, `(async () => {
		const all = {};
		for (const f of document.querySelectorAll("figure[data-chart=first-event], figure[data-chart=event-gap]")) {
			const details = f.querySelector("details");
			details.open = true;
			await new Promise(done => details.addEventListener("toggle", done, {once: true}));
			all[f.dataset.chart] = [...details.querySelectorAll("tr")].map(line => [...line.cells].map(c => c.textContent));
		}
		return all;
	})()`)
	for name, of := range map[string]func(report.SeriesStreams) report.SeriesTimes{
		"first-event": func(s report.SeriesStreams) report.SeriesTimes { return s.FirstEvent }, "event-gap": func(s report.SeriesStreams) report.SeriesTimes { return s.EventGap },
	} {
		if len(tables[name]) != len(r.Series)+1 || fmt.Sprint(tables[name][0]) != "[time p50 p90 p99 p99.9]" {
			t.Fatalf("%s: %d rows, %v", name, len(tables[name]), tables[name][:1])
		}
		found := 0
		for i, s := range r.Series {
			var want []string
			times := of(s.Streams)
			for _, ns := range []int64{times.P50, times.P90, times.P99, times.P999} {
				if text := "–"; ns == 0 {
					want = append(want, text)
				} else {
					want = append(want, render.Spaced(units.Duration(ns)))
				}
			}
			if times.P50 > 0 {
				found++
			}
			if got := tables[name][i+1][1:]; strings.ReplaceAll(fmt.Sprint(got), "\u00a0", "") != strings.ReplaceAll(fmt.Sprint(want), "\u00a0", "") {
				t.Errorf("%s at %d: %v, want %v", name, s.T, got, want)
			}
		}
		if found < 60 {
			t.Errorf("%s: %d points have times", name, found)
		}
	}
	isQuiet(t, tab)
}
