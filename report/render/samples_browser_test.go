package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/samples"
)

// sampled is a report with samples.
func sampled(t testing.TB) report.Report {
	t.Helper()
	r := tenMinutes(t)
	r.Described.TraceURL = reporttest.TraceURL
	r.Errors = map[string]int64{"status": 900, "check": 90, "timeout": 9, "reset": 3, "protocol": 1, "eof": 1}
	r.Samples = reporttest.Samples()
	for _, name := range []string{"login", "pay"} {
		r.Steps = append(r.Steps, report.StepReport{Name: name, Sent: 500, Errors: map[string]int64{}, Latency: r.Latency})
	}
	r.Latency.Max = 2_001_000_000 // the upper edge of the bucket of the slowest sample
	return r
}

// samplesAt are the ordinals that a panel shows.
const samplesAt = `[...document.querySelectorAll("#samples-%s summary")].map(s => s.children[0].lastChild.textContent).join(" ")`

// opened is a tab with a report whose samples can be opened.
type opened struct {
	*testing.T
	*browsertest.Tab
}

// press gives the keyboard to the first of some elements with a text, and presses a key there.
func (o opened) press(selector, text, key string) {
	o.Helper()
	if !browsertest.Value[bool](o.Tab, fmt.Sprintf(`(e => (e?.focus(), e !== undefined && document.activeElement === e))([...document.querySelectorAll(%q)].find(e => e.textContent.startsWith(%q)))`, selector, text)) {
		o.Fatalf("%s %q cannot be reached", selector, text)
	}
	o.Do(chromedp.KeyEvent(key))
}

// shows waits until a panel shows these ordinals.
func (o opened) shows(panel, ordinals string) {
	o.Helper()
	o.Until(fmt.Sprintf(samplesAt+` === %q`, panel, ordinals))
}

// TestHTMLOpensSamples: the keyboard opens the samples of a class, of one of its steps, and of slow requests, and all of one
// request.
func TestHTMLOpensSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	r := sampled(t)
	file, _ := htmlOf(t, r)
	o := opened{t, browsertest.Start(t).Open(t, file, browsertest.Look{})}
	browsertest.Value[float64](o.Tab, whenDrawn)
	if n := browsertest.Value[string](o.Tab, `[...document.querySelectorAll("#class .opens")].map(b => b.textContent + b.getAttribute("aria-expanded")).join()`); n != "statusfalse,checkfalse,timeoutfalse,resetfalse,protocolfalse" {
		t.Errorf("classes that open samples: %s", n)
	}
	o.press("#class .opens", "status", kb.Enter)
	o.shows("failed", "7 31 40")
	o.press("#samples-failed .opens", "login 2", " ")
	o.shows("failed", "7 31")
	o.press("#class .opens", "timeout", kb.Enter)
	o.shows("failed", "101")
	if n := browsertest.Value[string](o.Tab, `[...document.querySelectorAll("#class [aria-expanded=true]")].map(b => b.textContent).join()`); n != "timeout" {
		t.Errorf("%s are open", n)
	}
	o.press("#class .opens", "timeout", kb.Enter)
	o.shows("failed", "")
	o.press("#times .opens", "the slowest 10 of login", kb.Enter)
	o.shows("slow", "412 555 77 7 31 205")
	o.press("#times .opens", "max, 2.00", kb.Enter)
	o.shows("slow", "101")
	o.press("#class .opens", "check", kb.Enter)
	o.shows("failed", "52 77")
	o.press("#samples-failed summary", "ordinal 52", kb.Enter)
	o.Until(`document.querySelector("#samples-failed .exchange")`)
	text := browsertest.Value[string](o.Tab, `document.querySelector("#samples-failed .exchange").innerText.replaceAll("\u00a0", " ")`)
	for _, want := range []string{"40.0 µs, from due to sent", "10.5 ms after it was sent", "10.5 ms, until all was there", "21.0 ms, from due to the end", "number 3 of its worker, new, open for 260 ms, 192.0.2.7:8080",
		"120 out, 1,500 in", "✓ passed status in 200", "✕ failed body contains \"ok\", but got: { \"answer\"", "POST /pay?token=[redacted] HTTP/1.1\nHost: 127.0.0.1:8080\n", `{"card":"[redacted]"}`,
		"HTTP/1.1 200\nContent-Type: application/json", "{\n  \"answer\": \"of pay\"\n}", "Secrets in it are redacted.", "Cut: its body has 48,000 bytes"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	link := browsertest.Value[string](o.Tab, `(a => [a.href, a.rel, a.textContent].join())(document.querySelector("#samples-failed a"))`)
	if id := r.Samples[3].TraceID; link != "https://traces.example/explore?id="+id+"&org=1,noopener noreferrer,"+id {
		t.Errorf("the link is %s", link)
	}
	isQuiet(t, o.Tab)
}

// TestHTMLKeepsSamplesText: hostile texts and bodies of 64 kB are shown as text on a phone, without what steers.
func TestHTMLKeepsSamplesText(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	r := sampled(t)
	i := slices.IndexFunc(r.Samples, func(s samples.Sample) bool { return s.Class == "protocol" })
	r.Samples[i].Response.Body = strings.Repeat(reporttest.Hostile, 64<<10/len(reporttest.Hostile))
	r.Samples[i].Status = "200"
	file, _ := htmlOf(t, r)
	o := opened{t, browsertest.Start(t).Open(t, file, browsertest.Look{Width: 400, Height: 800})}
	browsertest.Value[float64](o.Tab, whenDrawn)
	elements := browsertest.Value[int](o.Tab, `document.querySelectorAll("img, script, iframe, style").length`)
	o.press("#class .opens", "protocol", kb.Enter)
	o.shows("failed", "205")
	o.press("#samples-failed summary", "ordinal 205", kb.Enter)
	o.Until(`document.querySelectorAll("#samples-failed pre").length === 4`)
	if n := browsertest.Value[int](o.Tab, `document.querySelectorAll("img, script, iframe, style").length`); n != elements {
		t.Errorf("%d elements that act, want %d", n, elements)
	}
	body := browsertest.Value[string](o.Tab, `[...document.querySelectorAll("#samples-failed pre")].at(-1).textContent`)
	shown := strings.NewReplacer("\x00", "⟨U+0000⟩", "\x1b", "⟨U+001B⟩", "\u202e", "⟨U+202E⟩", "\u200b", "⟨U+200B⟩", "\u2028", "⟨U+2028⟩").Replace(r.Samples[i].Response.Body)
	if body != shown {
		t.Errorf("the body is %.300q, want %.300q", body, shown)
	}
	if all := browsertest.Value[string](o.Tab, `document.querySelector("main").textContent`); strings.ContainsAny(all, "\x00\x1b\u202e\u200b\u2028") {
		t.Error("a text steers")
	}
	if a := browsertest.Value[string](o.Tab, `document.querySelector("#samples-failed a").href`); !strings.HasPrefix(a, "https://traces.example/explore?id=%3Cimg%20src%3Dx%20onerror") || !strings.HasSuffix(a, "end&org=1") {
		t.Errorf("the link is %s", a)
	}
	o.press("#times .opens", "the slowest 10 of login", kb.Enter)
	o.press("#samples-slow summary", "ordinal 412", kb.Enter)
	o.press("#samples-slow summary", "ordinal 555", kb.Enter)
	o.Until(`document.querySelectorAll("#samples-slow .exchange").length === 2`)
	text := browsertest.Value[string](o.Tab, `document.querySelector("#samples-slow").innerText`)
	for _, want := range []string{"000000  1f 8b 08 00 00 00 00 00 00 03 cb cf 07 00 11 d9\n000010  f0 0c 02 00 00 00\n", "The body is no text", "Only its times were kept."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	isQuiet(t, o.Tab)
}

// TestHTMLLinksTracesOfTheWeb: only an address of the web becomes a link.
func TestHTMLLinksTracesOfTheWeb(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs a browser")
	}
	browser := browsertest.Start(t)
	for template, want := range map[string]string{
		"": "", "javascript:alert('${trace_id}')": "", "${trace_id}": "", "data:text/html,${trace_id}": "", "//traces.example/${trace_id}": "", "https://": "", "ftp://traces.example/${trace_id}": "",
		"http://traces.example/${trace_id}/${trace_id}": "http://traces.example/%3Ca%26b%3E/%3Ca%26b%3E", "https://traces.example/all": "https://traces.example/all",
	} {
		r := sampled(t)
		r.Described.TraceURL = template
		r.Samples[0].TraceID = "<a&b>"
		file, _ := htmlOf(t, r)
		o := opened{t, browser.Open(t, file, browsertest.Look{})}
		browsertest.Value[float64](o.Tab, whenDrawn)
		o.press("#class .opens", "status", kb.Enter)
		o.shows("failed", "7 31 40")
		o.press("#samples-failed summary", "ordinal 7", kb.Enter)
		o.Until(`document.querySelector("#samples-failed .exchange")`)
		if got := browsertest.Value[string](o.Tab, `document.querySelector("#samples-failed a")?.href ?? ""`); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
		if text := browsertest.Value[string](o.Tab, `document.querySelector("#samples-failed .exchange").textContent`); !strings.Contains(text, "<a&b>") {
			t.Errorf("%s: the id is missing in %s", template, text)
		}
	}
}

// TestHTMLSizeWithSamples: the samples of a worker, as many as there may be, make a page 400 kB larger at most.
func TestHTMLSizeWithSamples(t *testing.T) {
	r := tenMinutes(t)
	_, without := htmlOf(t, r)
	var set samples.Set
	const each = 8 // three first ones and five random ones
	for i := range 10 * samples.MostWhole {
		s := reporttest.Samples()[0]
		s.Ordinal, s.Class = uint64(i), fmt.Sprintf("class %d", i%(samples.MostWhole/each))
		s.Request.Body = strings.Repeat(`{"id":12345,"name":"somebody","text":"<p>words</p>"},`+"\n", 38)[:2_000]
		s.Response.Body = s.Request.Body
		set.Samples = append(set.Samples, s)
	}
	r.Samples = set.Within(samples.Limits{Whole: samples.MostWhole, Bytes: samples.MostBytes}).Samples
	_, with := htmlOf(t, r)
	t.Logf("%d samples: %d bytes more", len(r.Samples), len(with)-len(without))
	if len(r.Samples) < 50 || len(with)-len(without) > 400_000 {
		t.Errorf("%d samples: %d bytes more", len(r.Samples), len(with)-len(without))
	}
}
