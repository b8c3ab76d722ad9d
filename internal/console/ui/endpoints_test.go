package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
)

// endowed is a ledger with a budget of each kind, and runs that hold something of it.
func endowed() ledger.State {
	at := time.Date(2026, 11, 20, 14, 8, 20, 0, time.UTC)
	const perSecond = 1_000_000
	budget := func(name string, rate int64, note, who string) ledger.Budget {
		return ledger.Budget{Budget: reserve.Budget{Name: name, Rate: rate, Version: at.Add(-time.Hour).UnixMicro()}, Note: ledger.Note{Text: note, Who: who}}
	}
	frozen := budget("*.staging.test", 500*perSecond, "", "ann@desk")
	frozen.Frozen, frozen.Freeze, frozen.Why = true, at.Add(-time.Minute).UnixMicro(), ledger.Note{Text: "incident 4711", Who: "bob@desk"}
	row := func(host, run string, rate, limit int64) ledger.Row {
		return ledger.Row{Host: host, Run: run + "-uid", Rate: rate * perSecond, Ends: at.Add(27 * time.Second), Cap: limit * perSecond,
			People: ledger.People{Run: run, Who: "ann@desk", Since: at.Add(-8 * time.Minute).UnixMicro()}}
	}
	return ledger.State{Now: at,
		Budgets: []ledger.Budget{budget("*", 100*perSecond, "", "ann@desk"), frozen, budget("db.staging.test", 50*perSecond, "", "ann@desk"),
			budget("shop.example", 20_000*perSecond, "agreed with payments", "ann@desk")},
		Rows: []ledger.Row{row("other.test:80", "probe", 40, 0), row("shop.example:443", "checkout", 12_000, 9_000), row("shop.example:443", "nightly-soak", 2_500, 0), row("web.staging.test:443", "smoke", 20, 0)},
	}
}

// posted is an order that a stage got.
type posted struct{ path, body string }

// ledger makes a stage answer with a ledger.
func (s *stage) ledger(control bool, state func() ledger.State) {
	s.handle("GET /api/v1/budgets", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, budgetList{control, budgets.All(state()), budgets.Each(state())})
	})
}

// ledgerStage serves the page with a ledger. Orders go to the channel; refuse says why one is refused, "" = it is not.
func ledgerStage(t testing.TB, control bool, state func() ledger.State, refusal func(posted) string) (*stage, chan posted) {
	t.Helper()
	orders := make(chan posted, 8)
	s := newStage(t, func() Frame { return Frame{} })
	s.ledger(control, state)
	s.handle("POST /api/v1/budgets/{budget}/{order}", func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if status, why := readBody(w, r, &body); why != "" {
			refuse(w, status, why)
			return
		}
		order := posted{r.PathValue("budget") + " " + r.PathValue("order"), string(body)}
		orders <- order
		if why := refusal(order); why != "" {
			refuse(w, http.StatusConflict, why)
			return
		}
		answer(w, budgetDone{Document: budgets.Of(state(), budgets.Change{Name: r.PathValue("budget"), Command: r.PathValue("order"), Changed: true})})
	})
	return s, orders
}

func accepted(posted) string { return "" }

// table is an expression: the texts of a table, a line for each row, with | between cells.
func tableText(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("[aria-label='%s'] tbody tr")].map(r => [...r.cells].map(c => c.innerText.replace(/\s+/g, " ").trim()).join("|")).join("\n")`, name)
}

// TestPageShowsEndpoints asserts that the view Endpoints has each budget with what is left, hosts without one, freezes with
// their reason, who holds what until when, and whether the ledger grants.
func TestPageShowsEndpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	quiet := endowed()
	quiet.Quiet = quiet.Now.Add(31 * time.Second)
	calm, _ := ledgerStage(t, false, endowed, accepted)
	still, _ := ledgerStage(t, true, func() ledger.State { return quiet }, accepted)
	browser := browsertest.Start(t)
	tab := browser.Visit(t, calm.URL+"/#/endpoints", browsertest.Look{})
	tab.Until(fmt.Sprintf(shown, 0, 9))
	want := `*|100 each|40|–|1|open|Freeze… Change|–|ann@desk, 2026-11-20 13:08:20 UTC
*.staging.test|500|20|480|1|frozen|Thaw… Change|incident 4711|bob@desk, 2026-11-20 14:07:20 UTC
db.staging.test|50|0|50|0|frozen|Freeze… Change|a wider name is frozen|ann@desk, 2026-11-20 13:08:20 UTC
shop.example|20,000|14,500|5,500|2|open|Freeze… Change|agreed with payments|ann@desk, 2026-11-20 13:08:20 UTC
other.test|100 by *|40|60|1|open|Freeze… Change|–|–`
	if got := browsertest.Value[string](tab, tableText("Budgets")); got != want {
		t.Errorf("budgets:\n%s\nwant:\n%s", got, want)
	}
	want = `probe|other.test:80|40|27 s (14:08:47)|–|*|ann@desk|2026-11-20 14:00:20 UTC
checkout|shop.example:443|12,000|27 s (14:08:47)|9,000|shop.example|ann@desk|2026-11-20 14:00:20 UTC
nightly-soak|shop.example:443|2,500|27 s (14:08:47)|–|shop.example|ann@desk|2026-11-20 14:00:20 UTC
smoke|web.staging.test:443|20|27 s (14:08:47)|–|*.staging.test|ann@desk|2026-11-20 14:00:20 UTC`
	if got := browsertest.Value[string](tab, tableText("What runs hold")); got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
	const says = `document.querySelector(".grants").textContent`
	if got := browsertest.Value[string](tab, says); got != "The ledger grants what is left." {
		t.Errorf("a ledger that grants: %q", got)
	}
	if n := browsertest.Value[int](tab, `document.querySelectorAll("fieldset:not([disabled]), .endpoints button:enabled").length`); n > 0 {
		t.Errorf("a page without --control has %d ways to change a budget", n)
	}
	tab = browser.Visit(t, still.URL+"/#/endpoints", browsertest.Look{})
	tab.Until(says + `.startsWith("Nothing new is granted until 2026-11-20 14:08:51 UTC: ")`)
}

// TestPageAsksWhyItFreezes asserts that the keyboard freezes an endpoint from its row, only with a reason, and thaws it.
func TestPageAsksWhyItFreezes(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	s, orders := ledgerStage(t, true, endowed, accepted)
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/endpoints", browsertest.Look{})
	tab.Until(fmt.Sprintf(shown, 0, 9))
	press := func(label string) {
		tab.Do(chromedp.Focus(chromedp.CSS(fmt.Sprintf("button[aria-label=%q]", label))), chromedp.KeyEvent(kb.Enter))
	}
	press("Freeze shop.example")
	tab.Until(`document.activeElement.matches("dialog[open] input[name=why]")`)
	tab.Do(chromedp.KeyEvent(kb.Enter))
	tab.Until(`document.querySelector("dialog .refused").textContent === "Say why nobody may send there."`)
	tab.Do(chromedp.KeyEvent("incident 4712"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "))
	if got, want := await.Receive(t, "an order", orders), (posted{"shop.example freeze", `{"why":"incident 4712"}`}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	const said = `!document.querySelector("dialog") && document.querySelector(".said").textContent === %q`
	tab.Until(fmt.Sprintf(said, "shop.example is frozen. No run sends there."))
	press("Thaw *.staging.test")
	tab.Until(`document.querySelector("dialog[open] h2")?.textContent === "Thaw *.staging.test?"`)
	tab.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "))
	if got, want := await.Receive(t, "an order", orders), (posted{"*.staging.test thaw", `{}`}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	tab.Until(fmt.Sprintf(said, "*.staging.test is thawed."))
}

// TestPageBringsRunsDown asserts that a budget below what runs hold is set only after a question that names these runs.
func TestPageBringsRunsDown(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	s, orders := ledgerStage(t, true, endowed, func(p posted) string {
		if strings.Contains(p.body, "cut") {
			return ""
		}
		return `runs hold more than is allowed then: checkout 12000 per second; give a higher rate, or bring them down with "cut":true`
	})
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/endpoints", browsertest.Look{Width: 400, Height: 800})
	tab.Until(fmt.Sprintf(shown, 0, 9))
	tab.Do(chromedp.Focus(chromedp.CSS(`button[aria-label="Change shop.example"]`)), chromedp.KeyEvent(kb.Enter))
	tab.Until(`document.activeElement.name === "rate" && document.querySelector("input[name=endpoint]").value === "shop.example"`)
	tab.Do(chromedp.KeyEvent("5k"), chromedp.KeyEvent(kb.Enter)) // over the rate that was there
	if got, want := await.Receive(t, "an order", orders), (posted{"shop.example rate", `{"rate":"5k"}`}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	tab.Until(`document.querySelector("dialog[open]")?.textContent.includes("runs hold more than is allowed then: checkout 12000 per second.")`)
	tab.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "))
	if got, want := await.Receive(t, "an order", orders), (posted{"shop.example rate", `{"rate":"5k","cut":true}`}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	tab.Until(`document.querySelector(".said").textContent === "The budget of shop.example is 5k per second, and all runs obey it."`)
}

// TestEndpointsMemory asserts that a thousand answers cost the view no more than a hundred, though rows come and go.
func TestEndpointsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	var asked atomic.Int64 // each answer reads the state twice
	s, _ := ledgerStage(t, true, func() ledger.State {
		n, state := asked.Add(1)/2, endowed()
		state.Now = state.Now.Add(time.Duration(n) * time.Millisecond)
		state.Rows = state.Rows[n%3:]
		return state
	}, accepted)
	tab := browsertest.Start(t, "--jitless").Visit(t, s.URL+"/#/endpoints", browsertest.Look{})
	tab.Until(fmt.Sprintf(shown, 0, 6))
	browsertest.Value[bool](tab, `(window.answers = 0, window.real = window.fetch, window.later = window.setTimeout, window.setTimeout = (f) => later(f, 0),
		window.fetch = async (...all) => { answers++; return real(...all); }, true)`)
	tab.Until(`answers >= 100`)
	heap, elements := tab.Memory()
	tab.Until(`answers >= 1000`)
	later, all := tab.Memory()
	if later > 1.1*heap || all > elements+40 {
		t.Errorf("the page grows from %.2f MB to %.2f MB, and from %d elements to %d", heap/1e6, later/1e6, elements, all)
	}
}

// TestPageSaysWhatABudgetDoes asserts that a run says that its endpoint is frozen, that it sends a part of its plan, or that
// it waits for room, and that events of budgets lead to the endpoints.
func TestPageSaysWhatABudgetDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	browser := browsertest.Start(t)
	const read = `[document.querySelector(".banner h2"), document.querySelector(".banner p"), [...document.querySelectorAll(".tile")].find(e => e.textContent.startsWith("rate asked for")).querySelector(".more")]
		.map(e => e.textContent).join("|")`
	for name, c := range map[string]struct {
		change func(*Frame)
		want   string
	}{
		"frozen": {func(f *Frame) { f.Phase, f.Frozen = "paused", true },
			"Paused|Its endpoint is frozen: nothing is sent there until somebody thaws it. Endpoints says why. |its endpoint is frozen"},
		"reduced":  {func(f *Frame) { f.Factor = 0.4 }, "Running|It sends 40.00\u00a0% of its plan's rates: the changes say why. |requests, 40 % of its plan"},
		"no right": {func(f *Frame) { f.NoRight = true }, "Running|It sends nothing: it waits for room at its endpoint. |it waits for room at its endpoint"},
		"neither":  {func(*Frame) {}, "Running|"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := onStage(t, 520)
			c.change(&frame)
			tab := browser.Visit(t, newStage(t, func() Frame { return frame }).URL+"/#/run/checkout", browsertest.Look{})
			tab.Until(fmt.Sprintf(shown, 4, 10))
			got := browsertest.Value[string](tab, read)
			for part := range strings.SplitSeq(c.want, "|") {
				if !strings.Contains(got, part) {
					t.Errorf("%q does not say %q", got, part)
				}
			}
			if alone := c.want == "Running|"; alone && strings.Contains(got, "It sends") {
				t.Errorf("%q", got)
			}
		})
	}
	frame := onStage(t, 520)
	frame.Report.Events = append(frame.Report.Events, report.Event{At: frame.At, Kind: "scale", Who: "load-7@desk", What: "40 % of the plan, the budget of its endpoint was cut"},
		report.Event{At: frame.At, Kind: "pause", Who: "ann@desk", What: "its endpoint is frozen"}, report.Event{At: frame.At, Kind: "pause", Who: "ann@desk"})
	tab := browser.Visit(t, newStage(t, func() Frame { return frame }).URL+"/#/run/checkout", browsertest.Look{})
	tab.Until(fmt.Sprintf(shown, 4, 10))
	want := "|its endpoint is frozen (see Endpoints)|40 % of the plan, the budget of its endpoint was cut (see Endpoints)"
	got := browsertest.Value[string](tab, `[...document.querySelectorAll("table.events tbody tr")].slice(0, 3).map(r => r.cells[4].textContent).join("|")`)
	if links := browsertest.Value[int](tab, `document.querySelectorAll("table.events a[href='#/endpoints']").length`); got != want || links != 2 {
		t.Errorf("%q with %d links, want %q", got, links, want)
	}
}
