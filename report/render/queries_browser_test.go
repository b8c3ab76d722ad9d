package render_test

import (
	"fmt"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/units"
)

// TestHTMLShowsQueries: each query that was answered has a chart, with the values of the JSON report, and what was asked.
func TestHTMLShowsQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	r := report.Build(reporttest.Queried(reporttest.TenMinutes(t, 600)))
	file, _ := htmlOf(t, r)
	tab := browsertest.Start(t).Open(t, file, browsertest.Look{Width: 1280, Height: 1000})
	browsertest.Value[float64](tab, whenDrawn)
	tables := browsertest.Value[map[string][][]string](tab, `(async () => {
		const all = {};
		for (const f of document.querySelectorAll("figure[data-chart^=query]")) {
			const details = f.querySelector("details");
			details.open = true;
			await new Promise(done => details.addEventListener("toggle", done, {once: true}));
			all[f.parentElement.querySelector("h2").textContent + "; " + f.parentElement.querySelector(".hint").textContent] = [...details.querySelectorAll("tr")].map(line => [...line.cells].map(c => c.textContent));
		}
		return all;
	})()`)
	free, bytes := tables[`Query free over time; min(free{a="<b>"}) - 5`], tables["Query sent_bytes over time; sum(bytes)"]
	if len(tables) != 2 || fmt.Sprint(free[0], bytes[0]) != "[time mean max min] [time value]" {
		t.Fatalf("%v", tables)
	}
	row := 0
	for _, s := range r.Series {
		v, asked := s.Queries["free"]
		if !asked {
			continue
		}
		row++
		want := []string{units.Groups(units.Value(v.Avg)), units.Groups(units.Value(v.Max)), units.Groups(units.Value(v.Min))}
		if got := free[row][1:]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d s: %q, want %q", s.T, got, want)
		}
	}
	if row != 120 || len(free) != 121 || len(bytes) != 121 || fmt.Sprint(bytes[1:3]) != "[[0:00 to 0:01 2e+18] [0:05 to 0:06 2.005e+18]]" {
		t.Errorf("%d rows of %d, %v", len(free), row, bytes[1:3])
	}
	isQuiet(t, tab)
}
