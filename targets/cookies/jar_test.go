package cookies

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// now is when the answers of the tests come. It is a Tuesday.
func now() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }

// place returns that of a URL.
func place(t *testing.T, raw string) Place {
	t.Helper()
	scheme, rest, _ := strings.Cut(raw, "://")
	host, path, _ := strings.Cut(rest, "/")
	return At(host, "/"+path, scheme == "https")
}

// sent returns what a request has after an answer from one URL set cookies.
func sent(t *testing.T, from, to, own string, headers ...string) string {
	t.Helper()
	var j Jar
	for _, h := range headers {
		j.Set(h, place(t, from), now())
	}
	return string(j.Append(nil, own, place(t, to), now()))
}

func TestRules(t *testing.T) {
	const shop = "http://shop.test/a/login"
	for _, c := range []struct{ name, from, to, set, want string }{
		{"plain", shop, shop, "a=1", "a=1"},
		{"spaces", shop, shop, "  a =  1 2\t; x", "a=1 2"},
		{"empty value", shop, shop, "a=", "a="},
		{"value with =", shop, shop, "a=b=c==", "a=b=c=="},
		{"quotes stay", shop, shop, `a="b c"`, `a="b c"`},
		{"JSON", shop, shop, `a={"b":[1,2]}`, `a={"b":[1,2]}`},
		{"UTF-8", shop, shop, "a=ä", "a=ä"},
		{"no name", shop, shop, "=1", ""},
		{"no =", shop, shop, "a", ""},
		{"empty", shop, shop, "", ""},
		{"line break", shop, shop, "a=1\r\nX: 2", ""},
		{"control character in the name", shop, shop, "a\x00=1", ""},
		{"DEL", shop, shop, "a=\x7f", ""},

		{"path of the request", shop, "http://shop.test/a/cart", "a=1", "a=1"},
		{"folder itself", shop, "http://shop.test/a", "a=1", "a=1"},
		{"other folder", shop, "http://shop.test/b/cart", "a=1", ""},
		{"like the folder", shop, "http://shop.test/ab", "a=1", ""},
		{"query is no path", "http://shop.test/login?next=/a/b", "http://shop.test/x", "a=1", "a=1"},
		{"path", shop, "http://shop.test/pay/now?q=/", "a=1; Path=/pay", "a=1"},
		{"path with a slash", shop, "http://shop.test/pay/now", "a=1; path=/pay/", "a=1"},
		{"above the path", shop, "http://shop.test/pay", "a=1; Path=/pay/", ""},
		{"path without a slash", shop, "http://shop.test/a/b", "a=1; Path=pay", "a=1"},
		{"the last path", shop, "http://shop.test/c", "a=1; Path=/b; Path=/c", "a=1"},
		{"case of a path", shop, "http://shop.test/PAY", "a=1; Path=/pay", ""},

		{"another host", shop, "http://other.test/a/", "a=1", ""},
		{"host only", shop, "http://www.shop.test/a/", "a=1", ""},
		{"case of a host", "http://Shop.TEST/a/", "http://shop.test./a/", "a=1", "a=1"},
		{"port", "http://shop.test:8080/a/", "http://shop.test:9090/a/", "a=1", "a=1"},
		{"domain", "http://www.shop.test/a/", "http://api.shop.test/a/", "a=1; Domain=Shop.test", "a=1"},
		{"domain itself", "http://www.shop.test/a/", "http://shop.test/a/", "a=1; Domain=.shop.test", "a=1"},
		{"not a part of a name", "http://www.shop.test/a/", "http://myshop.test/a/", "a=1; Domain=shop.test", ""},
		{"domain of others", shop, "http://other.test/a/", "a=1; Domain=other.test", ""},
		{"domain below", shop, "http://www.shop.test/a/", "a=1; Domain=www.shop.test", ""},
		{"domain of others is no host only", shop, shop, "a=1; Domain=other.test", ""},
		{"top-level domain", shop, shop, "a=1; Domain=test", ""},
		{"top-level domain with a dot", shop, shop, "a=1; Domain=.test", ""},
		{"dots", shop, shop, "a=1; Domain=..shop.test", ""},
		{"a dot", shop, shop, "a=1; Domain=.", ""},
		{"dot at the end", shop, shop, "a=1; Domain=shop.test.", ""},
		{"empty domain", shop, shop, "a=1; Domain=", "a=1"},
		{"localhost", "http://localhost/", "http://localhost:8080/", "a=1; Domain=localhost", "a=1"},
		{"below localhost", "http://localhost/", "http://a.localhost/", "a=1; Domain=localhost", ""},
		{"IP address", "http://127.0.0.1:1/", "http://127.0.0.1:2/", "a=1", "a=1"},
		{"domain of an IP address", "http://127.0.0.1/", "http://127.0.0.1/", "a=1; Domain=127.0.0.1", "a=1"},
		{"part of an IP address", "http://127.0.0.1/", "http://126.0.0.1/", "a=1; Domain=0.0.1", ""},
		{"no part of an IP address", "http://a.0.0.1/", "http://127.0.0.1/", "a=1; Domain=0.0.1", ""},
		{"IPv6", "http://[::1]:1/", "http://[::1]:2/", "a=1", "a=1"},

		{"secure", "https://shop.test/", "https://shop.test/", "a=1; Secure; HttpOnly; SameSite=Strict", "a=1"},
		{"not without TLS", "https://shop.test/", "http://shop.test/", "a=1; secure", ""},
		{"localhost without TLS", "http://localhost:8080/", "http://localhost:8080/", "a=1; Secure", "a=1"},
		{"loopback without TLS", "http://127.0.0.2/", "http://127.0.0.2/", "a=1; Secure", "a=1"},
		{"other address without TLS", "http://192.0.2.1/", "http://192.0.2.1/", "a=1; Secure", ""},
		{"also with TLS", "http://shop.test/", "https://shop.test/", "a=1", "a=1"},

		{"future", shop, shop, "a=1; Expires=Tue, 24 Nov 2026 12:00:01 GMT", "a=1"},
		{"with dashes", shop, shop, "a=1; expires=Tue, 24-Nov-2026 12:00:01 GMT", "a=1"},
		{"past", shop, shop, "a=1; Expires=Tue, 24 Nov 2026 12:00:00 GMT", ""},
		{"no date", shop, shop, "a=1; Expires=0", "a=1"},
		{"Max-Age", shop, shop, "a=1; Max-Age=1", "a=1"},
		{"Max-Age of 0", shop, shop, "a=1; Max-Age=0", ""},
		{"negative", shop, shop, "a=1; Max-Age=-5", ""},
		{"no Max-Age", shop, shop, "a=1; Max-Age=x", "a=1"},
		{"Max-Age wins", shop, shop, "a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=1"},
		{"Max-Age wins, and deletes", shop, shop, "a=1; Expires=Tue, 24 Nov 2099 12:00:00 GMT; Max-Age=0", ""},
		{"a long time", shop, shop, "a=1; Max-Age=9223372036854775807", "a=1"},
	} {
		if got := sent(t, c.from, c.to, "", c.set); got != c.want {
			t.Errorf("%s: %q gives %q, want %q", c.name, c.set, got, c.want)
		}
	}
}

// TestSeveral: cookies replace each other, longer paths come first, and those of the request win.
func TestSeveral(t *testing.T) {
	const shop = "http://www.shop.test/a/b"
	for _, c := range []struct {
		name, own, want string
		set             []string
	}{
		{"in their order", "", "b=1; a=2", []string{"b=1", "a=2"}},
		{"replaced in place", "", "b=3; a=2", []string{"b=1", "a=2", "b=3"}},
		{"names have a case", "", "b=1; B=2", []string{"b=1", "B=2"}},
		{"another path", "", "a=2; a=1", []string{"a=1; Path=/", "a=2; Path=/a"}},
		{"longer paths first", "", "c=3; b=2; d=4; a=1", []string{"a=1; Path=/", "b=2", "c=3; Path=/a/b", "d=4"}},
		{"another domain", "", "a=1; a=2", []string{"a=1", "a=2; Domain=shop.test"}},
		{"the same domain", "", "a=2", []string{"a=1", "a=2; Domain=www.shop.test"}},
		{"deleted", "", "b=2", []string{"a=1", "b=2", "a=; Max-Age=0"}},
		{"deleted by a date", "", "", []string{"a=1", "a=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}},
		{"deleted in another path", "", "a=1", []string{"a=1", "a=; Max-Age=0; Path=/"}},
		{"set again", "", "b=2; a=3", []string{"a=1", "b=2", "a=; Max-Age=0", "a=3"}},
		{"own", "x=7", "x=7; a=1", []string{"a=1"}},
		{"own wins", "x=7;a=8", "x=7;a=8; b=2", []string{"a=1", "b=2"}},
		{"own alone", "x=7", "x=7", nil},
		{"none", "", "", nil},
	} {
		if got := sent(t, shop, shop, c.own, c.set...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestExpiry: a cookie is sent up to its end.
func TestExpiry(t *testing.T) {
	var j Jar
	p := At("a.test", "/", false)
	j.Set("a=1; Max-Age=10", p, now())
	for after, want := range map[time.Duration]string{10*time.Second - 1: "a=1", 10 * time.Second: ""} {
		if got := string(j.Append(nil, "", p, now().Add(after))); got != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	j.Set("b=1", p, now().Add(time.Minute))
	if len(j.all) != 1 {
		t.Errorf("it keeps what is over: %+v", j.all)
	}
}

// size returns how much a jar holds.
func (j *Jar) size() (n int) {
	for _, c := range j.all {
		n += c.bytes()
	}
	return n
}

// TestBounds: what does not fit is dropped, and the cookies that are there stay and can be replaced.
func TestBounds(t *testing.T) {
	p := At("a.test", "/", false)
	var j Jar
	for i := range 2 * Most {
		j.Set(fmt.Sprintf("a%d=1", i), p, now())
	}
	j.Set("a0=2", p, now())
	if got := string(j.Append(nil, "", p, now())); len(j.all) != Most || !strings.HasPrefix(got, "a0=2; a1=1; ") || !strings.HasSuffix(got, "; a49=1") {
		t.Errorf("%d cookies: %s", len(j.all), got)
	}
	j.Set("a1=; Max-Age=0", p, now())
	j.Set("new=1", p, now())
	if got := string(j.Append(nil, "", p, now())); !strings.HasSuffix(got, "; new=1") {
		t.Errorf("a deleted cookie makes no room: %s", got)
	}

	j = Jar{}
	j.Set("a="+strings.Repeat("x", MostLine-2), p, now())
	j.Set("b="+strings.Repeat("x", MostLine-1), p, now())
	j.Set("c=1; Path=/"+strings.Repeat("x", MostLine), p, now())
	if len(j.all) != 1 || j.all[0].name != "a" {
		t.Errorf("%d cookies", len(j.all))
	}
	for i := range 10 {
		j.Set(fmt.Sprintf("d%d=%s", i, strings.Repeat("x", 4000)), p, now())
	}
	before := j.size()
	j.Set("d0="+strings.Repeat("y", 4090), p, now())
	if len(j.all) != 4 || before > MostBytes || j.size() > MostBytes {
		t.Errorf("%d cookies of %d bytes, and then %d", len(j.all), before, j.size())
	}
	j.Set("a=", p, now())
	j.Set("d0="+strings.Repeat("y", 4090), p, now())
	if got := string(j.Append(nil, "", p, now())); !strings.Contains(got, "d0=y") {
		t.Error("a smaller cookie makes no room")
	}
}

// TestAppendAllocatesNothing: a request of a flow with cookies is as cheap as one with placeholders.
func TestAppendAllocatesNothing(t *testing.T) {
	var j Jar
	p := At("127.0.0.1:8080", "/a/b", false)
	j.Set("sid=abc; Path=/", p, now())
	j.Set("b=abc", p, now())
	b := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() { b = j.Append(b[:0], "x=1", p, now()) }); n != 0 || string(b) != "x=1; b=abc; sid=abc" {
		t.Errorf("%v allocations for %s", n, b)
	}
}
