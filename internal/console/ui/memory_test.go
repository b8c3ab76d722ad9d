package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
)

// later is the next frame of a run, of which the last point changes: what a page gets that knows the frame before.
func later(f Frame, n int64) (whole, news Frame) {
	f.At = f.At.Add(time.Second)
	f.Report.Sent += n
	points := slices.Clone(f.Report.Series)
	points[len(points)-1].Sent = 500 + n%100
	f.Report.Series = points
	news = f
	news.SeriesFrom, news.EventsFrom, news.MarksFrom = len(points)-1, len(f.Report.Events), len(f.Marks)
	news.Report.Series, news.Report.Events, news.Marks = points[len(points)-1:], nil, nil
	heat := *f.Heat
	news.HeatFrom = len(heat.Columns) - 1
	heat.Columns = heat.Columns[news.HeatFrom:]
	news.Heat = &heat
	return f, news
}

// next makes the stage's frame the next one, and sends it.
func (s *stage) next(t *testing.T, frame *Frame, n int64) {
	t.Helper()
	s.mu.Lock()
	whole, news := later(*frame, n)
	*frame = whole
	s.mu.Unlock()
	text, err := encode(news)
	if err != nil {
		t.Fatal(err)
	}
	s.frames <- text
}

// TestPageMemory: two thousand frames cost a page no more than two hundred, with the cursor in a chart and a table open,
// and though the view changes.
func TestPageMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	frame := withSteps(onStage(t, 520))
	s := newStage(t, func() Frame { return frame })
	// Code that is compiled while the page is used is no data of the page, so none is compiled.
	tab := browsertest.Start(t, "--jitless").Visit(t, s.URL+"/#/run/checkout", browsertest.Look{})
	tab.Until(fmt.Sprintf(shown, 4, 5))
	tab.Do(chromedp.Focus(chromedp.CSS(".steer")))
	browsertest.Value[bool](tab, `(document.querySelector("details").open = true)`)
	var heap float64
	var elements int
	for n := int64(1); n <= 2000; n++ {
		s.next(t, &frame, n)
		if n%50 == 0 { // so that the page keeps up, and each view has its turn
			browsertest.Value[string](tab, fmt.Sprintf(`location.hash = "#/run/checkout%s"`, []string{"", "/labels", "/fleet"}[n/50%3]))
		}
		if n != 200 && n != 2000 {
			continue
		}
		browsertest.Value[string](tab, `location.hash = "#/run/checkout"`)
		tab.Until(fmt.Sprintf(`document.querySelector("[data-path=sent]")?.value === "%d"`, frame.Report.Sent))
		now, all := tab.Memory()
		t.Logf("after %d frames: %.2f MB, %d elements", n, now/1e6, all)
		if n == 2000 && (now > 1.1*heap || all > elements+20) {
			t.Errorf("the page grows from %.2f MB to %.2f MB, and from %d elements to %d", heap/1e6, now/1e6, elements, all)
		}
		heap, elements = now, all
	}
	quiet(t, tab)
}

// TestPageKeepsItsPlace: newer data leaves the focus, the cursor, hidden series, typed text and the open table as they
// are.
func TestPageKeepsItsPlace(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	frame := onStage(t, 520)
	s := newStage(t, func() Frame { return frame })
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/run/checkout", browsertest.Look{})
	tab.Until(fmt.Sprintf(shown, 4, 5))
	tab.Do(chromedp.Focus(chromedp.CSS(".steer")))
	const place = `[document.activeElement.className, document.querySelector(".place").textContent, document.querySelectorAll(".place")[1].textContent,
		document.querySelector(".series[aria-pressed=false]").textContent.slice(0, 6), document.querySelector("input[name=rate]").value,
		document.querySelector("details[open] tbody").rows.length, document.querySelectorAll(".uplot").length].join()`
	browsertest.Value[bool](tab, `(document.querySelector("details").open = true, document.querySelector("input[name=rate]").value = "77",
		document.querySelector(".series").click(), true)`)
	tab.Do(chromedp.KeyEvent(kb.PageUp))
	tab.Until(`document.querySelector(".place").textContent !== "" && document.querySelector("details[open] tbody")`)
	before := browsertest.Value[string](tab, place)
	if !strings.HasPrefix(before, "steer,0:10 to 0:11,0:10 to 0:11,asked") {
		t.Fatalf("the page is at %s", before)
	}
	for n := range int64(20) {
		s.next(t, &frame, n+1)
	}
	tab.Until(fmt.Sprintf(`document.querySelector("[data-path=sent]").value === "%d"`, frame.Report.Sent))
	if after := browsertest.Value[string](tab, place); after != before {
		t.Errorf("newer data moves the page from %s to %s", before, after)
	}
	quiet(t, tab)
}

// TestPageNamesAreText: a script in any text of a run is text, in every view.
func TestPageNamesAreText(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	const evil = `<img src=x onerror=alert(1)>"'></script><script>alert(1)</script>`
	frame := withSteps(onStage(t, 520))
	frame.Report.Run, frame.Report.Described.URL, frame.Report.Limiter = evil, evil, evil
	frame.Report.Errors, frame.Report.StatusCodes, frame.Report.Notes = map[string]int64{evil: 5}, map[string]int64{evil: 5}, []string{evil}
	for i := range frame.Report.Series {
		frame.Report.Series[i].Errors = map[string]int64{evil: 1}
	}
	for i := range frame.Report.Events {
		e := &frame.Report.Events[i]
		e.Kind, e.Who, e.What = evil, evil, evil
	}
	for i := range frame.Marks {
		frame.Marks[i].Text = evil
	}
	frame.Report.Steps[0].Name, frame.Checks[2].Name, frame.Checks[2].Text = evil, evil, evil
	frame.Fleet[0].ID, frame.Fleet[0].State, frame.Fleet[2].Verdicts[0].Text = evil, evil, evil
	s := newStage(t, func() Frame { return frame })
	s.runs = []run.Entry{{Run: evil, Phase: evil, Setting: report.Setting{Method: evil, URL: evil}}}
	s.ledger(true, func() ledger.State {
		all := endowed()
		b, r := &all.Budgets[1], &all.Rows[0]
		b.Name, b.Why.Text, b.Why.Who, b.Note.Text, r.Host, r.Run, r.People.Run, r.People.Who = evil, evil, evil, evil, "other.test", evil, evil, evil
		return all
	})
	browser := browsertest.Start(t)
	name := "#/run/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
	for _, path := range []string{"#/", name, name + "/labels", name + "/fleet", "#/endpoints", "#/compare?base=run:" + "%3Cimg%20src%3Dx%3E" + "&other=run:a"} {
		tab := browser.Visit(t, s.URL+"/"+path, browsertest.Look{Width: 400, Height: 800})
		tab.Until(`document.body.innerText.includes("<img src=x")`)
		if n := browsertest.Value[int](tab, `document.querySelectorAll("img, iframe, body script, [onerror]").length`); n > 0 {
			t.Errorf("%s: %d elements come from a text", path, n)
		}
		if !strings.Contains(path, "compare") { // its refusal is an error of the network, which the console shows
			quiet(t, tab)
		}
	}
}
