package deploy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/loadctl/loadctl/internal/proof/browsertest"
)

// TestSite opens all pages of the site in a browser, follows all links, and searches. The browser reaches no other
// machine, and reports each request that fails.
func TestSite(t *testing.T) {
	dir := filepath.Join(one, "dist", "site")
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	browser := browsertest.Start(t)
	tab := browser.Visit(t, server.URL+"/index.html", browsertest.Look{})
	seen := crawl(t, tab, server.URL)
	if len(seen) < 60 {
		t.Errorf("%d pages, want all documents", len(seen))
	}
	if said := tab.Log(); len(said) > 0 {
		t.Errorf("the pages asked for more, or complained: %q", said)
	}
	t.Run("search", func(t *testing.T) { searchSite(t, tab, server.URL) })
	t.Run("file", func(t *testing.T) { // without a server
		tab := browser.Open(t, filepath.Join(dir, "report.html"), browsertest.Look{})
		if title := browsertest.Value[string](tab, "document.title"); !strings.HasSuffix(title, " · loadctl") {
			t.Error(title)
		}
	})
	t.Run("looks", func(t *testing.T) { looksOfSite(t, browser, server.URL) })
}

// found is what a page has, as its script in the browser sees it.
type found struct {
	Title  string
	Links  []string // with their fragments
	IDs    []string
	Broken []string // images without a size
}

// crawl visits each page that links lead to from the first one. It returns them.
func crawl(t *testing.T, tab *browsertest.Tab, home string) (seen []string) {
	t.Helper()
	pages := map[string]found{}
	for next := []string{home + "/index.html"}; len(next) > 0; next = next[1:] {
		if _, is := pages[next[0]]; is {
			continue
		}
		tab.Do(chromedp.Navigate(next[0]))
		p := browsertest.Value[found](tab, `({
			Title: document.title,
			Links: [...document.querySelectorAll('a[href]')].map((a) => a.href),
			IDs: [...document.querySelectorAll('[id]')].map((e) => e.id),
			Broken: [...document.images].filter((i) => !i.complete || i.naturalWidth === 0).map((i) => i.src),
		})`)
		pages[next[0]] = p
		seen = append(seen, next[0])
		if p.Title == "" || len(p.Broken) > 0 {
			t.Errorf("%s: title %q, broken images %q", next[0], p.Title, p.Broken)
		}
		for _, link := range p.Links {
			to, _, _ := strings.Cut(link, "#")
			if strings.HasPrefix(to, home) && strings.HasSuffix(to, ".html") {
				next = append(next, to)
			}
		}
	}
	files := map[string]int{}
	for page, p := range pages {
		for _, link := range p.Links {
			to, fragment, _ := strings.Cut(link, "#")
			target, is := pages[to]
			switch {
			case is && fragment != "" && !slices.Contains(target.IDs, fragment):
				t.Errorf("%s links to %s, which has no such place", page, link)
			case is, !strings.HasPrefix(to, home): // the repository, or another site
			case files[to] == 0:
				answer, err := http.Get(to)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if files[to] = answer.StatusCode; files[to] != http.StatusOK {
					t.Errorf("%s links to %s: %s", page, link, answer.Status)
				}
			}
		}
	}
	return seen
}

// searchSite searches as a reader does, and opens what is found.
func searchSite(t *testing.T, tab *browsertest.Tab, home string) {
	tab.Do(chromedp.Navigate(home + "/adr/0001-lease-slots-not-counts.html"))
	first := func(words string) string {
		t.Helper()
		browsertest.Value[bool](tab, fmt.Sprintf(`(() => {
			const field = document.getElementById('search');
			field.value = %q;
			field.dispatchEvent(new Event('input'));
			return true;
		})()`, words))
		tab.Until(`!document.getElementById('found').hidden && document.getElementById('found').textContent !== ''`)
		return browsertest.Value[string](tab, `document.querySelector('#found a')?.href ?? 'nothing'`)
	}
	if to := first("exit codes"); to != home+"/exit-codes.html" {
		t.Errorf("exit codes: %s", to)
	}
	tab.Until(`document.querySelectorAll('#found mark').length > 0`)
	if to := first("no such words zzz"); to != "nothing" {
		t.Errorf("words that are nowhere: %s", to)
	}
	to := first("deadman")
	if to == "nothing" {
		t.Fatal("deadman: nothing found")
	}
	tab.Do(chromedp.Navigate(to))
	if !browsertest.Value[bool](tab, `document.getElementById('content').textContent.toLowerCase().includes('deadman')`) {
		t.Errorf("%s, which was found, does not have the word", to)
	}
}

// looksOfSite checks that pages fit on a phone, and are dark where readers want that.
func looksOfSite(t *testing.T, browser *browsertest.Browser, home string) {
	for _, page := range []string{"index", "report", "flags", "benchmarks", "adr/0013-arcs"} {
		tab := browser.Visit(t, home+"/"+page+".html", browsertest.Look{Width: 360, Height: 740, Dark: true})
		if width := browsertest.Value[int](tab, "document.documentElement.scrollWidth"); width > 360 {
			t.Errorf("%s is %d pixels wide on a phone", page, width)
		}
		if back := browsertest.Value[string](tab, "getComputedStyle(document.documentElement).backgroundColor"); back != "rgb(20, 24, 29)" {
			t.Errorf("%s is %s in the dark", page, back)
		}
		if shown := browsertest.Value[bool](tab, `(() => {
			const contents = document.getElementById('contents');
			const before = contents.offsetHeight;
			document.getElementById('menu').click();
			return before === 0 && contents.offsetHeight > 0;
		})()`); !shown {
			t.Errorf("%s: the menu does not open the contents", page)
		}
	}
}
