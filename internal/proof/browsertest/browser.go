// Package browsertest opens pages in Debian's chromium-headless-shell, and observes what they do:
//
//	tab := browsertest.Start(t).Open(t, "report.html", browsertest.Look{Dark: true})
//	title := browsertest.Value[string](tab, "document.title")
//	said := tab.Log() // console output and requests of the page
//
// Visit opens an address of a server in the same way. The browser reaches no other machine: it resolves no names.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// A Browser is a process.
type Browser struct{ ctx context.Context }

// Start starts a browser, which ends with the test. engine are flags of its JavaScript engine, such as --jitless.
func Start(t testing.TB, engine ...string) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatal("the tests of pages need a browser: apt-get install -y chromium-headless-shell fonts-dejavu-core")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("font-render-hinting", "none"))
	if len(engine) > 0 {
		options = append(options, chromedp.Flag("js-flags", strings.Join(engine, " ")))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() { end(); stop() })
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return &Browser{ctx}
}

// A Look is how a page is displayed. The zero value is 1280×800, light, with JavaScript.
type Look struct {
	Width, Height int64
	Dark          bool
	Plain         bool // without JavaScript
}

// A Tab shows one page.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu    sync.Mutex
	lines []string // console output and requests of the page
}

// Open opens a file, and returns when the page and its script are loaded.
func (b *Browser) Open(t testing.TB, file string, look Look) *Tab {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	address := (&url.URL{Scheme: "file", Path: path}).String()
	return b.open(t, address, func(asked string) bool { return asked == address }, look)
}

// Visit opens an address of a server on 127.0.0.1, and returns when the page and its script are loaded. The page may ask
// that server for more, and no other. Tabs of one browser share cookies: a login in one is a login in all.
func (b *Browser) Visit(t testing.TB, address string, look Look) *Tab {
	t.Helper()
	home, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	origin := home.Scheme + "://" + home.Host + "/"
	return b.open(t, address, func(asked string) bool { return strings.HasPrefix(asked, origin) }, look)
}

// open opens an address. own reports which requests the page may make.
func (b *Browser) open(t testing.TB, address string, own func(string) bool, look Look) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	t.Cleanup(closeTab)
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, func(event any) { tab.record(own, event) }); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	tab.Look(look)
	tab.Do(chromedp.Navigate(address))
	return tab
}

// Look displays the page in another way.
func (tab *Tab) Look(look Look) {
	tab.t.Helper()
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	if look.Width == 0 {
		look.Width, look.Height = 1280, 800
	}
	tab.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		size := emulation.SetDeviceMetricsOverrideParams{Width: look.Width, Height: look.Height, DeviceScaleFactor: 1}
		_, err1 := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		_, err2 := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
		_, err3 := cdp.Call(ctx, target, emulation.SetEmulatedMedia, media)
		_, err4 := cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, size)
		_, err5 := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: look.Plain})
		return errors.Join(err1, err2, err3, err4, err5)
	}))
}

// record keeps what no page may do.
func (tab *Tab) record(own func(string) bool, event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		said = fmt.Sprintf("console.%s", e.Type)
		for _, a := range e.Args {
			said += " " + string(a.Value)
		}
	case *runtime.EventExceptionThrown:
		said = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			said += " " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		said = fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if !own(e.Request.URL) {
			said = "request to " + e.Request.URL
		}
	}
	if said != "" {
		tab.mu.Lock()
		tab.lines = append(tab.lines, said)
		tab.mu.Unlock()
	}
}

// Log returns the console output and the requests of the page.
func (tab *Tab) Log() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.lines...)
}

// Do does something with the page.
func (tab *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := await.Within(tab.ctx, tab.t)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tab.t.Fatalf("page: %v; it said %q", err, tab.Log())
	}
}

// Value evaluates a JavaScript expression, and waits for its promise if it is one.
func Value[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	ctx, cancel := await.Within(tab.ctx, tab.t)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tab.t.Fatalf("evaluate %.200s: %v; the page said %q", expression, err, tab.Log())
	}
	return v
}

// Until waits until a JavaScript expression is true.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	script := fmt.Sprintf(`new Promise(done => { const look = () => { (%s) ? done(true) : setTimeout(look, 20) }; look() })`, expression)
	Value[bool](tab, script)
}

// Memory returns how many bytes the data and the code of a page's scripts use after garbage collection, and how many
// elements its document has.
func (tab *Tab) Memory() (heap float64, elements int) {
	tab.t.Helper()
	tab.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for range 3 { // what finalizers free, the next one collects
			if _, err := cdp.Call(ctx, target, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return err
			}
		}
		used, err := cdp.Call(ctx, target, runtime.GetHeapUsage, cdp.Empty{})
		heap = used.UsedSize
		return err
	}))
	return heap, Value[int](tab, `document.querySelectorAll("*").length`)
}

// Shot returns a PNG picture of a part of the page, as wide as the page, beginning this many pixels below its top.
func (tab *Tab) Shot(from, height int64) []byte {
	tab.t.Helper()
	width := Value[int64](tab, "innerWidth")
	yes := true
	var picture []byte
	tab.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		result, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{
			CaptureBeyondViewport: &yes, Clip: &page.Viewport{Y: float64(from), Width: float64(width), Height: float64(height), Scale: 1}})
		picture = result.Data
		return err
	}))
	return picture
}
