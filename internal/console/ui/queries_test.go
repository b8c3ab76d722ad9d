package ui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

// asking is a frame of a run that asks queries.
func asking(t testing.TB, seconds int64) Frame {
	t.Helper()
	f := onStage(t, seconds)
	f.Drawing = render.Draw(report.Build(reporttest.Queried(reporttest.TenMinutes(t, seconds))))
	return f
}

// TestPageShowsQueries: the page draws what queries answer, and goes on as answers come.
func TestPageShowsQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	none := onStage(t, 300)
	s := newStage(t, func() Frame { return none })
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/run/checkout", browsertest.Look{Width: 1280, Height: 800})
	const charts = `[...document.querySelectorAll("figure[data-chart=query]")]`
	tab.Until(`document.querySelector("figure[data-chart=latency] canvas")`)
	if n := browsertest.Value[int](tab, charts+`.length`); n != 0 {
		t.Errorf("%d charts without a query", n)
	}
	for _, seconds := range []int64{300, 420} {
		text, err := json.Marshal(asking(t, seconds))
		if err != nil {
			t.Fatal(err)
		}
		s.frames <- text
		last := map[int64]string{300: "4:55 to 4:56", 420: "6:55 to 6:56"}[seconds]
		tab.Until(charts + `.length === 3 && ` + charts + `[0].querySelector("canvas")`)
		browsertest.Value[bool](tab, charts+`[0].querySelector("details").open = true`)
		tab.Until(charts + `[0].querySelector("tbody tr:last-child")?.textContent.startsWith("` + last + `")`)
	}
	titles := browsertest.Value[string](tab, charts+`.map(f => f.parentElement.querySelector("h2").textContent + ": " + f.parentElement.querySelector(".hint").textContent).join("|")`)
	if want := `Query free over time: min(free{a="<b>"}) - 5|Query sent_bytes over time: sum(bytes)|Query away over time: up`; titles != want {
		t.Errorf("%s, want %s", titles, want)
	}
	if heard := tab.Log(); len(heard) > 0 {
		t.Errorf("the page is not quiet: %q", strings.Join(heard, "\n"))
	}
}
