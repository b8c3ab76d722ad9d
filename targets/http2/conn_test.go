package http2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2/http2test"
)

// get returns a request; post one with a body.
func get(tb testing.TB) *Request { return encoded(tb, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }

func post(tb testing.TB, size int) *Request {
	return encoded(tb, "POST / HTTP/1.1\r\nHost: a\r\n\r\n"+strings.Repeat("x", size))
}

func encoded(tb testing.TB, message string) *Request {
	tb.Helper()
	var r Request
	if err := r.Encode("http", []byte(message)); err != nil {
		tb.Fatal(err)
	}
	return &r
}

// begun returns a connection whose peer has greeted, and whose output was written.
func begun(tb testing.TB, pairs ...uint32) *Conn {
	tb.Helper()
	c := NewConn(http1.Limits{})
	if err := c.Feed(http2test.Settings(pairs...)); err != nil {
		tb.Fatal(err)
	}
	c.Wrote(len(c.Output()))
	return c
}

func TestEncode(t *testing.T) {
	for _, x := range []struct{ message, want, body string }{
		{"GET / HTTP/1.1\r\n\r\n", ":method GET|:scheme https|:path /", ""},
		{"GET / HTTP/1.1\r\nHost: a:80\r\n\r\n", ":method GET|:scheme https|:path /|:authority a:80", ""},
		{"POST /a?b HTTP/1.1\r\nX-A: 1\r\nHOST: a\r\nX-A:2\r\nContent-Length: 2\r\n\r\nhi", ":method POST|:scheme https|:path /a?b|:authority a|x-a 1|x-a 2|content-length 2", "hi"},
		{"OPTIONS * HTTP/1.1\r\nHost: \r\n\r\n", ":method OPTIONS|:scheme https|:path *", ""},
		{"PUT / HTTP/1.1\r\n\r\n\r\n\r\n", ":method PUT|:scheme https|:path /", "\r\n\r\n"},
		{"GET / HTTP/1.1\r\nConnection: close, X-Hop\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nTransfer-Encoding: chunked\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\nX-HOP: 1\r\nTE: gzip\r\n\r\n", ":method GET|:scheme https|:path /", ""},
		{"GET / HTTP/1.1\r\nConnection: x-a\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\nConnection: x-c, x-b\r\n\r\n", ":method GET|:scheme https|:path /", ""},
		{"GET / HTTP/1.1\r\nTE: Trailers\r\nAccept-Charset: x\r\nAuthorization: b\r\nCookie: a=b; c=d\r\nVia: \t\r\nDate:x\r\n\r\n", ":method GET|:scheme https|:path /|te Trailers|accept-charset x|authorization b!|cookie a=b; c=d!|via |date x", ""},
		{"DELETE /" + strings.Repeat("p", 1000) + " HTTP/1.1\r\n" + strings.Repeat("N", 200) + ": v\r\n\r\n", ":method DELETE|:scheme https|:path /" + strings.Repeat("p", 1000) + "|" + strings.Repeat("n", 200) + " v", ""},
	} {
		r := Request{block: make([]byte, 100)}
		if err := r.Encode("https", []byte(x.message)); err != nil {
			t.Errorf("%.100q: %v", x.message, err)
			continue
		}
		fields, err := hpack.NewDecoder(0, nil).DecodeFull(r.block)
		var got []string
		for _, f := range fields {
			secret := ""
			if f.Sensitive {
				secret = "!"
			}
			got = append(got, f.Name+" "+f.Value+secret)
		}
		if g := strings.Join(got, "|"); err != nil || g != x.want || string(r.body) != x.body {
			t.Errorf("%.100q: %v\ngot  %q, %q\nwant %q, %q", x.message, err, g, r.body, x.want, x.body)
		}
	}
	for _, bad := range []string{
		"", "GET", "GET /", "GET / HTTP/1.1", "GET / HTTP/1.1\r\n", "GET / HTTP/1.0\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n", "GET / HTTP/1.1\r\nA\r\n\r\n",
		"GET / HTTP/1.1\r\n: b\r\n\r\n", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
	} {
		if err := new(Request).Encode("http", []byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestStaticNames: the indexes are those of RFC 7541, as the decoder knows them.
func TestStaticNames(t *testing.T) {
	names := map[string]bool{}
	for i := byte(1); i <= 61; i++ {
		f, err := hpack.NewDecoder(0, nil).DecodeFull([]byte{indexed | i})
		if err != nil {
			t.Fatal(err)
		}
		index, secret := staticName([]byte(strings.ToUpper(f[0].Name)))
		if index != 0 && !names[f[0].Name] && index != i {
			t.Errorf("%s: %d instead of %d", f[0].Name, index, i)
		}
		names[f[0].Name] = true
		if strings.Contains("authorization cookie", f[0].Name) != secret && f[0].Name != "proxy-authorization" {
			t.Errorf("%s: secret %v", f[0].Name, secret)
		}
	}
}

// TestRoom: streams are opened as far as the peer and the output allow it.
func TestRoom(t *testing.T) {
	c := NewConn(http1.Limits{})
	if n := c.Room(); n != 1 {
		t.Errorf("%d before the settings", n)
	}
	c = begun(t, 3, 2)
	var a, b, d Stream
	c.Open(&a, get(t), http1.Limits{})
	if n := c.Room(); n != 1 || c.Streams() != 1 {
		t.Errorf("%d of 2, %d in use", n, c.Streams())
	}
	c.Open(&b, get(t), http1.Limits{})
	if n := c.Room(); n != 0 {
		t.Errorf("%d of 2, both in use", n)
	}
	c.Cancel(&a)
	if n := c.Room(); n != 1 || c.Ended() != nil {
		t.Errorf("%d after one was canceled", n)
	}
	c.Feed(http2test.Settings(3, 0))
	if n := c.Room(); n != 0 || c.Leaving() {
		t.Errorf("%d of none", n)
	}
	c.Feed(http2test.Settings(3, 1<<31))
	if n := c.Room(); n == 0 {
		t.Error("no room again")
	}
	long := encoded(t, "GET / HTTP/1.1\r\nA: "+strings.Repeat("b", maxUnwritten)+"\r\n\r\n")
	c.Open(&d, long, http1.Limits{})
	if n := c.Room(); n != 0 {
		t.Errorf("%d while much is unwritten", n)
	}
	c.Wrote(len(c.Output()))
	if n := c.Room(); n == 0 {
		t.Error("no room after all was written")
	}
	c.next = lastID
	if n := c.Room(); n != 0 { // two are open
		t.Errorf("%d with one id left", n)
	}
	c.Fail(io.EOF)
	if c.Room() != 0 || !c.Leaving() || c.Streams() != 0 {
		t.Error("room after the end")
	}
	for _, s := range []*Stream{&b, &d} {
		if got := c.Ended(); got != s || !errors.Is(s.Err(), io.ErrUnexpectedEOF) {
			t.Errorf("ended %p: %v", got, s.Err())
		}
	}
	c.Open(&a, get(t), http1.Limits{})
	if c.Ended() != &a || a.Err() == nil || a.Out() != 0 || c.Ended() != nil {
		t.Error("a stream of a connection that has ended")
	}
}

// TestLastID: the last id can be used, and then the connection takes no more.
func TestLastID(t *testing.T) {
	c := begun(t)
	c.next = lastID
	var s Stream
	if n := c.Room(); n != 1 {
		t.Fatal(n)
	}
	c.Open(&s, get(t), http1.Limits{})
	if !c.Leaving() || c.Room() != 0 || c.Streams() != 1 {
		t.Error("there is a stream after the last one")
	}
	if err := c.Feed(http2test.Answer(lastID)); err != nil || c.Ended() != &s || s.Status() != 200 {
		t.Error(err, s.Status())
	}
}

// TestOut: a request that was not written is none; one byte makes it one.
func TestOut(t *testing.T) {
	for _, written := range []int{0, 1, 20} {
		c := begun(t)
		var before, s Stream
		c.Open(&before, get(t), http1.Limits{})
		n := len(c.Output())
		c.Open(&s, get(t), http1.Limits{})
		c.Output()
		c.Wrote(n + written)
		c.Fail(io.EOF)
		if before.Out() == 0 || (s.Out() == 0) != (written == 0) {
			t.Errorf("%d bytes written: %d and %d out", written, before.Out(), s.Out())
		}
	}
}

// TestCancel: a canceled stream is not reported, whatever comes of it later, and gives back what it took.
func TestCancel(t *testing.T) {
	c := begun(t)
	var a, b Stream
	c.Open(&a, post(t, 100_000), http1.Limits{})
	c.Open(&b, post(t, 1), http1.Limits{})
	p := new(peer)
	p.greeted = true
	p.read(t, c, 1000)
	c.Feed(http2test.Headers(1, false, ":status", "200"))
	frame := http2test.Data(1, strings.Repeat("x", 1000), false)
	c.Feed(frame[:500])
	c.Cancel(&a)
	c.Cancel(&a)
	c.Feed(frame[500:])
	c.Feed(http2test.Data(1, "", true))
	c.Feed(http2test.Answer(3))
	c.Feed(http2test.Frame(8, 0, 0, []byte{0, 1, 0, 0})) // a window for the rest, which nobody wants
	p.read(t, c, 1000)
	if s := c.Ended(); s != &b || b.Err() != nil || c.Ended() != nil || p.sent != "RST_STREAM 1 CANCEL" {
		t.Errorf("%v, %v, sent %q", s, b.Err(), p.sent)
	}
	if p.body != 65535 || len(c.resets) != 0 || len(c.sending) != 0 {
		t.Errorf("%d bytes, %d resets, %d sending", p.body, len(c.resets), len(c.sending))
	}
	c.Open(&a, get(t), http1.Limits{})
	c.Feed(http2test.Answer(5))
	c.Cancel(&a) // it has ended, but nobody knows
	if c.Ended() != nil {
		t.Error("a canceled stream ended")
	}
	c.Cancel(&b)
	c.Cancel(new(Stream))
	if c.Feed(nil) != nil || c.Leaving() {
		t.Error("the connection ended")
	}
}

// TestManyCanceled: more resets than are remembered do not make the server wrong.
func TestManyCanceled(t *testing.T) {
	c := begun(t)
	const n = 2*mostResets + 10
	var s Stream
	for range n {
		c.Open(&s, get(t), http1.Limits{})
		c.Cancel(&s)
		c.Wrote(len(c.Output()))
	}
	for i := range uint32(n) {
		if err := c.Feed(http2test.Answer(2*i + 1)); err != nil {
			t.Fatal(i, err)
		}
	}
	if len(c.resets) > 0 {
		t.Errorf("%d resets are left", len(c.resets))
	}
}

// TestFields: headers are kept if wanted, and not those of interim answers.
func TestFields(t *testing.T) {
	for _, fields := range []bool{true, false} {
		c := begun(t)
		var s Stream
		c.Open(&s, get(t), http1.Limits{Fields: fields, Content: 3})
		c.Feed(http2test.Headers(1, false, ":status", "103", "a", "0", "location", "/early"))
		c.Feed(http2test.Headers(1, false, ":status", "302", "a", "1", "b", "", "location", "/next", "a", "2, 3", "location", "/other"))
		c.Feed(http2test.Data(1, "hello", false))
		c.Feed(http2test.Headers(1, true, "a", "4", "grpc-status", "0"))
		if c.Ended() != &s || s.Err() != nil {
			t.Fatal(s.Err())
		}
		got := fmt.Sprintf("%q %q %q %q %q %q %q", s.Field("A"), s.Field("b"), s.Field("c"), s.Trailer("a"), s.Trailer("Grpc-Status"), s.Location(), s.Content())
		want := `["1" "2, 3"] [""] [] ["4"] ["0"] "/next" "hel"`
		if !fields {
			want = `[] [] [] [] [] "/next" "hel"`
		}
		if got != want {
			t.Errorf("%s instead of %s", got, want)
		}
		if s.Release(); len(s.Content()) > 0 || s.Location() != "" || s.Field("a") != nil || s.Trailer("a") != nil {
			t.Error("something is left after Release")
		}
	}
}

// TestTableUpdate: a peer that makes its table smaller reads so in the next block (RFC 7541, 4.2).
func TestTableUpdate(t *testing.T) {
	c := begun(t, 1, 4096)
	block := func() []byte {
		var s Stream
		c.Open(&s, get(t), http1.Limits{})
		out := bytes.Clone(c.Output())
		c.Wrote(len(out))
		return out[frameHeader:]
	}
	usual := block()
	c.Feed(http2test.Settings(1, 100, 1, 8000))
	c.Wrote(len(c.Output()))
	if first, second := block(), block(); !bytes.Equal(first[1:], usual) || first[0] != 0x20 || !bytes.Equal(second, usual) {
		t.Errorf("%x, then %x, usually %x", first, second, usual)
	}
}

// TestLargeHead: a long header block goes in frames of the size that the peer takes.
func TestLargeHead(t *testing.T) {
	for _, most := range []uint32{16384, 20000, 1 << 20} {
		c := begun(t, 5, most, 1, 0)
		var s Stream
		c.Open(&s, encoded(t, "GET / HTTP/1.1\r\nA: "+strings.Repeat("b", 40000)+"\r\n\r\n"), http1.Limits{})
		f := http2.NewFramer(nil, bytes.NewReader(bytes.Clone(c.Output())))
		f.SetMaxReadFrameSize(most)
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		got, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := got.(*http2.MetaHeadersFrame); !ok || !h.StreamEnded() || len(h.RegularFields()[0].Value) != 40000 {
			t.Errorf("%v", got)
		}
		if _, err := f.ReadFrame(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// TestUploads: many bodies share the windows that a peer gives at random. All arrive, no window is exceeded, and the
// output stays small.
func TestUploads(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		initial := random.Uint32N(30000)
		c := NewConn(http1.Limits{})
		c.Feed(http2test.Settings(4, initial))
		streams := make([]Stream, 1+random.IntN(20))
		left, windows := map[uint32]int{}, map[uint32]int64{}
		for i := range streams {
			size := 1 + random.IntN(100_000)
			c.Open(&streams[i], post(t, size), http1.Limits{})
			left[streams[i].id], windows[streams[i].id] = size, int64(initial)
		}
		conn := int64(firstWindow)
		c.Wrote(len(http2.ClientPreface))
		for turn := 0; len(left) > 0; turn++ {
			if turn > 100_000 {
				t.Fatalf("%d: %v are left", seed, left)
			}
			out := c.Output()
			if len(out) > 2*maxUnwritten {
				t.Fatalf("%d bytes of output", len(out))
			}
			f := http2.NewFramer(nil, bytes.NewReader(out))
			for {
				got, err := f.ReadFrame()
				if err != nil {
					break
				}
				d, ok := got.(*http2.DataFrame)
				if !ok {
					continue
				}
				id, n := d.StreamID, len(d.Data())
				conn, windows[id], left[id] = conn-int64(n), windows[id]-int64(n), left[id]-n
				if conn < 0 || windows[id] < 0 || left[id] < 0 || d.StreamEnded() != (left[id] == 0) {
					t.Fatalf("%d: stream %d: %d bytes, windows %d and %d, %d left", seed, id, n, conn, windows[id], left[id])
				}
				if left[id] == 0 {
					delete(left, id)
				}
			}
			c.Wrote(len(out))
			n := 1 + random.Uint32N(20000)
			switch random.IntN(3) {
			case 0:
				c.Feed(http2test.Frame(8, 0, 0, []byte{0, 0, byte(n >> 8), byte(n)}))
				conn += int64(n)
			case 1:
				id := uint32(2*random.IntN(len(streams)) + 1)
				if c.Feed(http2test.Frame(8, 0, id, []byte{0, 0, byte(n >> 8), byte(n)})) == nil {
					windows[id] += int64(n)
				}
			case 2:
				c.Feed(http2test.Settings(4, n))
				for id := range windows {
					windows[id] += int64(n) - int64(initial)
				}
				initial = n
			}
		}
	}
}

// TestBuffersAreBounded: long answers leave no large buffers behind.
func TestBuffersAreBounded(t *testing.T) {
	c := begun(t)
	var s Stream
	c.Open(&s, get(t), http1.Limits{Fields: true, Content: 1 << 20})
	head := http2test.Headers(1, false, ":status", "200", "a", strings.Repeat("b", 15000))
	body := http2test.Data(1, strings.Repeat("x", 16000), false)
	c.Feed(head[:100])
	c.Feed(head[100:])
	for range 70 {
		c.Feed(body)
	}
	c.Feed(http2test.Headers(1, true, "a", strings.Repeat("b", 15000)))
	if c.Ended() != &s || s.Err() != nil || len(s.Content()) != 1<<20 {
		t.Fatal(s.Err(), len(s.Content()))
	}
	s.Release()
	if n := cap(s.content) + cap(s.fields) + cap(s.trailers) + cap(s.goal) + cap(c.reader.held) + cap(c.block.bytes); n > keptContent+5*keptBuffer {
		t.Errorf("%d bytes are kept", n)
	}
}

// FuzzFeed: nothing panics, memory is bounded, each stream ends once, and the way the bytes are split changes nothing.
func FuzzFeed(f *testing.F) {
	for _, c := range http2test.Cases() {
		all := c.First()
		for _, s := range c.Steps {
			all = append(all, s.Bytes...)
		}
		if len(all) < 500 {
			f.Add(all, uint64(len(all)))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		limits := http1.Limits{Body: 100, Content: 10, Fields: true, Head: 2000}
		feed := func(next func(left int) int) string {
			c := NewConn(http1.Limits{Head: 2000})
			streams := make([]Stream, 3)
			for i := range streams {
				c.Open(&streams[i], post(t, 40_000*i), limits)
			}
			c.Wrote(len(c.Output()))
			for rest := b; len(rest) > 0; {
				n := next(len(rest))
				err := c.Feed(rest[:n])
				rest = rest[n:]
				if (err != nil) != (c.err != nil) || err != nil && (c.Streams() > 0 || c.Room() > 0) {
					t.Fatalf("%v, %d streams, room for %d", err, c.Streams(), c.Room())
				}
				if n := len(c.out) + cap(c.block.bytes) + cap(c.reader.held); n > 4*maxUnwritten+len(b) {
					t.Fatalf("%d bytes of memory", n)
				}
			}
			c.Fail(io.EOF)
			var all []string
			ended := map[*Stream]bool{}
			for s := c.Ended(); s != nil; s = c.Ended() {
				if ended[s] {
					t.Fatal("a stream ended twice")
				}
				ended[s] = true
				all = append(all, fmt.Sprintf("%d %v %d %d %q %q %q %d", s.id, s.Err(), s.Status(), s.Length(), s.content, s.fields, s.trailers, s.In()))
			}
			if len(ended) != len(streams) {
				t.Fatalf("%d streams ended", len(ended))
			}
			return strings.Join(all, "\n")
		}
		whole := feed(func(left int) int { return left })
		if cut := feed(func(left int) int { return 1 + random.IntN(left) }); cut != whole {
			t.Errorf("whole\n%s\ncut\n%s", whole, cut)
		}
	})
}
