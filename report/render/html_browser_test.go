package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/units"
)

// whenDrawn is an expression: when all charts were drawn, in ms after the page was requested.
const whenDrawn = `new Promise(done => {
  const look = () => {
    const all = performance.getEntriesByName("drawn");
    all.length ? done(all[0].duration) : requestAnimationFrame(look);
  };
  look();
})`

// chartInk is what is visible of a chart: how many pixels of its canvas are not grey, and for each series how many have
// about the colour of its line. Grid and labels are grey.
type chartInk struct {
	Name     string
	Coloured int
	Series   map[string]int
}

const inkOfCharts = `[...document.querySelectorAll("figure[data-chart]")].map(figure => {
  const canvas = figure.querySelector("canvas");
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  const series = [...figure.querySelectorAll(".series")].map(b => ({
    name: b.children[1].textContent, rgb: getComputedStyle(b.querySelector(".swatch")).backgroundColor.match(/\d+/g).map(Number), n: 0}));
  let coloured = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    const [r, g, b, a] = pixels.subarray(i, i + 4);
    if (a < 100) continue;
    if (Math.max(r, g, b) - Math.min(r, g, b) > 40) coloured++;
    for (const s of series) if (Math.abs(s.rgb[0] - r) + Math.abs(s.rgb[1] - g) + Math.abs(s.rgb[2] - b) < 30) s.n++;
  }
  return {Name: figure.dataset.chart, Coloured: coloured, Series: Object.fromEntries(series.map(s => [s.name, s.n]))};
})`

// hasInk checks that each chart shows something, and which lines are on top.
func hasInk(t *testing.T, tab *browsertest.Tab, charts int) {
	t.Helper()
	onTop := map[string][]string{"requests": {"ok", "failed"}, "latency": {"p50", "p99.9"}, "percentiles": {"service time"}}
	all := browsertest.Value[[]chartInk](tab, inkOfCharts)
	if len(all) != charts {
		t.Errorf("%d charts, want %d", len(all), charts)
	}
	for _, c := range all {
		least := 150
		if c.Name == "heat" { // it is an area
			least = 1000
		}
		if c.Coloured < least {
			t.Errorf("%s has no ink: %+v", c.Name, c)
		}
		for _, name := range onTop[c.Name] {
			if n, has := c.Series[name]; has && n < 10 {
				t.Errorf("%s: %s cannot be seen: %+v", c.Name, name, c)
			}
		}
	}
}

// isQuiet checks that the page wrote nothing to the console, requested nothing, and is not wider than the screen.
func isQuiet(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	if heard := tab.Log(); len(heard) > 0 {
		t.Errorf("the page is not quiet: %q", heard)
	}
	if n := browsertest.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
		t.Errorf("the page is %d px wider than the screen", n)
	}
}

// TestHTMLOfAllKinds: each kind of report on a phone, with ink in its charts, and a sentence in place of the others.
func TestHTMLOfAllKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	browser := browsertest.Start(t)
	for name, r := range htmlKinds(t) {
		t.Run(name, func(t *testing.T) {
			file, _ := htmlOf(t, r)
			tab := browser.Open(t, file, browsertest.Look{Width: 400, Height: 800})
			browsertest.Value[float64](tab, whenDrawn)
			isQuiet(t, tab)
			var drawn []string
			for _, c := range render.ChartsOf(r) {
				if c.Empty == "" {
					drawn = append(drawn, c.Name)
				}
			}
			if got := browsertest.Value[[]string](tab, `[...document.querySelectorAll("figure[data-chart]")].map(f => f.dataset.chart)`); !slices.Equal(got, drawn) {
				t.Errorf("charts %v, want %v", got, drawn)
			}
			said := browsertest.Value[int](tab, `document.querySelectorAll("#empty-title + dl dd").length`)
			if want := len(render.ChartsOf(r)) - len(drawn); said != want {
				t.Errorf("%d charts are told to be empty, want %d", said, want)
			}
			if n := browsertest.Value[int](tab, `document.querySelectorAll("img").length + document.scripts.length`); n != 2 {
				t.Errorf("%d images and scripts", n)
			}
			if name != "nothing sent" && name != "short" { // all is 0, or outside
				hasInk(t, tab, len(drawn))
			}
		})
	}
}

// TestHTMLLooks: the report of ten minutes is drawn quickly, and is legible with ink in light and dark, on a phone and
// on a wall; it follows later changes of the look. With -update this makes the pictures of the documentation.
func TestHTMLLooks(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	browser := browsertest.Start(t)
	file, _ := htmlOf(t, tenMinutes(t))
	tooLate := 10_000.0 // ms; a machine that runs tests is busy
	if os.Getenv("LOADCTL_E2E") == "full" {
		tooLate = 1_000
	}
	for _, c := range []struct {
		name    string
		look    browsertest.Look
		picture string
		from    string // the element at the top of the picture
		height  int64
	}{
		{"light", browsertest.Look{Width: 1280, Height: 800}, "report-light.png", "body", 1640},
		{"dark", browsertest.Look{Width: 1280, Height: 800, Dark: true}, "report-dark.png", "#charts", 1780},
		{"phone", browsertest.Look{Width: 400, Height: 800}, "report-phone.png", "body", 1640},
		{"4K", browsertest.Look{Width: 3840, Height: 2160}, "", "", 0},
		{"4K dark", browsertest.Look{Width: 3840, Height: 2160, Dark: true}, "", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := browser.Open(t, file, c.look)
			ms := browsertest.Value[float64](tab, whenDrawn)
			t.Logf("drawn after %.0f ms", ms)
			if ms > tooLate {
				t.Errorf("drawn after %.0f ms", ms)
			}
			hasInk(t, tab, 5)
			isQuiet(t, tab)
			type size struct{ Font, Main, Plot, Button float64 }
			got := browsertest.Value[size](tab, `({Font: parseFloat(getComputedStyle(document.body).fontSize), Main: document.querySelector("main").clientWidth,
				Plot: document.querySelector("canvas").clientWidth, Button: document.querySelector(".series").getBoundingClientRect().height})`)
			wide := float64(c.look.Width)
			if got.Font < max(15, wide/180) || got.Main < wide*0.85 || got.Plot < wide*0.8 || got.Button < 24 {
				t.Errorf("%+v on a screen of %.0f px", got, wide)
			}
			if c.picture != "" {
				picture(t, tab, c.from, c.height, c.picture)
			}
		})
	}
}

// picture makes a picture of the documentation with -update, and otherwise checks that it exists.
func picture(t *testing.T, tab *browsertest.Tab, from string, height int64, name string) {
	t.Helper()
	width := browsertest.Value[int](tab, "innerWidth")
	path := filepath.Join("..", "..", "docs", "img", name)
	if *update {
		if err := os.WriteFile(path, tab.Shot(browsertest.Value[int64](tab, fmt.Sprintf("Math.round(document.querySelector(%q).getBoundingClientRect().top)", from)), height), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update makes it)", err)
	}
	if c, err := png.DecodeConfig(bytes.NewReader(b)); err != nil || c.Width != width || len(b) > 500_000 {
		t.Errorf("%s: %v, %d px wide, %d bytes", path, err, c.Width, len(b))
	}
}

// TestHTMLChangesItsLook: charts are redrawn when the page becomes light or narrow; on paper they are light.
func TestHTMLChangesItsLook(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	browser := browsertest.Start(t)
	file, _ := htmlOf(t, tenMinutes(t))
	light := browser.Open(t, file, browsertest.Look{})
	dark := browser.Open(t, file, browsertest.Look{Dark: true})
	const canvas = `document.querySelector("canvas").toDataURL()`
	for _, tab := range []*browsertest.Tab{light, dark} {
		browsertest.Value[float64](tab, whenDrawn)
	}
	want, other := browsertest.Value[string](light, canvas), browsertest.Value[string](dark, canvas)
	if want == other {
		t.Fatal("light and dark are drawn alike")
	}
	on := func(event string) string {
		return browsertest.Value[string](dark, fmt.Sprintf(`dispatchEvent(new Event(%q)), new Promise(requestAnimationFrame).then(() => %s)`, event, canvas))
	}
	if on("beforeprint") != want {
		t.Error("on paper a chart is not as in the light")
	}
	if on("afterprint") != other {
		t.Error("after printing a chart is not as before")
	}
	dark.Look(browsertest.Look{})
	if browsertest.Value[string](dark, `new Promise(requestAnimationFrame).then(() => `+canvas+`)`) != want {
		t.Error("a chart does not follow the look of the page")
	}
	light.Look(browsertest.Look{Width: 500, Height: 800})
	if n := browsertest.Value[int](light, `new Promise(done => {
		const look = () => { const n = document.querySelector("canvas").clientWidth; n < 500 ? done(n) : requestAnimationFrame(look) };
		look() })`); n < 350 {
		t.Errorf("the chart is %d px wide", n)
	}
	isQuiet(t, light)
	isQuiet(t, dark)
}

// TestHTMLShowsTheJSON: the tables behind the charts equal the JSON report.
func TestHTMLShowsTheJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	r := tenMinutes(t)
	file, _ := htmlOf(t, r)
	tab := browsertest.Start(t).Open(t, file, browsertest.Look{})
	browsertest.Value[float64](tab, whenDrawn)
	tables := browsertest.Value[map[string][][]string](tab, `(async () => {
		const all = {};
		for (const f of document.querySelectorAll("figure")) {
			const details = f.querySelector("details");
			details.open = true;
			await new Promise(done => details.addEventListener("toggle", done, {once: true}));
			all[f.dataset.chart] = [...details.querySelectorAll("tr")].map(line => [...line.cells].map(c => c.textContent));
		}
		return all;
	})()`)
	if fmt.Sprint(tables["requests"][0], tables["latency"][0], tables["errors"][0]) != "[time asked sent ok failed] [time p50 p90 p99 p99.9] [time status timeout]" {
		t.Errorf("%v %v %v", tables["requests"][0], tables["latency"][0], tables["errors"][0])
	}
	for i, s := range r.Series {
		want := fmt.Sprint(s.Asked, s.Sent, s.OK, s.Failed)
		if got := strings.Join(tables["requests"][i+1][1:], " "); got != want {
			t.Errorf("requests at %d: %s, want %s", s.T, got, want)
		}
		want = fmt.Sprint(render.Spaced(units.Duration(s.P50NS)), render.Spaced(units.Duration(s.P90NS)), render.Spaced(units.Duration(s.P99NS)), render.Spaced(units.Duration(s.P999NS)))
		if got := fmt.Sprint(strings.Join(tables["latency"][i+1][1:], " ")); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("latency at %d: %s, want %s", s.T, got, want)
		}
		want = fmt.Sprint(s.Errors["status"], s.Errors["timeout"])
		if got := strings.Join(tables["errors"][i+1][1:], " "); got != want {
			t.Errorf("errors at %d: %s, want %s", s.T, got, want)
		}
	}
	if n := len(tables["heat"]); n != 301 {
		t.Errorf("the heat map has %d rows", n)
	}
	numbers := flat(document(t, rendered(t, "json", r)))
	shown := browsertest.Value[[][]string](tab, `[...document.querySelectorAll("data[data-path]")].map(d => [d.dataset.path, d.value])`)
	for _, s := range shown {
		if want, has := numbers[s[0]]; has && want != s[1] {
			t.Errorf("%s is %s, want %s", s[0], s[1], want)
		}
	}
	var inPage, inJSON any
	if err := json.Unmarshal([]byte(browsertest.Value[string](tab, `JSON.stringify(JSON.parse(document.getElementById("data").textContent).report)`)), &inPage); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(rendered(t, "json", r)), &inJSON); err != nil || fmt.Sprint(inPage) != fmt.Sprint(inJSON) {
		t.Errorf("the page has another report: %v", err)
	}
	isQuiet(t, tab)
}

// TestHTMLLastPoint: a last point that covers almost no time is not drawn as a drop of the rate, unless it has
// failures.
func TestHTMLLastPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	browser := browsertest.Start(t)
	for failed, want := range map[int64]string{0: "0:09 to 0:10: asked 200/s, sent 293/s, ok 291/s, failed 2/s", 1: "0:10 to 0:11: asked 10/s, sent 10/s, ok 9/s, failed 1/s"} {
		r := report.Build(reporttest.Run(t))
		r.DurationS = 10.05
		r.Series[10] = report.SeriesReport{T: 10, Asked: 10, Sent: 10, OK: 10 - failed, Failed: failed, P50NS: 1e6, P90NS: 1e6, P99NS: 1e6, P999NS: 1e6}
		file, _ := htmlOf(t, r)
		tab := browser.Open(t, file, browsertest.Look{})
		browsertest.Value[float64](tab, whenDrawn)
		tab.Do(chromedp.Focus(chromedp.CSS(".steer")), chromedp.KeyEvent(kb.End))
		if got := browsertest.Value[[]string](tab, focused)[3]; got != want {
			t.Errorf("%d failed: %q, want %q", failed, got, want)
		}
	}
}

// focused describes the focused element.
const focused = `(e => [e.tagName, e.className, e.getAttribute("aria-label") ?? e.textContent, e.getAttribute("aria-valuetext") ?? "", e.getAttribute("aria-pressed") ?? ""])(document.activeElement)`

// TestHTMLByKeyboard: the keyboard alone can do all that a mouse can do.
func TestHTMLByKeyboard(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	file, _ := htmlOf(t, tenMinutes(t))
	tab := browsertest.Start(t).Open(t, file, browsertest.Look{})
	browsertest.Value[float64](tab, whenDrawn)
	press := func(keys string) []string {
		t.Helper()
		tab.Do(chromedp.KeyEvent(keys))
		return browsertest.Value[[]string](tab, focused)
	}
	if first := press(kb.Tab); first[2] != "Verdict" {
		t.Errorf("the first stop is %q, want a link that skips", first)
	}
	if top := browsertest.Value[float64](tab, `document.querySelector(".skip").getBoundingClientRect().top`); top < 0 {
		t.Errorf("the links that skip are out of sight: %v", top)
	}
	stops := map[string]int{}
	for range 100 {
		at := press(kb.Tab)
		if at[0] == "BODY" {
			break
		}
		stops[at[0]+" "+at[1]]++
		switch at[2] {
		case "sent799/s", "sent":
			was := browsertest.Value[[]chartInk](tab, inkOfCharts)[0].Series["sent"]
			if at = press(" "); at[4] != "false" || browsertest.Value[[]chartInk](tab, inkOfCharts)[0].Series["sent"] >= was {
				t.Errorf("the line is not hidden: %q", at)
			}
			if at = press(" "); at[4] != "true" {
				t.Errorf("the line stays hidden: %q", at)
			}
		case "Requests per second over time: asked, sent, ok, failed. Arrow keys move through the points.":
			for _, step := range []struct{ key, want string }{
				{kb.ArrowRight, "0:00 to 0:01: "}, {kb.ArrowRight, "0:01 to 0:02: "}, {kb.ArrowLeft, "0:00 to 0:01: "}, {kb.PageDown, "0:00 to"}, {kb.PageUp, "0:10 to"},
				{kb.End, "9:59 to 10:00: "}, {kb.Home, "0:00 to 0:01: asked 400/s"}, {kb.Escape, "no point"}, {kb.End, "9:59 to 10:00: asked 560/s"},
			} {
				if at := press(step.key); !strings.HasPrefix(at[3], step.want) {
					t.Errorf("%q: %q, want %q", step.key, at[3], step.want)
				}
			}
			if text := browsertest.Value[string](tab, `document.querySelectorAll(".steer")[1].getAttribute("aria-valuetext")`); !strings.HasPrefix(text, "9:59 to 10:00: p50 ") {
				t.Errorf("the charts do not share the cursor: %q", text)
			}
		case "All terms":
			press(kb.Enter)
			if !browsertest.Value[bool](tab, "document.activeElement.parentElement.open") {
				t.Error("the details stay closed")
			}
		}
	}
	if stops["BUTTON series"] != 12 || stops["DIV steer"] != 5 || stops["SUMMARY "] != 6 || stops["A "] != 4 {
		t.Errorf("stops %v", stops)
	}
	isQuiet(t, tab)
}

// TestHTMLIsNamed: each part has a name for screen readers.
func TestHTMLIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	file, _ := htmlOf(t, tenMinutes(t))
	tab := browsertest.Start(t).Open(t, file, browsertest.Look{})
	browsertest.Value[float64](tab, whenDrawn)
	for _, unnamed := range []string{
		`table:not(:has(caption))`, `section:not([aria-labelledby], [aria-label], .pair > section)`, `[role]:not([aria-label])`, `button:not([type])`, `th:not([scope])`,
		`figure:not(:has(details table, details .scroll))`, `[tabindex]:not([tabindex="0"], [tabindex="-1"])`, `[style*="url"]`, `[src], link, img, iframe, object, embed, form`,
	} {
		if n := browsertest.Value[int](tab, fmt.Sprintf("document.querySelectorAll(%q).length", unnamed)); n > 0 {
			t.Errorf("%d × %s", n, unnamed)
		}
	}
	if n := browsertest.Value[int](tab, `new Set([...document.querySelectorAll("[id]")].map(e => e.id)).size - document.querySelectorAll("[id]").length`); n != 0 {
		t.Error("an id is there twice")
	}
}

// TestHTMLWithoutScript: the verdict, the numbers and the tables work without JavaScript, and the charts take no room.
func TestHTMLWithoutScript(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	file, _ := htmlOf(t, tenMinutes(t))
	tab := browsertest.Start(t).Open(t, file, browsertest.Look{Plain: true})
	text := browsertest.Value[string](tab, "document.body.innerText")
	for _, want := range []string{"Passed", "All 3 thresholds hold.", "latency:p(99)<250ms", "379,200", "load-8", "set-rate", "need JavaScript"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "As a table") {
		t.Error("room is kept for charts")
	}
	isQuiet(t, tab)
}
