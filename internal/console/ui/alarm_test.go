package ui

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report/units"
)

// TestPageShowsWhatWasNotSent: in red beside the success, the same share as in the text report.
func TestPageShowsWhatWasNotSent(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	frame := onStage(t, 520)
	tab := browsertest.Start(t).Visit(t, newStage(t, func() Frame { return frame }).URL+"/#/run/checkout", browsertest.Look{Width: 1280, Height: 800})
	const alarm = `document.querySelector(".tile.ok .alarm")`
	tab.Until(alarm + ` && ` + alarm + `.textContent !== ""`)
	share, _ := frame.Report.NotSent()
	got := browsertest.Value[[]string](tab, `[`+alarm+`.textContent, getComputedStyle(`+alarm+`).color, String(document.querySelector(".tile.sent .alarm").hidden)]`)
	if want := units.Percent(share) + "\u00a0% not sent|rgb(192, 38, 38)|true"; share == 0 || strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
