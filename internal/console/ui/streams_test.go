package ui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/units"
)

// streaming is a frame of a run whose answers come in pieces.
func streaming(t testing.TB, seconds int64) Frame {
	t.Helper()
	f := onStage(t, seconds)
	f.Drawing = render.Draw(report.Build(reporttest.Streamed(reporttest.TenMinutes(t, seconds))))
	return f
}

// TestPageShowsStreams asserts that plots and tiles of first events and gaps are there when answers come in pieces, and go on as
// answers end; and that without such answers there are none.
func TestPageShowsStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	none := onStage(t, 300)
	s := newStage(t, func() Frame { return none })
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/run/checkout", browsertest.Look{Width: 1280, Height: 800})
	const charts = `[...document.querySelectorAll("figure[data-chart=first-event], figure[data-chart=event-gap]")]`
	const tiles = `[...document.querySelectorAll(".tile:not([hidden])")].filter(e => /^(first event|event gap|goodput)/.test(e.textContent))`
	tab.Until(`document.querySelector("figure[data-chart=latency] canvas")`)
	if n := browsertest.Value[int](tab, charts+`.length + `+tiles+`.length`); n != 0 {
		t.Errorf("%d charts and tiles without a stream", n)
	}
	var last Frame
	for _, seconds := range []int64{300, 420} {
		last = streaming(t, seconds)
		text, err := json.Marshal(last)
		if err != nil {
			t.Fatal(err)
		}
		s.frames <- text
		end := map[int64]string{300: "4:59 to 5:00", 420: "6:59 to 7:00"}[seconds]
		tab.Until(charts + `.length === 2 && ` + charts + `.every(f => f.querySelector("canvas"))`)
		browsertest.Value[bool](tab, charts+`.map(f => f.querySelector("details").open = true).every(Boolean)`)
		tab.Until(charts + `.every(f => f.querySelector("tbody tr:last-child")?.textContent.startsWith("` + end + `"))`)
	}
	if titles := browsertest.Value[string](tab, charts+`.map(f => f.parentElement.querySelector("h2").textContent).join("|")`); titles != "First event over time|Event gap over time" {
		t.Errorf("charts %s", titles)
	}
	rows := browsertest.Value[[]int](tab, charts+`.map(f => [...f.querySelectorAll("tbody tr")].filter(line => !line.textContent.includes("–")).length)`)
	points := 0
	for _, p := range last.Report.Series {
		if p.Streams.Answers > 0 {
			points++
		}
	}
	if len(rows) != 2 || points == 0 || rows[0] != points || rows[1] != points {
		t.Errorf("%v points have times, want %d each", rows, points)
	}
	shown := strings.ReplaceAll(browsertest.Value[string](tab, tiles+`.map(e => e.textContent).join("|")`), "\u00a0", "")
	times := last.Report.Streams
	want := "first event p99" + units.Duration(times.FirstEvent.P99) + "p50 " + units.Duration(times.FirstEvent.P50) + "|event gap p99" + units.Duration(times.EventGap.P99) + "p50 " + units.Duration(times.EventGap.P50) + "|goodput"
	if !strings.HasPrefix(shown, want) || !strings.HasSuffix(shown, "of answers met their goals") {
		t.Errorf("tiles %q, want %q", shown, want)
	}
	if heard := tab.Log(); len(heard) > 0 {
		t.Errorf("the page is not quiet: %q", strings.Join(heard, "\n"))
	}
}
