package http3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http3"
)

// headers is a HEADERS frame of names and values.
func headers(fields ...string) string {
	var block bytes.Buffer
	e := qpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(qpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = e.Close()
	return string(quicvarint.Append([]byte{1}, uint64(block.Len()))) + block.String()
}

// data is a DATA frame.
func data(text string) string { return string(quicvarint.Append([]byte{0}, uint64(len(text)))) + text }

// read feeds an answer in parts of some bytes, and returns the error of its end.
func read(r *http3.Response, l http1.Limits, head bool, answer string, part int) error {
	r.Begin(l, head)
	for piece := range slices.Chunk([]byte(answer), part) {
		if err := r.Feed(piece); err != nil {
			return err
		}
	}
	return r.End()
}

func TestAnswers(t *testing.T) {
	ok := headers(":status", "200", "content-length", "5", "x-a", "1", "x-a", "2")
	other := errors.New("some error of the protocol")
	for name, c := range map[string]struct {
		answer string
		head   bool
		status int
		body   string
		err    error
	}{
		"good":               {ok + data("hel") + data("lo"), false, 200, "hello", nil},
		"interim":            {headers(":status", "103") + headers(":status", "100") + ok + data("hello"), false, 200, "hello", nil},
		"trailers":           {ok + data("hello") + headers("x-end", "1"), false, 200, "hello", nil},
		"head":               {ok, true, 200, "", nil},
		"head with body":     {ok + data("x"), true, 200, "", other},
		"not modified":       {headers(":status", "304", "content-length", "7"), false, 304, "", nil},
		"no content, body":   {headers(":status", "204") + data("x"), false, 204, "", other},
		"short":              {ok + data("hell"), false, 200, "hell", io.ErrUnexpectedEOF},
		"long":               {ok + data("hello!"), false, 200, "", other},
		"nothing":            {"", false, 0, "", io.ErrUnexpectedEOF},
		"only interim":       {headers(":status", "100"), false, 0, "", io.ErrUnexpectedEOF},
		"body of an interim": {headers(":status", "103") + data("hello") + ok, false, 0, "", other},
		"nine interim":       {strings.Repeat(headers(":status", "100"), 9), false, 0, "", http1.ErrInterim},
		"no status":          {headers("x", "1"), false, 0, "", other},
		"two statuses":       {headers(":status", "200", ":status", "200"), false, 0, "", other},
		"late status":        {headers("x", "1", ":status", "200"), false, 0, "", other},
		"switch":             {headers(":status", "101"), false, 0, "", other},
		"long status":        {headers(":status", "2000"), false, 0, "", other},
		"upper case":         {headers(":status", "200", "X-A", "1"), false, 0, "", other},
		"line break":         {headers(":status", "200", "x", "a\nb"), false, 0, "", other},
		"connection":         {headers(":status", "200", "connection", "close"), false, 0, "", other},
		"two lengths":        {headers(":status", "200", "content-length", "1", "content-length", "2"), false, 0, "", other},
		"no length":          {headers(":status", "200", "content-length", "-1"), false, 0, "", other},
		"pseudo trailer":     {ok + data("hello") + headers(":status", "200"), false, 200, "hello", other},
		"third head":         {ok + data("hello") + headers("x", "1") + headers("x", "1"), false, 200, "hello", other},
		"much in the head":   {headers(":status", "200", "x", strings.Repeat("x", 1<<16)), false, 0, "", http1.ErrHead},
		"many in the head":   {headers(slices.Concat([]string{":status", "200"}, slices.Repeat([]string{"age", "0"}, 2000))...), false, 0, "", http1.ErrHead},
		"many empty frames":  {headers(":status", "200") + strings.Repeat("\x00\x00", 40_000), false, 200, "", http1.ErrHead},
		"many small ones":    {headers(":status", "200") + strings.Repeat(data("x"), 80_000), false, 200, strings.Repeat("x", 1000), nil},
		"body above limit":   {headers(":status", "200") + data(strings.Repeat("x", 100_001)), false, 200, "", http1.ErrBody},
		"unknown frame":      {"\x21\x03abc" + ok + "\x21\x00" + data("hello"), false, 200, "hello", nil},
		"endless unknown":    {ok + "\x21\xbf\xff\xff\xff", false, 200, "", http1.ErrHead},
		"cut in a number":    {ok + data("hello") + "\x40", false, 200, "hello", io.ErrUnexpectedEOF},
		"frame of HTTP/2":    {ok + "\x06\x00", false, 200, "", other},
		"redirect, location": {headers(":status", "302", "location", "/there"), false, 302, "", nil},
	} {
		var r http3.Response
		for _, part := range []int{1 << 20, 1, 2, 7} {
			err := read(&r, http1.Limits{Body: 100_000, Content: 1000, Fields: part > 1}, c.head, c.answer, part)
			if (err == nil) != (c.err == nil) || c.err != nil && !errors.Is(c.err, other) && !errors.Is(err, c.err) {
				t.Errorf("%s in parts of %d: %v, want %v", name, part, err, c.err)
			}
			if r.Status() != c.status || string(r.Content()) != c.body && !errors.Is(c.err, other) {
				t.Errorf("%s in parts of %d: %d, %.40q", name, part, r.Status(), r.Content())
			}
			if again := r.Feed([]byte("x")); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(again, err) {
				t.Errorf("%s: after %v comes %v", name, err, again)
			}
		}
		if c.status == 302 && r.Location() != "/there" {
			t.Errorf("location %q", r.Location())
		}
		if name == "good" && (fmt.Sprint(r.Field("X-A")) != "[1 2]" || r.Length() != 5) {
			t.Errorf("%v, %d", r.Field("X-A"), r.Length())
		}
	}
}

// TestFaults: the code for the server, and whether the connection ends, follow from what is wrong.
func TestFaults(t *testing.T) {
	for answer, want := range map[string]struct {
		code       uint64
		connection bool
	}{
		data("x"):                     {http3.CodeFrameUnexpected, true},
		"\x01\x03\x02\x00\x80":        {http3.CodeDecompression, true},
		headers(":status", "20"):      {http3.CodeMessage, false},
		headers("x", "1"):             {http3.CodeMessage, false},
		"\x21\xbf\xff\xff\xff":        {http3.CodeCanceled, false},
		headers(":status", "200")[:4]: {http3.CodeCanceled, false},
	} {
		code, connection := http3.Fault(read2(new(http3.Response), []byte(answer)))
		if code != want.code || connection != want.connection {
			t.Errorf("%q: %#x, %v", answer, code, connection)
		}
	}
}

// TestSameHeadAgain: a head that is known costs nothing, and another one is read.
func TestSameHeadAgain(t *testing.T) {
	var r http3.Response
	good := []byte(headers(":status", "200", "content-length", "2") + data("ok"))
	if n := testing.AllocsPerRun(100, func() { _ = read2(&r, good) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if err := read2(&r, []byte(headers(":status", "404"))); err != nil || r.Status() != 404 || r.Length() != 0 {
		t.Errorf("%v, %d", err, r.Status())
	}
	if err := read2(&r, []byte(headers(":status", "200", "content-length", "2"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func read2(r *http3.Response, answer []byte) error {
	r.Begin(http1.Limits{}, false)
	if err := r.Feed(answer); err != nil {
		return err
	}
	return r.End()
}

func TestRequests(t *testing.T) {
	var e http3.Encoder
	for message, want := range map[string]string{
		"GET /a?b HTTP/1.1\r\nHost: x.test:1\r\nUser-Agent: loadctl\r\n\r\n":                                                                                 "[:method GET :scheme https :authority x.test:1 :path /a?b user-agent loadctl]",
		"POST * HTTP/1.1\r\nX-B:  1 \r\nHOST: x\r\nConnection: close\r\nX-A: a:b\r\nTE: trailers\r\nte: gzip\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok": "[:method POST :scheme https :authority x :path * x-b 1 x-a a:b te trailers content-length 2] ok",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n\r\n\r\n":                                                                                                          "[:method GET :scheme https :authority x :path /] \r\n\r\n",
	} {
		frames := e.Append([]byte("before"), []byte(message))
		frames = frames[len("before"):]
		if frames[0] != 1 {
			t.Fatalf("%q", frames)
		}
		n, used, err := quicvarint.Parse(frames[1:])
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		next := qpack.NewDecoder().Decode(frames[1+used : 1+used+int(n)])
		for {
			f, err := next()
			if err != nil {
				break
			}
			fields = append(fields, f.Name, f.Value)
		}
		got := fmt.Sprint(fields)
		if body := frames[1+used+int(n):]; len(body) > 0 {
			size, used, _ := quicvarint.Parse(body[1:])
			if body[0] != 0 || int(size) != len(body)-1-used {
				t.Errorf("%q", body)
			}
			got += " " + string(body[1+used:])
		}
		if got != want {
			t.Errorf("%q\n%s, want\n%s", message, got, want)
		}
	}
}

func TestControl(t *testing.T) {
	for text, want := range map[string]struct {
		code   uint64
		goAway string
	}{
		"\x04\x00":                                   {0, "none"},
		"\x04\x02\x06\x00\x21\x01x\x07\x01\x08":      {0, "8"},
		"\x04\x00\x07\x01\x08\x07\x02\x40\x04":       {0, "4"},
		"\x04\x00\x07\x01\x08\x07\x01\x0c":           {0, "8"}, // it must not grow
		"\x07\x01\x08":                               {http3.CodeMissingSettings, "none"},
		"\x04\x00\x04\x00":                           {http3.CodeFrameUnexpected, "none"},
		"\x04\x00\x00\x00":                           {http3.CodeFrameUnexpected, "none"},
		"\x04\x00\x06\x00":                           {http3.CodeFrameUnexpected, "none"}, // PING of HTTP/2
		"\x04\x00\x07\x3f" + strings.Repeat("x", 63): {http3.CodeExcessiveLoad, "none"},
	} {
		for part := 1; part < 4; part++ {
			var c http3.Control
			var code uint64
			var err error
			for piece := range slices.Chunk([]byte(text), part) {
				if code, err = c.Feed(piece); err != nil {
					break
				}
			}
			got := "none"
			if from, ok := c.GoAway(); ok {
				got = fmt.Sprint(from)
			}
			if code != want.code || (err != nil) != (code != 0) || got != want.goAway {
				t.Errorf("%q in parts of %d: %#x %v %s", text, part, code, err, got)
			}
		}
	}
}

// FuzzResponse: no answer breaks it, and the way it is split changes nothing.
func FuzzResponse(f *testing.F) {
	f.Add([]byte(headers(":status", "200", "content-length", "5")+data("hello")+headers("x", "1")), 3)
	f.Add([]byte("\x21\x03abc\x01\x03\x00\x00\xd9\x00\x40\x01x"), 1)
	f.Fuzz(func(t *testing.T, answer []byte, part int) {
		limits := http1.Limits{Body: 1000, Content: 100, Fields: true}
		var whole, parts http3.Response
		one := read(&whole, limits, false, string(answer), max(1, len(answer)))
		other := read(&parts, limits, false, string(answer), max(1, part&0xff))
		if !errors.Is(one, other) || whole.Status() != parts.Status() || whole.Length() != parts.Length() && one == nil {
			t.Errorf("%v %d %d, in parts %v %d %d", one, whole.Status(), whole.Length(), other, parts.Status(), parts.Length())
		}
		if len(whole.Content()) > limits.Content {
			t.Errorf("%d bytes are kept", len(whole.Content()))
		}
	})
}
