package ui

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/compare"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

var update = flag.Bool("update", false, "make the pictures of the documentation")

// A view is one view of the page, as a test looks at it.
type view struct {
	name, path string
	drawn      string // an expression: all is there
	charts     int
	picture    string // in docs/img; "" = none
	look       browsertest.Look
	height     int64 // of the picture
}

// shown is an expression: the charts that a view draws have been drawn, and its tables are filled.
const shown = `document.querySelectorAll("figure:not([hidden]) canvas").length >= %d && document.querySelectorAll("tbody tr").length >= %d`

// TestPageLooks: each view is legible with ink in its charts, in light and dark, on a phone and on a wall, and is not
// wider than the screen. With -update this makes the pictures of the documentation.
func TestPageLooks(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	frame := withSteps(onStage(t, 520))
	s := newStage(t, func() Frame { return frame })
	s.runs = listed()
	s.compared(t)
	s.ledger(true, endowed)
	browser := browsertest.Start(t)
	desk, phone, wall := browsertest.Look{Width: 1280, Height: 800}, browsertest.Look{Width: 400, Height: 800}, browsertest.Look{Width: 3840, Height: 2160}
	dark := desk
	dark.Dark = true
	darkWall := wall
	darkWall.Dark = true
	darkPhone := phone
	darkPhone.Dark = true
	runView, labels, fleet := "#/run/checkout", "#/run/checkout/labels", "#/run/checkout/fleet"
	both := "#/compare?base=run%3Amonday&other=run%3Acheckout"
	for _, v := range []view{
		{"list", "#/", fmt.Sprintf(shown, 0, 3), 0, "", desk, 800},
		{"list on a phone", "#/", fmt.Sprintf(shown, 0, 3), 0, "", darkPhone, 800},
		{"run", runView, fmt.Sprintf(shown, 4, 10), 4, "live-run-light.png", desk, 1180},
		{"run, dark", runView, fmt.Sprintf(shown, 4, 10), 4, "live-run-dark.png", dark, 1180},
		{"run on a phone", runView, fmt.Sprintf(shown, 4, 10), 4, "live-run-phone.png", phone, 1500},
		{"run on a wall", runView, fmt.Sprintf(shown, 4, 10), 4, "", wall, 2160},
		{"run on a wall, dark", runView, fmt.Sprintf(shown, 4, 10), 4, "", darkWall, 2160},
		{"labels", labels, fmt.Sprintf(shown, 1, 5), 1, "", dark, 900},
		{"labels on a phone", labels, fmt.Sprintf(shown, 1, 5), 1, "", phone, 900},
		{"labels on a wall", labels, fmt.Sprintf(shown, 1, 5), 1, "", wall, 2160},
		{"fleet", fleet, fmt.Sprintf(shown, 0, 8), 0, "live-fleet.png", desk, 700},
		{"fleet on a phone", fleet, fmt.Sprintf(shown, 0, 8), 0, "", darkPhone, 900},
		{"fleet on a wall", fleet, fmt.Sprintf(shown, 0, 8), 0, "", darkWall, 2160},
		{"endpoints", "#/endpoints", fmt.Sprintf(shown, 0, 9), 0, "live-endpoints.png", desk, 800},
		{"endpoints on a phone", "#/endpoints", fmt.Sprintf(shown, 0, 9), 0, "", darkPhone, 1400},
		{"endpoints on a wall", "#/endpoints", fmt.Sprintf(shown, 0, 9), 0, "", darkWall, 2160},
		{"compare", both, fmt.Sprintf(shown, 1, 5), 1, "live-compare.png", desk, 1280},
		{"compare on a phone", both, fmt.Sprintf(shown, 1, 5), 1, "", phone, 1400},
		{"compare on a wall", both, fmt.Sprintf(shown, 1, 5), 1, "", darkWall, 2160},
	} {
		t.Run(v.name, func(t *testing.T) { v.check(t, browser, s.URL) })
	}
}

// check opens the view, and looks at it.
func (v view) check(t *testing.T, browser *browsertest.Browser, server string) {
	tab := browser.Visit(t, server+"/"+v.path, v.look)
	tab.Until(v.drawn)
	if n := browsertest.Value[int](tab, inkless); n > 0 {
		t.Errorf("%d charts have no ink", n)
	}
	quiet(t, tab)
	type size struct{ Font, Button float64 }
	got := browsertest.Value[size](tab, `({Font: parseFloat(getComputedStyle(document.body).fontSize), Button: Math.min(99, ...[...document.querySelectorAll("button, input, select")]
		.filter(b => b.offsetParent).map(b => b.getBoundingClientRect().height))})`)
	if got.Font < max(15, float64(v.look.Width)/180) || got.Button < 24 {
		t.Errorf("%+v on a screen of %d px", got, v.look.Width)
	}
	if dir := os.Getenv("LOADCTL_PICTURES"); dir != "" { // to look at all of them
		if err := os.WriteFile(filepath.Join(dir, v.name+".png"), tab.Shot(0, v.height), 0o644); err != nil {
			t.Error(err)
		}
	}
	if v.picture != "" {
		v.pictured(t, tab)
	}
}

// pictured makes the picture with -update, and otherwise checks that it exists.
func (v view) pictured(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "docs", "img", v.picture)
	if *update {
		if err := os.WriteFile(path, smaller(t, tab.Shot(0, v.height)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update makes it)", err)
	}
	if c, err := png.DecodeConfig(bytes.NewReader(b)); err != nil || int64(c.Width) != v.look.Width || len(b) > 150_000 {
		t.Errorf("%s: %v, %d px wide, %d bytes", path, err, c.Width, len(b))
	}
}

// smaller reduces a picture to its 256 most frequent colours, and compresses it as well as it can be.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	size, often := m.Bounds(), map[color.Color]int{}
	for y := range size.Dy() {
		for x := range size.Dx() {
			often[m.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(often), func(a, b color.Color) int { return often[b] - often[a] })
	few := image.NewPaletted(size, color.Palette(colours[:min(256, len(colours))]))
	nearest := map[color.Color]uint8{}
	for _, c := range colours {
		nearest[c] = uint8(few.Palette.Index(c))
	}
	for y := range size.Dy() {
		for x := range size.Dx() {
			few.SetColorIndex(x, y, nearest[m.At(x, y)])
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// inkless counts the charts without coloured pixels. Grids and their labels are grey.
const inkless = `[...document.querySelectorAll("figure:not([hidden]) canvas")].filter(canvas => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  let n = 0;
  for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 100 && Math.max(pixels[i], pixels[i + 1], pixels[i + 2]) - Math.min(pixels[i], pixels[i + 1], pixels[i + 2]) > 40) n++;
  return n < 150;
}).length`

// quiet checks that a page wrote nothing to the console, asked nothing of another server, and is not wider than the
// screen.
func quiet(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	if heard := tab.Log(); len(heard) > 0 {
		t.Errorf("the page is not quiet: %q", heard)
	}
	if n := browsertest.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); n > 0 {
		t.Errorf("the page is %d px wider than the screen", n)
	}
}

// listed are the runs of the list.
func listed() []run.Entry {
	at := time.Date(2026, 11, 20, 13, 59, 40, 0, time.UTC)
	shop := report.Setting{Method: "POST", URL: "https://shop.example/checkout"}
	return []run.Entry{
		{Run: "monday", CreatedAt: at.Add(-96 * time.Hour), Phase: "ended", Asked: 379_200, Setting: shop},
		{Run: "nightly-soak", CreatedAt: at.Add(-11 * time.Hour), Phase: "paused", Members: 40, Asked: 71_244_120, Setting: shop},
		{Run: "checkout", CreatedAt: at, Phase: "running", Members: 7, Rate: 560, Asked: 334_400, Setting: shop},
	}
}

// compared answers the comparison of two runs.
func (s *stage) compared(t *testing.T) {
	t.Helper()
	base, other := report.Build(reporttest.TenMinutes(t, 600)), report.Build(reporttest.TenMinutes(t, 520))
	c := comparison{Comparison: compare.New(compare.Side{Name: "monday", Runs: []report.Report{base}}, compare.Side{Name: "checkout", Runs: []report.Report{other}})}
	for _, r := range []report.Report{base, other} {
		drawn := render.Draw(r).Curve
		c.Curves = append(c.Curves, curve{[]string{"monday", "checkout"}[len(c.Curves)], drawn.OneIn, drawn.Latency})
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	s.others["/api/v1/compare?base=run%3Amonday&other=run%3Acheckout"] = text
}

// TestPageComparesAnyway: a refusal says why, and the page offers to compare anyway.
func TestPageComparesAnyway(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	s := newStage(t, func() Frame { return Frame{} })
	s.runs = listed()
	s.compared(t)
	s.others["/api/v1/compare?base=run%3Acheckout&other=run%3Amonday&force=1"] = s.others["/api/v1/compare?base=run%3Amonday&other=run%3Acheckout"]
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/compare?base=run%3Acheckout&other=run%3Amonday", browsertest.Look{Width: 400, Height: 800})
	tab.Until(`document.querySelector(".refused")?.textContent === "the runs had different rates."`)
	browsertest.Value[bool](tab, `(document.querySelector(".refusal button").click(), true)`)
	tab.Until(`location.hash.endsWith("force=1") && ` + fmt.Sprintf(shown, 1, 5))
}
