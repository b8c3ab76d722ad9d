package http1

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/targets/http1/http1test"
)

// An ending is the result of an answer.
type ending struct {
	status int
	class  string
	keep   bool
	in     int
	body   int64
}

// read feeds a case in pieces: next returns the size of the next piece, out of the remaining bytes.
func read(t *testing.T, r *Response, c http1test.Case, next func(left int) int) ending {
	t.Helper()
	r.Begin(Limits{Body: c.BodyLimit}, c.Head)
	var e ending
	var done bool
	var err error
	for rest := c.Bytes; len(rest) > 0 && !done && err == nil; {
		b := rest[:next(len(rest))]
		var n int
		n, done, err = r.Feed(b)
		if n < 0 || n > len(b) || n < len(b) && !done && err == nil {
			t.Fatalf("%s: took %d of %d bytes, done %v, error %v", c.Name, n, len(b), done, err)
		}
		e.in += n
		rest = rest[n:]
	}
	e.status, e.body = r.Status(), r.body
	// Data after the answer may come later: the reader of the socket sees it.
	e.keep = r.KeepAlive() && e.in == len(c.Bytes) && !c.Closes
	if c.Closes && err == nil {
		err = r.EOF()
		done = err == nil
	}
	switch {
	case errors.Is(err, ErrBody):
		e.class = http1test.BodyLimit
	case errors.Is(err, ErrHead):
		e.class = http1test.HeadLimit
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.class = http1test.EOF
	case err != nil:
		e.class = http1test.Protocol
	case !done:
		e.class = http1test.Timeout
	}
	return e
}

func expected(c http1test.Case) ending {
	return ending{status: c.Status, class: c.Class, keep: c.Keep, in: c.In, body: c.Body}
}

// Whole, in two pieces cut at each byte, and byte by byte; with one Response that is reused, and with two that share a
// Memo.
func TestCases(t *testing.T) {
	var r Response
	var memo Memo
	var one, other Response
	one.Remember(&memo)
	other.Remember(&memo)
	names := map[string]bool{}
	for _, c := range http1test.Cases() {
		if names[c.Name] {
			t.Errorf("%s: twice", c.Name)
		}
		names[c.Name] = true
		want := expected(c)
		check := func(how string, next func(left int) int) {
			t.Helper()
			if got := read(t, &r, c, next); got != want {
				t.Errorf("%s, %s: %.100q\ngot  %+v\nwant %+v, error %v", c.Name, how, c.Bytes, got, want, r.err)
			}
			for _, again := range []*Response{&one, &other, &one} {
				if got := read(t, again, c, next); got != want || again.Location() != r.Location() {
					t.Errorf("%s, %s, remembered: %.100q\ngot  %+v, to %q\nwant %+v, to %q, error %v",
						c.Name, how, c.Bytes, got, again.Location(), want, r.Location(), again.err)
				}
			}
		}
		check("whole", func(left int) int { return left })
		check("byte by byte", func(int) int { return 1 })
		for _, at := range cuts(len(c.Bytes)) {
			check("in two", func(left int) int {
				if left == len(c.Bytes) {
					return at
				}
				return left
			})
		}
	}
	if len(names) < 3000 {
		t.Errorf("only %d cases", len(names))
	}
}

// cuts returns where to cut n bytes in two: everywhere, or for a long answer at some places, more of them near its
// ends.
func cuts(n int) (at []int) {
	if n <= 500 {
		for i := 1; i < n; i++ {
			at = append(at, i)
		}
		return at
	}
	factor := 2
	if n > 1<<16 {
		factor = 16
	}
	for d := 1; d < n; d *= factor {
		at = append(at, d, n-d)
	}
	return at
}

// A head equal to the last one is not parsed, so a wrong Memo would go unnoticed.
func TestMemo(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	var memo Memo
	var r Response
	r.Remember(&memo)
	status := func(text string, pieces int, limits Limits) int {
		r.Begin(limits, false)
		for b := []byte(text); len(b) > 0; {
			n := min(len(b), (len(text)+pieces-1)/pieces)
			if _, _, err := r.Feed(b[:n]); err != nil {
				return 0
			}
			b = b[n:]
		}
		return r.Status()
	}
	if got := status(answer, 1, Limits{}); got != 200 {
		t.Fatal(got)
	}
	memo.head.code = 299 // what nobody has read
	for _, c := range []struct {
		what, text   string
		pieces, want int
		limits       Limits
	}{
		{"the same", answer, 1, 299, Limits{}},
		{"with another body", answer[:len(answer)-2] + "OK", 1, 299, Limits{}},
		{"in two pieces", answer, 2, 200, Limits{}},
		{"longer than it may be", answer, 1, 0, Limits{Head: 10}},
		{"after one that waits", "HTTP/1.1 100 Continue\r\n\r\n" + answer, 1, 200, Limits{}},
		{"the same again", answer, 1, 299, Limits{}},
		{"another", "HTTP/1.1 201 OK\r\nContent-Length: 2\r\n\r\nok", 1, 201, Limits{}},
		{"the one before the other", answer, 1, 200, Limits{}},
	} {
		if got := status(c.text, c.pieces, c.limits); got != c.want {
			t.Errorf("%s: status %d instead of %d", c.what, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	const wait, ok = "HTTP/1.1 100 \r\n\r\n", "HTTP/1.1 200 \r\nA: b\r\n\r\n"
	for _, c := range []struct {
		limits Limits
		answer string
		want   error
	}{
		{Limits{Head: len(ok)}, ok, nil},
		{Limits{Head: len(ok) - 1}, ok, ErrHead},
		{Limits{Head: 1}, ok, ErrHead},
		{Limits{Head: len(wait + ok)}, wait + ok, nil},
		{Limits{Head: len(wait+ok) - 1}, wait + ok, ErrHead},
		{Limits{Head: 3}, "HTTPX", ErrHead},
		{Limits{Head: 3}, "HTX", errProtocol},
		{Limits{Head: -1, Interim: -1, Body: -1}, wait + ok, nil},
		{Limits{Interim: 1}, wait + ok, nil},
		{Limits{Interim: 1}, wait + wait + ok, ErrInterim},
	} {
		for size := 1; size <= len(c.answer); size++ {
			var r Response
			r.Begin(c.limits, true)
			var err error
			for b := range slices.Chunk([]byte(c.answer), size) {
				if _, _, err = r.Feed(b); err != nil {
					break
				}
			}
			if !errors.Is(err, c.want) || err == nil && !r.KeepAlive() {
				t.Errorf("%+v, %q in pieces of %d: %v", c.limits, c.answer, size, err)
			}
		}
	}
}

func TestLocation(t *testing.T) {
	var r Response
	for _, c := range []struct{ head, want string }{
		{"302 Found\r\nLocation: \t/a b \r\n", "/a b"},
		{"302 \r\nA:\r\n Location: /c\r\nLocation:\r\n\t/a\t\r\n \tb\r\n \r\n", "/a b"},
		{"301 \r\nlocation:http://a/\r\nLocation: /other\r\n", "http://a/"},
		{"303 \r\nLOCATION: x\r\n", "x"},
		{"307 \r\nLocation: x\r\n", "x"},
		{"308 \r\nLocation: x\r\n", "x"},
		{"302 \r\nLocation:\r\n", ""},
		{"302 \r\n", ""},
		{"300 \r\nLocation: x\r\n", ""},
		{"201 \r\nLocation: x\r\n", ""},
		{"100 \r\nLocation: x\r\n\r\nHTTP/1.1 302 \r\n", ""},
	} {
		for _, size := range []int{1, 1000} {
			if done, err := feed(&r, []byte("HTTP/1.1 "+c.head+"Content-Length: 0\r\n\r\n"), size); !done || err != nil {
				t.Fatalf("%q: done %v, error %v", c.head, done, err)
			}
			if got := r.Location(); got != c.want {
				t.Errorf("%q: got %q, want %q", c.head, got, c.want)
			}
		}
	}
	r.Begin(Limits{}, false)
	r.Feed([]byte("HTTP/1.1 302 \r\nLocation: /a\r\n"))
	if got := r.Location(); got != "" {
		t.Errorf("before the end of the head: %q", got)
	}
}

// After the end, good or bad, no bytes are read and the result stays.
func TestAfterTheEnd(t *testing.T) {
	var r Response
	feed(&r, []byte("HTTP/1.1 204 \r\n\r\n"), 100)
	if n, done, err := r.Feed(nil); n != 0 || !done || err != nil || !r.KeepAlive() {
		t.Errorf("nothing more: %d, %v, %v, keep-alive %v", n, done, err, r.KeepAlive())
	}
	if n, done, err := r.Feed([]byte("x")); n != 0 || !done || err != nil || r.KeepAlive() {
		t.Errorf("a byte more: %d, %v, %v, keep-alive %v", n, done, err, r.KeepAlive())
	}
	if err := r.EOF(); err != nil || r.Status() != 204 {
		t.Errorf("the end: %v, status %d", err, r.Status())
	}
	feed(&r, []byte("HTTP/1.1 200 \r\nA\r\n"), 100)
	if n, done, err := r.Feed([]byte("x")); n != 0 || done || !errors.Is(err, errField) || !errors.Is(r.EOF(), errField) {
		t.Errorf("after an error: %d, %v, %v, %v", n, done, err, r.EOF())
	}
	r.Begin(Limits{}, false)
	if err := r.EOF(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("before the first byte: %v", err)
	}
	if _, _, err := r.Feed([]byte("HTTP")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("bytes after the end: %v", err)
	}
}

// One long line must not cost memory for as long as the connection lives.
func TestBuffersAreBounded(t *testing.T) {
	var r Response
	long := slices.Repeat([]byte("a"), 500<<10)
	r.Begin(Limits{}, false)
	r.Feed([]byte("HTTP/1.1 302 \r\nLocation: "))
	r.Feed(long)
	r.Feed([]byte("\r\n\r\n"))
	r.Begin(Limits{}, false)
	if cap(r.line) > keptBuffer || cap(r.goal) > keptBuffer {
		t.Errorf("buffers of %d and %d bytes are kept", cap(r.line), cap(r.goal))
	}
	r.Feed([]byte("HTTP/1.1 302 \r\nLocation: "))
	r.Feed(long[:7000])
	r.Feed([]byte("\r\nA: "))
	for range 50 {
		r.Feed(long[:1000])
		if cap(r.line) > 2*maxHeld {
			t.Fatalf("a buffer of %d bytes", cap(r.line))
		}
	}
	if r.Release(); cap(r.line) > keptBuffer || cap(r.goal) > keptBuffer {
		t.Errorf("buffers of %d and %d bytes are kept after Release", cap(r.line), cap(r.goal))
	}
}

// However the bytes are split, the result is the same, and nothing panics.
func FuzzResponse(f *testing.F) {
	for _, c := range http1test.Cases() {
		if len(c.Bytes) < 500 {
			f.Add(c.Bytes, c.Closes, c.Head, c.BodyLimit, uint64(len(c.Bytes)))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, closes, head bool, limit int64, seed uint64) {
		c := http1test.Case{Name: "fuzz", Bytes: b, Closes: closes, Head: head, BodyLimit: limit}
		var r Response
		want := read(t, &r, c, func(left int) int { return left })
		wantErr, wantGoal := r.err, r.Location()
		random := rand.New(rand.NewPCG(seed, 0))
		got := read(t, &r, c, func(left int) int { return 1 + random.IntN(left) })
		if got != want || !errors.Is(r.err, wantErr) || r.Location() != wantGoal {
			t.Errorf("%q\nwhole %+v, %v, %q\ncut   %+v, %v, %q", b, want, wantErr, wantGoal, got, r.err, r.Location())
		}
		if want.class == "" && want.status == 0 || want.keep && want.class != "" {
			t.Errorf("%q: %+v", b, want)
		}
	})
}
