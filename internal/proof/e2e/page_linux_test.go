package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/browsertest"
)

// pages opens pages of a ui: the browser is logged in once.
func (u *liveUI) pages(t *testing.T) func(path string, look browsertest.Look) *browsertest.Tab {
	t.Helper()
	browser := browsertest.Start(t)
	browser.Visit(t, u.login(), browsertest.Look{}).Until(`document.querySelector("#main h1")`)
	return func(path string, look browsertest.Look) *browsertest.Tab {
		return browser.Visit(t, u.base+"/"+path, look)
	}
}

// What tests ask of a page.
const (
	inked = `[...document.querySelectorAll("figure:not([hidden]) canvas")].filter(canvas => {
	  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
	  copy.drawImage(canvas, 0, 0);
	  const p = copy.getImageData(0, 0, canvas.width, canvas.height).data;
	  let n = 0;
	  for (let i = 0; i < p.length; i += 4) if (p[i + 3] > 100 && Math.max(p[i], p[i + 1], p[i + 2]) - Math.min(p[i], p[i + 1], p[i + 2]) > 40) n++;
	  return n >= 100;
	}).length`
	rateTile = `[...document.querySelectorAll(".tile")].find(e => e.textContent.startsWith("rate asked for"))?.querySelector("data").textContent`
	banner   = `document.getElementById("news").textContent`
	judged   = `["Passed", "Failed", "Undecided"].includes(document.querySelector(".verdict h2")?.textContent)` // the report is final
	phase    = `document.querySelector(".phase")?.textContent`
)

// still checks that a page was quiet, and is not wider than the screen.
func still(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	if said := tab.Log(); len(said) > 0 {
		t.Errorf("the page is not quiet: %q", said)
	}
	if n := browsertest.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
		t.Errorf("the page is %d px wider than the screen", n)
	}
}

// TestPageFollowsARun: a page draws a run as it goes, marks a command, and in the end has the numbers of the report.
func TestPageFollowsARun(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	ps := b.fleet(2, "x", append(patient(), "--qps", "200")...)
	u := b.ui()
	open := u.pages(t)
	desk, phone := open("#/run/x", browsertest.Look{}), open("#/run/x/labels", browsertest.Look{Width: 400, Height: 800, Dark: true})
	desk.Until(inked + " >= 3") // no request has failed
	phone.Until(inked + " >= 1")
	b.change("set-rate", "x", "300")
	desk.Until(`document.querySelector(".marks")?.textContent.includes("set-rate")`)
	desk.Until(rateTile + ` === "300/s"`)
	wall := open("#/run/x/fleet", browsertest.Look{Width: 3840, Height: 2160})
	wall.Until(`document.querySelectorAll(".fleet tr.active").length === 2`)
	b.loadctl("stop", "x")
	for _, p := range ps {
		p.wait(0)
	}
	desk.Until(judged)
	if title := browsertest.Value[string](desk, "document.title"); title != "stopped · x · loadctl" {
		t.Errorf("the title is %q", title)
	}
	b.equals("x", desk)
	for _, tab := range []*browsertest.Tab{desk, phone, wall} {
		still(t, tab)
	}
}

// equals checks that a page shows the numbers of a run's report.
func (b *bed) equals(name string, tab *browsertest.Tab) {
	b.t.Helper()
	var report map[string]any
	if err := json.Unmarshal([]byte(b.loadctl("report", name, "-o", "json")), &report); err != nil {
		b.t.Fatal(err)
	}
	all := browsertest.Value[map[string]string](tab, `Object.fromEntries([...document.querySelectorAll("data[data-path]")].map(d => [d.dataset.path, d.value]))`)
	for path, shown := range all {
		var at any = report
		for part := range strings.SplitSeq(path, ".") {
			at = at.(map[string]any)[part]
		}
		if n, is := at.(float64); !is || fmt.Sprintf("%.0f", n) != shown {
			b.t.Errorf("%s is %s, and %v in the report", path, shown, at)
		}
	}
	if len(all) != 9 {
		b.t.Errorf("%d numbers have a path: %v", len(all), all)
	}
}

// to presses Tab until an element is focused.
func to(t *testing.T, tab *browsertest.Tab, what string) {
	t.Helper()
	for range 80 {
		tab.Do(chromedp.KeyEvent(kb.Tab))
		if browsertest.Value[bool](tab, fmt.Sprintf(`document.activeElement.matches(%q) || document.activeElement.textContent === %q`, "input[name="+strconv.Quote(what)+"]", what)) {
			if !browsertest.Value[bool](tab, `document.activeElement.matches(":focus-visible")`) {
				t.Errorf("the focus on %s cannot be seen", what)
			}
			return
		}
	}
	t.Fatalf("the keyboard does not reach %s", what)
}

// TestPageByKeyboard: the keyboard alone changes the rate, pauses, resumes and stops a run.
func TestPageByKeyboard(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	b.fleet(1, "x", append(patient(), "--qps", "100")...)
	b.started(10)
	tab := b.ui("--control").pages(t)("#/run/x", browsertest.Look{})
	// Before the first frame a command would have nothing to start from.
	tab.Until(`(window.asked ??= import("/web/controls.js").then((m) => { window.early = m.controls("x", () => {}).box.querySelector("fieldset").disabled; }), window.early === true)`)
	tab.Until(`document.querySelector("fieldset:not([disabled])")`)
	rate := func(want float64) {
		t.Helper()
		await.True(t, fmt.Sprint("the rate ", want), func() bool { return b.read("x").Rate == want })
	}
	to(t, tab, "rate")
	tab.Do(chromedp.KeyEvent("200"), chromedp.KeyEvent(kb.Enter))
	rate(200)
	tab.Until(rateTile + ` === "200/s"`)
	to(t, tab, "+10 %")
	tab.Do(chromedp.KeyEvent(" "))
	rate(220)
	tab.Do(chromedp.KeyEvent(" ")) // the page may not have seen the first one yet
	rate(242)
	to(t, tab, "Pause")
	tab.Do(chromedp.KeyEvent(kb.Enter))
	await.True(t, "the pause", func() bool { return b.read("x").Phase == "paused" })
	tab.Until(`document.activeElement.textContent === "Resume"`)
	tab.Do(chromedp.KeyEvent(kb.Enter))
	await.True(t, "the end of the pause", func() bool { return b.read("x").Phase == "running" })
	tab.Until(`document.activeElement.textContent === "Pause" && document.getElementById("announce").textContent !== ""`)
	to(t, tab, "Stop…")
	tab.Do(chromedp.KeyEvent(kb.Enter))
	tab.Until(`document.querySelector("dialog[open]")`)
	tab.Do(chromedp.KeyEvent(kb.Escape))
	tab.Until(`!document.querySelector("dialog")`)
	if phase := b.status("x").Phase; phase != "running" {
		t.Fatalf("after Escape the run is %s", phase)
	}
	tab.Do(chromedp.KeyEvent(kb.Enter))
	to(t, tab, "Stop the run")
	tab.Do(chromedp.KeyEvent(kb.Enter))
	await.True(t, "the stop", func() bool { return b.read("x").Phase == "stopped" })
	tab.Until(`document.querySelector("fieldset").disabled && document.querySelector(".why").textContent === "The run is over."`)
	still(t, tab)
}

// TestPageRateOfFlows: the page shows and changes the rate in requests, as set-rate takes it, also if flows have several
// steps.
func TestPageRateOfFlows(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "flows.yaml")
	text := "base: " + b.web.URL() + "\nflows:\n  shop:\n    - list: {get: /list}\n    - cart: {get: /cart}\n    - pay: {get: /pay}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.worker("x", append(patient(), "--workload", file, "--qps", "90")...)
	b.started(10)
	tab := b.ui("--control").pages(t)("#/run/x", browsertest.Look{})
	tab.Until(`document.querySelector("fieldset:not([disabled])")`)
	press := func(button string, flows float64, requests string) {
		t.Helper()
		browsertest.Value[bool](tab, fmt.Sprintf(`(document.querySelector('[aria-label=%q]').click(), true)`, button))
		await.True(t, fmt.Sprint(flows, " flows/s"), func() bool { return b.read("x").Rate == flows })
		tab.Until(fmt.Sprintf(`%s === "%s/s"`, rateTile, requests))
	}
	tab.Until(rateTile + ` === "90/s" && document.querySelector("input[name=rate]").placeholder === "now 90 requests/s"`)
	press("10 % more", 33, "99")
	press("10 % less", 29.7, "89.1")
	tab.Until(`[...document.querySelectorAll(".tile")].some(e => e.textContent.includes("29.7 flows/s"))`)
	still(t, tab)
}

// TestPageConnectsAgain: a page says that its server is gone, and goes on by itself when there is one again. If that one
// does not know the browser, it says what to do.
func TestPageConnectsAgain(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	b.fleet(1, "x", append(patient(), "--qps", "100")...)
	b.started(10)
	u := b.ui()
	tab := u.pages(t)("#/run/x", browsertest.Look{})
	sent := `Number(document.querySelector("data[data-path=sent]")?.value ?? 0)`
	tab.Until(sent + " > 0")
	was := browsertest.Value[int](tab, sent)
	u.Kill()
	tab.Until(banner + ` !== ""`)
	u = b.uiAt(u.address(), u.key)
	tab.Until(fmt.Sprintf(`%s === "" && %s > %d`, banner, sent, was))
	u.Kill()
	b.uiAt(u.address(), filepath.Join(t.TempDir(), "another key"))
	tab.Until(banner + `.includes("Open the newest address")`)
}

// TestPageReadOnly: without --control no command can be given, and the page says why.
func TestPageReadOnly(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	b.fleet(1, "x", append(patient(), "--qps", "100")...)
	b.started(10)
	open := b.ui().pages(t)
	tab := open("#/run/x", browsertest.Look{})
	tab.Until(phase + ` === "running"`)
	if why := browsertest.Value[string](tab, `document.getElementById(document.querySelector("fieldset:disabled").getAttribute("aria-describedby")).textContent`); !strings.Contains(why, "--control") {
		t.Errorf("it says %q", why)
	}
	if n := browsertest.Value[int](tab, `[...document.querySelectorAll("aside button, aside input")].filter(e => !e.matches(":disabled")).length`); n > 0 {
		t.Errorf("%d controls can be used", n)
	}
	tab.Do(chromedp.Navigate(b.pathOf(tab, "#/run/x/fleet")))
	tab.Until(`document.querySelectorAll(".fleet tr.active").length === 1`)
	if n := browsertest.Value[int](tab, `document.querySelectorAll(".fleet button:enabled").length`); n > 0 {
		t.Errorf("%d workers can be removed", n)
	}
	tab.Do(chromedp.NavigateBack())
	tab.Until(`document.querySelector(".verdict")`)
	still(t, tab)
}

// pathOf returns the address of another view of a page.
func (b *bed) pathOf(tab *browsertest.Tab, path string) string {
	return browsertest.Value[string](tab, `location.origin + "/"`) + path
}

// TestPageSpoiled: what somebody has written into Redis is text. TestPageNamesAreText has more of it.
func TestPageSpoiled(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	b.worker("x", "--url", b.web.URL()+"/a", "--qps", "50", "--duration", "3s")
	await.True(t, "the run", func() bool { return b.read("x").Phase != "" })
	u := b.ui("--control")
	open := u.pages(t)
	first := open("#/run/x", browsertest.Look{})
	first.Until(judged)
	b.spoil("x")
	again := b.ui("--control")
	open = again.pages(t)
	for path, there := range map[string]string{
		"#/": `document.querySelectorAll("tbody tr").length`, "#/run/x": `document.querySelector(".tile data")`, "#/run/x/fleet": `document.querySelector(".fleet tbody tr")`,
		"#/run/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E": banner + ` !== ""`,
	} {
		tab := open(path, browsertest.Look{})
		tab.Until(there)
		if n := browsertest.Value[int](tab, `document.querySelectorAll("img, iframe, body script, [onerror]").length`); n > 0 {
			t.Errorf("%s: %d elements come from a name", path, n)
		}
		if said := strings.Join(tab.Log(), "\n"); strings.Contains(said, "x onerror") || strings.Contains(said, "exception") {
			t.Errorf("%s: %s", path, said)
		}
	}
}

// TestPagesAgree: two pages, a terminal and a command change the rate by turns, and all show it: on a quiet machine within
// 2 s.
func TestPagesAgree(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	b.fleet(1, "x", append(patient(), "--qps", "100")...)
	b.started(10)
	open := b.ui("--control").pages(t)
	tabs := []*browsertest.Tab{open("#/run/x", browsertest.Look{}), open("#/run/x", browsertest.Look{Width: 400, Height: 800})}
	for _, tab := range tabs {
		tab.Until(`document.querySelector("fieldset:not([disabled])")`)
	}
	term := b.terminal(100, 30)
	term.Run("loadctl watch x")
	term.See("x  running")
	type by = func(rate string)
	typed := func(tab *browsertest.Tab) by {
		return func(rate string) {
			browsertest.Value[bool](tab, fmt.Sprintf(`(document.querySelector("input[name=rate]").value = %q, document.querySelector("form.rate").requestSubmit(), true)`, rate))
			await.True(t, "the rate "+rate, func() bool { return fmt.Sprint(b.read("x").Rate) == rate })
		}
	}
	byTerminal := func(rate string) {
		term.Press("r")
		term.Type(rate)
		term.Press("Enter")
		await.True(t, "the rate "+rate, func() bool { return fmt.Sprint(b.read("x").Rate) == rate })
	}
	for i, change := range []by{typed(tabs[0]), typed(tabs[1]), byTerminal, func(rate string) { b.change("set-rate", "x", rate) }, typed(tabs[0]), typed(tabs[1])} {
		rate := fmt.Sprint(150 + 10*i)
		change(rate)
		since := time.Now()
		for _, tab := range tabs {
			tab.Until(fmt.Sprintf(`%s === "%s/s"`, rateTile, rate))
		}
		term.See("x  running  " + rate + "/s")
		if late := time.Since(since); acceptance() && late > 2*time.Second {
			t.Errorf("all show the rate %s after %v", rate, late)
		}
	}
}

// TestPageMemoryOfARun: a page that follows a run for long uses no more memory than after a short time.
func TestPageMemoryOfARun(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	b.fleet(2, "x", append(patient(), "--qps", "100")...)
	b.started(10)
	u := b.ui()
	browser := browsertest.Start(t, "--jitless") // compiled code is no data of the page
	browser.Visit(t, u.login(), browsertest.Look{}).Until(`document.querySelector("#main h1")`)
	tab := browser.Visit(t, u.base+"/#/run/x", browsertest.Look{})
	after := func(length time.Duration) (float64, int) { // of the run, as the page has it
		t.Helper()
		tab.Until(fmt.Sprintf(`Number(document.querySelector("data[data-path=sent]")?.value) >= %d`, int(100*length.Seconds())))
		return tab.Memory()
	}
	heap, elements := after(scale(10*time.Second, time.Minute))
	later, all := after(scale(20*time.Second, 10*time.Minute))
	for i := range time.Duration(3) { // what the browser has not collected yet differs from look to look; what stays is in each
		again, _ := after(scale(22*time.Second+2*i*time.Second, 10*time.Minute+i*time.Second))
		later = min(later, again)
	}
	t.Logf("%.2f MB and %d elements, then %.2f MB and %d", heap/1e6, elements, later/1e6, all)
	if later > 1.1*heap || all > elements+20 {
		t.Errorf("the page grows from %.2f MB to %.2f MB, and from %d elements to %d", heap/1e6, later/1e6, elements, all)
	}
	still(t, tab)
}

// TestPageRemovesAWorker: the page says what it means to remove a worker. One that called just now is refused, and
// then it can be removed anyway.
func TestPageRemovesAWorker(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	ps := b.fleet(2, "x", append(patient(), "--qps", "100")...)
	b.started(10)
	b.silence("x", time.Now().Add(time.Hour), ps...) // so no machine is too slow to call it just now
	tab := b.ui("--control").pages(t)("#/run/x/fleet", browsertest.Look{})
	tab.Until(`document.querySelectorAll(".fleet tr.active button:enabled").length === 2`)
	tab.Do(chromedp.Focus(chromedp.CSS(".fleet tr.active button")), chromedp.KeyEvent(kb.Enter))
	tab.Until(`document.querySelector("dialog[open]")?.textContent.includes("some requests are sent twice")`)
	to(t, tab, "Remove the worker")
	tab.Do(chromedp.KeyEvent(kb.Enter))
	tab.Until(`document.querySelector("dialog .refused").textContent !== "" && document.activeElement.textContent === "Ask it to call, and wait"`)
	b.silence("x", time.Now(), ps...) // from now on they are silent
	tab.Do(chromedp.KeyEvent(kb.Enter))
	tab.Until(`!document.querySelector("dialog") && document.querySelector(".said").textContent.includes("is removed")`)
	await.True(t, "the removal among the events", func() bool {
		return strings.Contains(b.loadctl("events", "x"), "workers rm") || strings.Contains(b.loadctl("events", "x"), "removed")
	})
}
