package http1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/http1"
)

// TestKeep: the beginning of the body and the headers of the last head are kept, however the bytes arrive, also if the
// head is the one that was remembered.
func TestKeep(t *testing.T) {
	interim := "HTTP/1.1 103 Early\r\nX-A: early\r\n\r\n"
	head := "HTTP/1.1 200 OK\r\nX-A:  1 \r\nx-b:\r\nX-A: 2, 3\r\n"
	for name, answer := range map[string]string{
		"sized":     head + "Content-Length: 10\r\n\r\n0123456789",
		"chunked":   interim + head + "Transfer-Encoding: chunked\r\n\r\n3\r\n012\r\n7\r\n3456789\r\n0\r\nX-A: trailer\r\n\r\n",
		"unbounded": head + "\r\n0123456789",
	} {
		for _, limits := range []http1.Limits{{Content: 4, Fields: true}, {Content: 100, Fields: true}, {Fields: true}, {Content: 4}, {}} {
			var r http1.Response
			r.Remember(new(http1.Memo))
			for _, step := range []int{len(answer), len(answer), 1, 7} {
				r.Begin(limits, false)
				for at := 0; at < len(answer); at += step {
					if _, _, err := r.Feed([]byte(answer[at:min(at+step, len(answer))])); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.EOF(); err != nil {
					t.Fatal(err)
				}
				want := "0123456789"[:min(limits.Content, 10)]
				if got := string(r.Content()); got != want || r.Length() != 10 {
					t.Errorf("%s, %+v, in steps of %d: content %q of %d bytes", name, limits, step, got, r.Length())
				}
				var a, b []string
				if limits.Fields {
					a, b = []string{"1", "2, 3"}, []string{""}
				}
				if !slices.Equal(r.Field("x-A"), a) || !slices.Equal(r.Field("X-B"), b) || r.Field("X-C") != nil {
					t.Errorf("%s, %+v, in steps of %d: fields %q and %q", name, limits, step, r.Field("X-A"), r.Field("x-b"))
				}
			}
			if r.Release(); len(r.Content()) > 0 || limits.Fields && len(r.Field("X-A")) > 0 {
				t.Error("something is left after Release")
			}
		}
	}
}

// TestKeepFolded: a header on several lines has one value, with a space where each line begins.
func TestKeepFolded(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\nX-A: a \t\r\n \t b\r\n\tc\r\n \r\nX-A:\n d\r\nContent-Length: 0\r\n\r\n"
	for step := 1; step <= len(answer); step++ {
		var r http1.Response
		r.Begin(http1.Limits{Fields: true}, false)
		for b := range slices.Chunk([]byte(answer), step) {
			if _, _, err := r.Feed(b); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Field("x-a"); !slices.Equal(got, []string{"a b c", "d"}) || !r.KeepAlive() {
			t.Errorf("in steps of %d: %q", step, got)
		}
	}
}

// TestKeepIsBounded: a long body leaves no large buffer behind.
func TestKeepIsBounded(t *testing.T) {
	var r http1.Response
	r.Begin(http1.Limits{Content: 1 << 20}, false)
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + strings.Repeat("x", 2_000_000)
	if _, done, err := r.Feed([]byte(answer)); !done || err != nil {
		t.Fatal(done, err)
	}
	if n := len(r.Content()); n != 1<<20 {
		t.Errorf("%d bytes are kept", n)
	}
	if r.Release(); cap(r.Content()) > 64<<10 {
		t.Errorf("a buffer of %d bytes is left", cap(r.Content()))
	}
}
