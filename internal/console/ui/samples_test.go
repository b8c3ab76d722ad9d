package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/samples"
)

// sampledServer returns a server for a run named checkout, whose two workers have stored samples in a real Redis.
func sampledServer(t *testing.T) (*bed, *Server) {
	t.Helper()
	b := newBed(t)
	r := b.create("checkout")
	all := reporttest.Samples()
	for i, half := range [][]samples.Sample{all[:6], all[6:]} {
		if err := results.NewJournal(r, fmt.Sprintf("host-%d", i), "i").PublishSamples(t.Context(), samples.Set{Samples: half}, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(Options{Key: NewKey(), Connect: func(context.Context) (rdb.Client, error) { return b.client, nil }, Archives: []Archive{{Name: "old", Report: report.Report{Samples: all}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return b, s
}

// asked returns the status of an answer with samples, and the ordinals in it.
func asked(t *testing.T, serve http.HandlerFunc, key, name, query string) (status int, ordinals string) {
	t.Helper()
	r := httptest.NewRequest("GET", "/?"+query, nil)
	r.SetPathValue(key, name)
	w := httptest.NewRecorder()
	serve(w, r)
	var a struct {
		Total   int
		Samples []samples.Sample
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	var all []string
	for _, s := range a.Samples {
		all = append(all, fmt.Sprint(s.Ordinal))
	}
	if a.Total != len(all) {
		t.Errorf("%s: %d of %d", query, len(all), a.Total)
	}
	return w.Code, strings.Join(all, " ")
}

// TestSamplesOfARun: a query chooses among the samples of all workers, and a wrong one is refused. Those of an archive are
// chosen alike.
func TestSamplesOfARun(t *testing.T) {
	_, s := sampledServer(t)
	for query, want := range map[string]string{
		"":                        "7 31 40 52 77 101 140 205 300 412 555 601",
		"class=status":            "7 31 40",
		"class=status&step=login": "7 31",
		"class=none":              "",
		"step=login&slowest=10":   "412 555 77 7 31 205",
		"slowest=3":               "101 300 412",
		"least_ns=1900000000":     "101 300",
		"least_ns=1900000001":     "101",
		"class=check&slowest=1":   "77",
		"class=&step=&least_ns=":  "7 31 40 52 77 101 140 205 300 412 555 601",
		"class=" + url.QueryEscape(reporttest.Hostile): "",
	} {
		if status, got := asked(t, s.samples, "run", "checkout", query); status != http.StatusOK || got != want {
			t.Errorf("%s: %d, %s, want %s", query, status, got, want)
		}
		if status, got := asked(t, s.archivedSamples, "name", "old", query); status != http.StatusOK || got != want {
			t.Errorf("archive, %s: %d, %s, want %s", query, status, got, want)
		}
	}
	for _, query := range []string{"slowest=x", "slowest=-1", "slowest=1001", "least_ns=x", "least_ns=-1", "class=" + strings.Repeat("x", 1001), "step=" + strings.Repeat("x", 1001)} {
		if status, _ := asked(t, s.samples, "run", "checkout", query); status != http.StatusBadRequest {
			t.Errorf("%.50s: %d", query, status)
		}
	}
	for _, name := range []string{"none", "{load:x}", ""} {
		if status, _ := asked(t, s.samples, "run", name, ""); status != http.StatusNotFound {
			t.Errorf("run %s: %d", name, status)
		}
	}
	if status, _ := asked(t, s.archivedSamples, "name", "none", ""); status != http.StatusNotFound {
		t.Errorf("no archive: %d", status)
	}
}

// TestBrokenSamplesOfARun: the page has the samples that can be read. If none can be, it says why.
func TestBrokenSamplesOfARun(t *testing.T) {
	b, s := sampledServer(t)
	key := run.KeysOf("checkout").Samples
	b.client.HSet(b.Context(), key, "host-1/i", "x")
	if status, got := asked(t, s.samples, "run", "checkout", ""); status != http.StatusOK || len(strings.Fields(got)) != 6 {
		t.Errorf("%d, %s", status, got)
	}
	b.client.HSet(b.Context(), key, "host-0/i", "x")
	w, err := s.hub.watcher(b.Context(), "checkout", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if set, err := w.readSamples(b.Context()); status(err) != http.StatusConflict || len(set.Samples) > 0 || !strings.Contains(err.Error(), "samples of host-0/i cannot be read: ") {
		t.Errorf("%d samples, %v", len(set.Samples), err)
	}
}

// TestSamplesAreBounded: an answer has at most 200 samples and 2 MiB, and says how many there are.
func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{10: mostSamples, 64 << 10: 31} {
		all := make([]samples.Sample, 500)
		for i := range all {
			all[i].Request = &samples.Message{Body: strings.Repeat("x", size)}
		}
		a, err := answered(wanted{}.of(all))
		if err != nil || a.Total != 500 || len(a.Samples) != want {
			t.Errorf("bodies of %d: %d of %d, %v", size, len(a.Samples), a.Total, err)
		}
	}
}

// TestPagesShareSamples: many pages that ask at the same time cost Redis one read.
func TestPagesShareSamples(t *testing.T) {
	b, s := sampledServer(t)
	w, err := s.hub.watcher(b.Context(), "checkout", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int64
	w.samples.keep = time.Hour
	w.samples.load = func(ctx context.Context) (samples.Set, error) {
		reads.Add(1)
		return w.readSamples(ctx)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, got := asked(t, s.samples, "run", "checkout", "class=reset"); got != "140" {
				t.Errorf("samples %s", got)
			}
		})
	}
	all.Wait()
	if n := reads.Load(); n != 1 {
		t.Errorf("%d reads", n)
	}
}

// TestFramesHaveNoSamples: a frame is sent each second, so it leaves them out.
func TestFramesHaveNoSamples(t *testing.T) {
	t.Parallel()
	if f := archiveFrame(report.Report{Samples: reporttest.Samples()}); f.Report.Samples != nil {
		t.Errorf("%d samples", len(f.Report.Samples))
	}
}

// TestPageOpensSamples: a click or a key opens the samples of a class and the slowest ones, as Redis has them. Texts of servers
// stay texts.
func TestPageOpensSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	_, server := sampledServer(t)
	frame := withSteps(onStage(t, 300))
	frame.Control = false // a read-only page shows them too
	frame.Report.Errors = map[string]int64{"status": 900, "check": 90, "timeout": 9, "reset": 3, "protocol": 2, "eof": 1}
	frame.Report.Described.TraceURL = reporttest.TraceURL
	for i, name := range []string{"login", "pay"} {
		frame.Report.Steps[i].Name = name
	}
	s := newStage(t, func() Frame { return frame })
	s.handle("GET /api/v1/runs/{run}/samples", server.samples)
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/run/checkout", browsertest.Look{Width: 400, Height: 800})
	tab.Until(`document.querySelectorAll("tbody .opens").length === 6`)
	click := func(text string) {
		t.Helper()
		if !browsertest.Value[bool](tab, fmt.Sprintf(`(b => (b?.click(), b !== undefined))([...document.querySelectorAll(".opens")].find(b => b.textContent.startsWith(%q)))`, text)) {
			t.Fatalf("no button %s", text)
		}
	}
	shows := func(panel, ordinals string) {
		t.Helper()
		tab.Until(fmt.Sprintf(`[...document.querySelectorAll("#samples-%s summary")].map(s => s.children[0].lastChild.textContent).join(" ") === %q`, panel, ordinals))
	}
	click("status")
	shows("failed", "7 31 40")
	click("pay 1")
	shows("failed", "40")
	click("eof")
	tab.Until(`document.querySelector("#samples-failed .lead")?.textContent === "No such request was kept."`)
	click("eof")
	tab.Until(`document.querySelector("#samples-failed").hidden && !document.querySelector("[aria-expanded=true]")`)
	click("the slowest 10 of login")
	shows("slow", "412 555 77 7 31 205")
	browsertest.Value[bool](tab, `([...document.querySelectorAll(".opens")].find(b => b.textContent === "protocol").focus(), true)`)
	tab.Do(chromedp.KeyEvent(kb.Enter))
	shows("failed", "205")
	frame.Report.Errors["protocol"] = 777
	text, err := json.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	s.frames <- text // the row moves up; what is open stays open, and keeps the keyboard
	tab.Until(`[...document.querySelectorAll("td")].some(e => e.textContent === "777")`)
	if at := browsertest.Value[string](tab, `document.activeElement.textContent + document.activeElement.getAttribute("aria-expanded")`); at != "protocoltrue" {
		t.Errorf("the keyboard is at %s", at)
	}
	browsertest.Value[bool](tab, `(document.querySelector("#samples-failed summary").focus(), true)`)
	tab.Do(chromedp.KeyEvent(kb.Enter))
	tab.Until(`document.querySelectorAll("#samples-failed pre").length === 4`)
	body := browsertest.Value[string](tab, `document.querySelector("#samples-failed pre.body").textContent`)
	if want := strings.NewReplacer("\x00", "⟨U+0000⟩", "\x1b", "⟨U+001B⟩", "\u202e", "⟨U+202E⟩", "\u200b", "⟨U+200B⟩", "\u2028", "⟨U+2028⟩").Replace(reporttest.Hostile); body != want {
		t.Errorf("the body is %q, want %q", body, want)
	}
	if a := browsertest.Value[string](tab, `(a => a.href + " " + a.rel)(document.querySelector("#samples-failed a"))`); !strings.HasPrefix(a, "https://traces.example/explore?id=%3Cimg%20src") || !strings.HasSuffix(a, "&org=1 noopener noreferrer") {
		t.Errorf("the link is %s", a)
	}
	if n := browsertest.Value[int](tab, `document.querySelectorAll("img, iframe").length + document.scripts.length`); n != 2 {
		t.Errorf("%d images, frames and scripts", n)
	}
	quiet(t, tab)
}

// TestPageOpensSamplesOfAnArchive: an archive has samples of its own.
func TestPageOpensSamplesOfAnArchive(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	rep := report.Build(reporttest.TenMinutes(t, 300))
	rep.Samples = reporttest.Samples()
	server, err := New(Options{Key: NewKey(), Archives: []Archive{{Name: "old", Report: rep}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	s := newStage(t, func() Frame { return Frame{} })
	s.handle("GET /api/v1/archives/{name}", server.archive)
	s.handle("GET /api/v1/archives/{name}/samples", server.archivedSamples)
	tab := browsertest.Start(t).Visit(t, s.URL+"/#/archive/old", browsertest.Look{})
	tab.Until(`document.querySelector("tbody .opens")`)
	browsertest.Value[bool](tab, `([...document.querySelectorAll("tbody .opens")].find(b => b.textContent === "status").click(), true)`)
	tab.Until(`document.querySelector("#samples-failed summary")?.children[0].textContent === "ordinal 7"`)
	quiet(t, tab)
}
