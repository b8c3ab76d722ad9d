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

// TestPageShowsFirstBytes asserts that a tile with the first byte appears when an answer had one, and that the chart by
// percentile has its line then.
func TestPageShowsFirstBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	frame := onStage(t, 300)
	s := newStage(t, func() Frame { return frame })
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/run/checkout", browsertest.Look{Width: 1280, Height: 800})
	const tile = `[...document.querySelectorAll(".tile")].find(e => e.textContent.startsWith("first byte p99"))`
	const lines = `[...document.querySelectorAll("figure[data-chart=percentiles] button, figure[data-chart=percentiles] th")].map(e => e.textContent).join()`
	tab.Until(`document.querySelector("figure[data-chart=percentiles] canvas")`)
	if !browsertest.Value[bool](tab, tile+`.hidden`) {
		t.Error("a tile without first bytes")
	}
	frame.Drawing = render.Draw(report.Build(reporttest.Phased(reporttest.TenMinutes(t, 310))))
	text, err := json.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	s.frames <- text
	tab.Until(`!` + tile + `.hidden`)
	tab.Until(lines + `.includes("first byte")`)
	shown := strings.ReplaceAll(browsertest.Value[string](tab, tile+`.textContent`), "\u00a0", "")
	first := frame.Report.FirstByte
	if want := "first byte p99" + units.Duration(first.P99) + "from sending; p50 " + units.Duration(first.P50); shown != want {
		t.Errorf("%q, want %q", shown, want)
	}
	if heard := tab.Log(); len(heard) > 0 {
		t.Errorf("%q", heard)
	}
}
