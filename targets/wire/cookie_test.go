package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/template"
)

// visits returns a spec with one flow of these paths.
func visits(url string, paths ...string) targets.Spec {
	f := targets.Flow{Name: "f"}
	for i, path := range paths {
		f.Steps = append(f.Steps, targets.Step{Name: fmt.Sprint(i), URL: url + path})
	}
	return targets.Spec{Flows: []targets.Flow{f}, Cookies: true}
}

// TestHostileCookiesOfAWire: the same for the event loop, which reads answers itself.
func TestHostileCookiesOfAWire(t *testing.T) {
	w, err := New(visits("http://a.test", "/", "/"), targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	session := new(targets.Session)
	w.Fill(nil, targets.Call{Session: session})
	for i := range 5000 {
		header := setting(fmt.Sprintf("c%d=%s; Path=/", i, strings.Repeat("x", i%5000)))
		if out := w.Outcome(header, 0, nil, "", session); out.Class != "" {
			t.Fatalf("%+v", out)
		}
	}
	if n := len(w.Step(1).Fill(nil, targets.Call{Step: 1, Session: session})); n < 400 || n > 17<<10 {
		t.Errorf("a request of %d bytes", n)
	}
	if out := w.Outcome(setting("a=1"), 0, nil, "", nil); out.Class != "" { // a caller without sessions
		t.Errorf("%+v", out)
	}
}

// TestCookiesCostNothingElsewhere: requests that can have no cookies of an answer are built once, and heads of answers
// are remembered, as without cookies.
func TestCookiesCostNothingElsewhere(t *testing.T) {
	spec := visits("http://a.test", "/login", "/")
	spec.Flows = append(spec.Flows, targets.Flow{Name: "look", Steps: []targets.Step{{Name: "look", URL: "http://a.test/"}}})
	for _, on := range []bool{false, true} {
		spec.Cookies = on
		w, err := New(spec, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range w.Steps() {
			if varies := on && i < 2; (step.Request == nil) != varies || step.Limits.Fields != varies {
				t.Errorf("cookies %v, step %d: %q, %+v", on, i, step.Request, step.Limits)
			}
		}
	}
}

// TestCookieAllocations: to add cookies to a request costs no memory, once the buffer has room.
func TestCookieAllocations(t *testing.T) {
	one := visits("http://a.test", "/cart", "/").Steps()[0]
	_, u, err := one.ParseURL()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMessage(one, u, Endpoint{}, one.Parser(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	session, b := new(targets.Session), make([]byte, 0, 1000)
	b = m.fill(b, template.Request{}, session)
	session.SetCookies(setting("sid=1"))
	n := testing.AllocsPerRun(100, func() { b = m.fill(b, template.Request{}, session) })
	if want := "GET /cart HTTP/1.1\r\nHost: a.test\r\nUser-Agent: loadctl\r\nCookie: sid=1\r\n\r\n"; n != 0 || string(b) != want {
		t.Errorf("%v allocations for %q", n, b)
	}
}

// setting is an answer that sets a cookie.
type setting string

func (s setting) Status() int           { return 200 }
func (s setting) Content() []byte       { return nil }
func (s setting) Length() int64         { return 0 }
func (s setting) Field(string) []string { return []string{string(s)} }

func TestCheckCookies(t *testing.T) {
	const want = "cookies: no request follows another one that could set them; add a second step to a flow, set --redirects, or leave cookies out"
	alone, several, redirected := visits("http://a.test", "/"), visits("http://a.test", "/", "/"), visits("http://a.test", "/")
	redirected.Redirects = 1
	for _, s := range []targets.Spec{several, redirected, {URL: "http://a.test"}} {
		if err := Validate(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []targets.Spec{alone, {URL: "http://a.test", Cookies: true, Redirects: 1}} {
		if err := Validate(s); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
