package cookies

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"
)

// labels is a list of public suffixes: those without a dot.
type labels struct{}

func (labels) String() string { return "labels" }
func (labels) PublicSuffix(domain string) string {
	return domain[strings.LastIndexByte(domain, '.')+1:]
}

// targetsOf are where the requests of a fuzz test go.
func targetsOf() []string {
	return []string{
		"http://shop.test/", "https://shop.test/a/b", "http://www.shop.test/a", "http://a.www.shop.test/a/b/c", "http://other.test/",
		"http://127.0.0.1/a/", "http://localhost/", "http://test/",
	}
}

// FuzzSet: whatever servers send, a jar stays in its bounds, and what it appends is one line. Where the library takes
// the headers too, both jars send the same cookies.
func FuzzSet(f *testing.F) {
	for _, header := range []string{
		"a=1", "a=1; Path=/a; Domain=shop.test; Secure; HttpOnly", "a=; Max-Age=0", `a="x y"; Expires=Tue, 24 Nov 2099 12:00:00 GMT`,
		"a=1; Domain=.test; Max-Age=9", "=", ";", "a=1;;=;Path;Domain=127.0.0.1", "\x00=\r\n", strings.Repeat("a=b;", 2000),
	} {
		for from := range targetsOf() {
			f.Add(header, "a=2; Path=/a/b", "b=3; Domain=www.shop.test", uint8(from))
		}
	}
	f.Fuzz(func(t *testing.T, one, two, three string, from uint8) {
		now := time.Now()
		all := targetsOf()
		origin := all[int(from)%len(all)]
		library, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: labels{}})
		if err != nil {
			t.Fatal(err)
		}
		var jar Jar
		same := true
		for _, header := range []string{one, two, three} {
			jar.Set(header, place(t, origin), now)
			c, err := http.ParseSetCookie(header)
			if same = same && err == nil && alike(c, header); same {
				library.SetCookies(parsed(t, origin), []*http.Cookie{c})
			}
			if len(jar.all) > Most || jar.size() > MostBytes {
				t.Fatalf("%d cookies of %d bytes", len(jar.all), jar.size())
			}
		}
		for _, to := range all {
			line := string(jar.Append(nil, "", place(t, to), now))
			if strings.ContainsFunc(line, isControl) {
				t.Fatalf("%q", line)
			}
			if want := header(library.Cookies(parsed(t, to))); same && line != want {
				t.Errorf("%q, %q and %q from %s: %s gets %q, and from the library %q", one, two, three, origin, to, line, want)
			}
		}
	})
}

// alike reports whether both jars have to do the same. The library keeps a space before a value, removes line breaks,
// adds up times until they are negative, and has no bounds.
func alike(c *http.Cookie, header string) bool {
	return !strings.ContainsFunc(header, isControl) && c.Value == trim(c.Value) && c.MaxAge <= 1<<30 && len(header) <= MostLine
}

func parsed(t *testing.T, raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// header returns cookies as they are sent.
func header(all []*http.Cookie) string {
	var pairs []string
	for _, c := range all {
		value := c.Value
		if c.Quoted {
			value = `"` + value + `"`
		}
		pairs = append(pairs, c.Name+"="+value)
	}
	return strings.Join(pairs, "; ")
}
