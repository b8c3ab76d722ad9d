package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/ui"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/browsertest"
)

// host is where the runs of a bed send.
func (b *bed) host() string { return strings.TrimPrefix(b.web.URL(), "http://") }

// budgeted is an answer about budgets.
type budgeted struct {
	budgets.Document
	Hosts   []budgets.Endpoint
	Pending string
}

// budget changes the budget of an endpoint, which must succeed. All runs obey then.
func (v *viewer) budget(name, order, body string) (done budgeted) {
	v.t.Helper()
	a := v.do("POST", "/api/v1/budgets/"+url.PathEscape(name)+"/"+order, body, nil)
	if err := json.Unmarshal([]byte(a.text), &done); err != nil || a.status != http.StatusOK || done.Pending != "" {
		v.t.Fatalf("%s %s %s: %d %s, %v", order, name, body, a.status, a.text, err)
	}
	openAPI(v.t).check(order, a.text, "BudgetChange")
	return done
}

// TestUIBudgets: the page's API sets, cuts, freezes and thaws budgets. When it answers, the runs obey.
func TestUIBudgets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ledgertest.Calm(t, b.redis.Client())
	b.going("x", "--permit-for", "10m")
	b.going("y", "--qps", "50", "--permit-for", "10m")
	v := b.ui("--control").viewer()
	name := b.host()
	if d := v.budget(name, "rate", `{"rate":"1k","note":"agreed"}`); !d.Change.Changed || d.Change.Command != "set" || *d.Budgets[0].Left != 850 || len(d.Rows) != 2 {
		t.Errorf("set: %+v", d)
	}
	if a := v.do("POST", "/api/v1/budgets/"+name+"/rate", `{"rate":"75"}`, nil); a.status != http.StatusConflict || !strings.Contains(a.text, "x 100 per second at "+name) || !strings.Contains(a.text, `\"cut\":true`) {
		t.Errorf("a budget below what runs hold: %d %s", a.status, a.text)
	}
	if d := v.budget(name, "rate", `{"rate":"75","cut":true}`); d.Budgets[0].Reserved > 75 || d.Budgets[0].Note != "agreed" {
		t.Errorf("cut: %+v", d)
	}
	if x, y := b.read("x").Rate, b.read("y").Rate; x < 49.9 || x > 50 || y < 24.9 || y > 25 {
		t.Errorf("after the cut the rates are %v and %v, want 50 and 25", x, y)
	}
	if f := v.follow("x").until("the cut", func(f ui.Frame) bool { return f.Factor > 0 && f.Factor < 0.51 }); f.Factor < 0.49 || f.Frozen || f.NoRight {
		t.Errorf("the frame: %v of the plan, frozen %v, without a right %v", f.Factor, f.Frozen, f.NoRight)
	}
	b.thaws(v, name)
	var all budgeted
	list := v.get("/api/v1/budgets")
	openAPI(t).check("the list", list.text, "Budgets")
	if v.read("/api/v1/budgets", &all); len(all.Hosts) != 1 || all.Hosts[0].Host != name || len(all.Rows) != 2 || len(all.Rows[0].Run+all.Rows[1].Run) != len("xy") || all.Budgets[0].Frozen {
		t.Errorf("the list: %s", list.text)
	}
}

// silent checks that nothing arrives of paused runs: as still, for all runs that send.
func (b *bed) silent(names ...string) {
	b.t.Helper()
	known := func() {
		for _, name := range names {
			b.renewed(name)
			b.renewed(name)
		}
	}
	known()
	var sent int64
	await.True(b.t, "all that was sent before the pause", func() bool {
		var open int64
		sent = 0
		for _, name := range names {
			r := b.report(name)
			open, sent = open+r.Audit.InFlight, sent+written(r)
		}
		return open == 0 && sent == b.web.Count()
	})
	if known(); b.web.Count() != sent {
		b.t.Errorf("%d requests arrived while nobody may send", b.web.Count()-sent)
	}
}

// thaws freezes an endpoint where x and y send, and thaws it.
func (b *bed) thaws(v *viewer, name string) {
	b.t.Helper()
	frames, begin := v.follow("x"), time.Now()
	if d := v.budget(name, "freeze", `{"why":"incident 4711"}`); !d.Budgets[0].Frozen || d.Budgets[0].Why != "incident 4711" || d.Budgets[0].FrozenBy == "" {
		b.t.Errorf("freeze: %+v", d)
	}
	await.Soon(b.t, "a freeze that all runs obey", time.Since(begin), time.Second) // a judge takes 3 s
	if x, y := b.read("x").Phase, b.read("y").Phase; x != "paused" || y != "paused" {
		b.t.Errorf("frozen, and x is %s, y is %s", x, y)
	}
	frames.until("the freeze", func(f ui.Frame) bool { return f.Frozen && f.Phase == "paused" })
	b.silent("x", "y")
	for _, c := range []string{"runs/x/resume", "runs/x/rate"} {
		if a := v.do("POST", "/api/v1/"+c, `{"rate":"10"}`, nil); a.status != http.StatusConflict || !strings.Contains(a.text, "frozen") {
			b.t.Errorf("%s: %d %s", c, a.status, a.text)
		}
	}
	if d := v.budget(name, "thaw", `{}`); d.Budgets[0].Frozen || !d.Change.Changed {
		b.t.Errorf("thaw: %+v", d)
	}
	b.comes("x", "running") // 20 ms later
	b.comes("y", "running")
	if d := v.budget(name, "thaw", `{}`); d.Change.Changed || d.Change.Command != "thaw" {
		b.t.Errorf("a second thaw: %+v", d)
	}
	frames.until("the thaw", func(f ui.Frame) bool { return !f.Frozen && f.Phase == "running" })
}

// TestUIBudgetsAreGuarded: budgets are changed by those alone who may give commands, and only as they can be.
func TestUIBudgetsAreGuarded(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	l := ledgertest.Calm(t, b.redis.Client())
	v, reader := b.ui("--control").viewer(), b.ui().viewer()
	stranger := &viewer{t: t, ui: v.ui}
	orders := map[string]string{"rate": `{"rate":"5"}`, "freeze": `{"why":"x"}`, "thaw": `{}`}
	for order, body := range orders {
		path := "/api/v1/budgets/api.example.com/" + order
		foreign := v.do("POST", path, body, func(r *http.Request) { r.Header.Set("Origin", "http://attacker.example") })
		form := v.do("POST", path, body, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
		got := []int{reader.do("POST", path, body, nil).status, stranger.do("POST", path, body, nil).status, foreign.status, form.status, v.get(path).status}
		if want := []int{403, 401, 403, 415, 405}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: read-only, a stranger, another origin, a form, GET: %v, want %v", order, got, want)
		}
	}
	for _, c := range []struct{ name, order, body string }{
		{"api..test", "rate", `{"rate":"5"}`}, {"api.test%2Fx", "rate", `{"rate":"5"}`}, {"api.test:0", "freeze", `{"why":"x"}`}, {"api.test", "rate", `{"rate":"0"}`},
		{"api.test", "rate", `{"rate":"max"}`}, {"api.test", "rate", `{"rate":"many"}`}, {"api.test", "rate", `{}`}, {"api.test", "rate", `{"rate":"5","note":"a\nb"}`}, {"api.test", "freeze", `{}`},
		{"api.test", "freeze", `{"why":"  "}`}, {"api.test", "freeze", `{"why":"a\nb"}`}, {"api.test", "freeze", `{"why":"` + strings.Repeat("x", 201) + `"}`}, {"api.test", "thaw", `{"because":"x"}`},
	} {
		if a := v.do("POST", "/api/v1/budgets/"+c.name+"/"+c.order, c.body, nil); a.status != http.StatusBadRequest {
			t.Errorf("%s %s %s: %d %s", c.order, c.name, c.body, a.status, a.text)
		}
	}
	if s, err := l.List(t.Context()); err != nil || len(s.Budgets) != 0 {
		t.Errorf("what was refused is there: %+v, %v", s.Budgets, err)
	}
	for _, name := range []string{"*", "*.example.com", "[::1]:8080", "API.example.com"} {
		if d := v.budget(name, "rate", `{"rate":"2.5k"}`); d.Budgets[0].Name != strings.ToLower(name) || d.Budgets[0].Rate != 2500 {
			t.Errorf("%s: %+v", name, d)
		}
	}
	b.redis.Stop()
	if a := v.do("POST", "/api/v1/budgets/*/thaw", `{}`, nil); a.status != http.StatusServiceUnavailable {
		t.Errorf("without Redis: %d %s", a.status, a.text)
	}
	await.True(t, "an error of the list", func() bool { return v.get("/api/v1/budgets").status == http.StatusServiceUnavailable })
}

// TestPageFreezesAnEndpoint asserts that the page freezes an endpoint where a run sends, and thaws it, and that the page of
// the run says so.
func TestPageFreezesAnEndpoint(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	ledgertest.Calm(t, b.redis.Client())
	b.fleet(1, "x", append(patient(), "--qps", "100", "--permit-for", "10m")...)
	b.started(10)
	open := b.ui("--control").pages(t)
	endpoints, watched := open("#/endpoints", browsertest.Look{}), open("#/run/x", browsertest.Look{})
	row := fmt.Sprintf(`[...document.querySelectorAll(".endpoints tbody tr")].find(r => r.cells[0].textContent === %q)`, strings.TrimSuffix(b.host(), b.host()[strings.LastIndex(b.host(), ":"):]))
	endpoints.Until(row + `?.cells[4].textContent === "1"`) // there is no budget, but a run
	press := func(label string) {
		endpoints.Do(chromedp.Focus(chromedp.CSS(fmt.Sprintf("button[aria-label^=%q]", label))), chromedp.KeyEvent(kb.Enter))
		endpoints.Until(`document.querySelector("dialog[open]")`)
	}
	press("Freeze 127.0.0.1")
	endpoints.Do(chromedp.KeyEvent("incident 4711"))
	to(t, endpoints, "Freeze it")
	endpoints.Do(chromedp.KeyEvent(" "))
	b.comes("x", "paused")
	endpoints.Until(`document.querySelector(".said").textContent === "127.0.0.1 is frozen. No run sends there."`)
	endpoints.Until(row + `.innerText.includes("incident 4711")`)
	watched.Until(`document.querySelector(".banner p").textContent.startsWith("Its endpoint is frozen") && document.querySelector("table.events a")?.closest("tr").textContent.includes("pause")`)
	press("Thaw 127.0.0.1")
	to(t, endpoints, "Thaw it")
	endpoints.Do(chromedp.KeyEvent(" "))
	b.comes("x", "running")
	watched.Until(`!document.querySelector(".banner p").textContent.includes("frozen")`)
	still(t, endpoints)
	still(t, watched)
}
