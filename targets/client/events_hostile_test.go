package client_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	quichttp "github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// A hostile answer is one that a server writes as it likes.
type hostile struct {
	http.ResponseWriter
	*http.Request
}

// write writes each text in a chunk, or a frame, of its own, and waits until the socket has it. A server of HTTP/2 alone says that
// it has flushed a frame before.
func (h hostile) write(texts ...string) {
	for _, text := range texts {
		var there <-chan struct{}
		if c, ok := h.Context().Value(connKey{}).(*noting); ok {
			there = c.note(text)
		}
		_, _ = io.WriteString(h.ResponseWriter, text)
		_ = http.NewResponseController(h.ResponseWriter).Flush()
		if h.ProtoMajor == 2 && text != "" {
			select {
			case <-there:
			case <-h.Context().Done():
			}
		}
	}
}

// A noting is a connection that notes when a text has been written.
type noting struct {
	*net.TCPConn
	lock sync.Mutex
	text []byte
	last []byte // that was written since note, with room for the text in several writes
	seen chan struct{}
}

// noted is how many bytes of the end of a text are looked for: a longer one is cut into frames.
const noted = 64

// note returns a channel that is closed when the text has been written.
func (c *noting) note(text string) <-chan struct{} {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.text, c.last, c.seen = []byte(text[max(0, len(text)-noted):]), c.last[:0], make(chan struct{})
	return c.seen
}

// Write implements net.Conn.
func (c *noting) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.seen == nil {
		return n, err
	}
	if c.last = append(c.last, p[:n]...); bytes.Contains(c.last, c.text) {
		close(c.seen)
		c.seen = nil
	}
	c.last = append(c.last[:0], c.last[max(0, len(c.last)-noted):]...)
	return n, err
}

// A notingListener accepts such connections.
type notingListener struct{ net.Listener }

// Accept implements net.Listener.
func (l notingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &noting{TCPConn: c.(*net.TCPConn)}, nil
}

// repeat writes a text until so many bytes are written, or the client goes away.
func (h hostile) repeat(text string, bytes int64) {
	text = strings.Repeat(text, 1+32<<10/len(text))
	for err := error(nil); err == nil && bytes > 0; bytes -= int64(len(text)) {
		_, err = io.WriteString(h.ResponseWriter, text[:min(int64(len(text)), bytes)])
	}
}

// stay waits until the client goes away.
func (h hostile) stay() { <-h.Context().Done() }

// A connKey has the connection of a request.
type connKey struct{}

// hangUp closes the connection in order.
func (h hostile) hangUp() {
	h.linger()
	switch c := h.Context().Value(connKey{}).(type) {
	case *noting:
		_ = c.CloseWrite()
	case *quic.Conn:
		_ = c.CloseWithError(0x100, "")
	}
	h.stay()
}

// reset cuts the connection; with HTTP/3, the stream.
func (h hostile) reset() {
	h.linger()
	if c, ok := h.Context().Value(connKey{}).(*noting); ok {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	panic(http.ErrAbortHandler)
}

// linger leaves a client time to read what was written: QUIC takes it back when it resets or closes. If that is too short, the
// test tries again.
func (h hostile) linger() {
	if h.ProtoMajor == 3 {
		time.Sleep(50 * time.Millisecond)
	}
}

// hostiles returns the URLs of a hostile server by the version of HTTP.
func hostiles(t *testing.T, serve func(h hostile)) map[string]string {
	handle := func(w http.ResponseWriter, r *http.Request) { serve(hostile{w, r}) }
	start := func(set func(p *http.Protocols)) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(handle))
		s.Listener = notingListener{s.Listener}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
		s.Config.Protocols = new(http.Protocols)
		set(s.Config.Protocols)
		s.Start()
		t.Cleanup(s.Close)
		return s.URL
	}
	return map[string]string{
		"1.1": start(func(p *http.Protocols) { p.SetHTTP1(true) }),
		"2":   start(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }),
		"3": startThree(t, handle, func(s *quichttp.Server) {
			s.ConnContext = func(ctx context.Context, c *quic.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
		}).url,
	}
}

// endlessly is more than any client reads.
const endlessly = 1 << 50

// long is an event of a gigabyte; a part of that, unless there is time.
func long() int64 {
	if await.Acceptance() {
		return 1 << 30
	}
	return 32 << 20
}

// many is how many events a flood has.
const many = 1_000_000

// silence is a timeout for servers that fall silent; patience is one that no answer reaches.
const silence, patience = 300 * time.Millisecond, 10 * time.Minute

// A hostileCase is an answer, and what becomes of it.
type hostileCase struct {
	o       events.Options // the zero value is SSE
	serve   func(h hostile)
	timeout time.Duration // 0 = patience
	class   string
	count   int64
	memory  uint64 // that is allocated, beside 8 MiB
}

// hostileAnswers returns what every version of HTTP has to cope with.
func hostileAnswers() map[string]hostileCase {
	const a = "data: a\n\n"
	return map[string]hostileCase{
		"an endless line":              {serve: func(h hostile) { h.write(a, "data: "); h.repeat("a", endlessly) }, class: targets.ClassEventLimit, count: 1},
		"an endless line, looked into": {o: events.Options{Until: "b"}, serve: func(h hostile) { h.write("data: "); h.repeat("a", endlessly) }, class: targets.ClassEventLimit},
		"an endless comment":           {serve: func(h hostile) { h.write(a, ":"); h.repeat("a", endlessly) }, class: targets.ClassEventLimit, count: 1},
		"an event of endless lines":    {serve: func(h hostile) { h.repeat("data: a\n", endlessly) }, class: targets.ClassEventLimit},
		"an event of endless lines, looked into": {
			o: events.Options{Preset: events.OpenAI}, serve: func(h hostile) { h.repeat("data: a\n", endlessly) }, class: targets.ClassEventLimit},
		"a line of lines":        {o: events.Options{Kind: events.Lines}, serve: func(h hostile) { h.repeat("a", endlessly) }, class: targets.ClassEventLimit},
		"an event of a gigabyte": {serve: func(h hostile) { h.write("data: "); h.repeat("a", long()); h.write("\n\n") }, class: targets.ClassEventLimit},
		"and a limit above it":   {o: events.Options{Limit: 1 << 30}, serve: func(h hostile) { h.write("data: "); h.repeat("a", long()-100); h.write("\n\n") }, count: 1},
		"bytes alone":            {serve: func(h hostile) { h.write(strings.Split("\ufeffdata: a\r\n\r\ndata: b\r\rdata: c\n\n", "")...) }, count: 3},
		"all ends of lines":      {serve: func(h hostile) { h.write("\ufeffdata: a\r\n\rdata: b\n\r\n\ndata: c\r\n\ndata: d\r\r") }, count: 4},
		"gzip": {serve: func(h hostile) {
			h.ResponseWriter.Header().Set("Content-Encoding", "gzip")
			h.write("\x1f\x8b\x08\x00")
		}, class: targets.ClassEncoded},
		"gzip without its name":   {serve: func(h hostile) { h.write("\x1f", "\x8b\x08\x00"); h.stay() }, class: targets.ClassEncoded},
		"hangs up in an event":    {serve: func(h hostile) { h.write(a, "data: b"); h.hangUp() }, class: targets.ClassTruncated, count: 1},
		"hangs up between events": {serve: func(h hostile) { h.write(a); h.hangUp() }, class: targets.ClassTruncated, count: 1},
		"resets in an event":      {serve: func(h hostile) { h.write(a, "data: b"); h.reset() }, class: targets.ClassReset, count: 1},
		"silence":                 {serve: func(h hostile) { h.stay() }, timeout: silence, class: targets.ClassTimeout},
		"silence after the head":  {serve: func(h hostile) { h.write(": hi\n"); h.stay() }, timeout: silence, class: targets.ClassTimeout},
		"silence after events":    {serve: func(h hostile) { h.write(a, a); h.stay() }, timeout: silence, class: targets.ClassStalled, count: 2},
		"silence in an event":     {serve: func(h hostile) { h.write(a, "data: b\n"); h.stay() }, timeout: silence, class: targets.ClassStalled, count: 1},
		"a flood of comments":     {serve: func(h hostile) { h.repeat(":\n", endlessly) }, timeout: silence, class: targets.ClassTimeout},
		"comments after an event": {serve: func(h hostile) { h.write(a); h.repeat(":\n", endlessly) }, timeout: silence, class: targets.ClassStalled, count: 1},
		"a flood of fields":       {serve: func(h hostile) { h.repeat("id: 1\nretry: 1\n\n", endlessly) }, timeout: silence, class: targets.ClassTimeout},
		"fields alone":            {serve: func(h hostile) { h.write("id: 1\n\n", "retry: 1\n\n") }, class: targets.ClassNoEvent},
		"a flood of events":       {serve: func(h hostile) { h.repeat("data\n\n", 6*many) }, count: many, memory: 128 << 20}, // their gaps
		"garbage in between": {serve: func(h hostile) {
			h.write("\x00\xff\xfe\n\n", a, "data\x00: x\n\n{\"a\":\n\xc3\x28\r\n\r", a, "\x1f\x8b\n\n", "HTTP/1.1 200 OK\r\n\r\n")
		}, count: 2},
	}
}

// TestHostileEvents asserts that over each version of HTTP a hostile answer in pieces has its named end, in bounded memory.
func TestHostileEvents(t *testing.T) {
	for name, c := range hostileAnswers() {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}

func (c hostileCase) check(t *testing.T) {
	if c.o.Kind == "" && c.o.Preset == "" {
		c.o.Kind = events.SSE
	}
	for version, url := range hostiles(t, c.serve) {
		spec := targets.Spec{URL: url, HTTP: version, Insecure: version == "3", Timeout: cmp.Or(c.timeout, patience), Stream: c.o}
		if c.o.Preset != "" {
			spec.Body = []byte(`{"stream": true}`)
		}
		var r targets.Result
		look := func() bool {
			results, _, _ := timed(t, spec, 1)
			r = results[0]
			inTime := c.timeout == 0 && (version != "3" || c.class != targets.ClassTruncated && c.class != targets.ClassReset)
			return inTime || r.Events.Count == c.count // else a busy machine
		}
		if used := allocated(version == "3" || await.RaceEnabled, func() { await.True(t, "an answer in time", look) }); used > 8<<20+c.memory {
			t.Errorf("HTTP/%s: %d bytes of memory", version, used)
		}
		if class, _, _ := strings.Cut(r.Outcome.Class, " "); class != c.class || r.Events.Count != c.count {
			t.Errorf("HTTP/%s: %+v, events %+v; want %d and class %q", version, r.Outcome, r.Events, c.count, c.class)
		}
	}
}

// TestLimitOfEvents asserts that an answer in pieces may be as long as is said, and else as long as it takes.
func TestLimitOfEvents(t *testing.T) {
	const most = targets.DefaultBodyLimit
	for version, url := range hostiles(t, func(h hostile) { h.repeat("data: a long one\n\n", most+18) }) {
		for limit, class := range map[int64]string{0: "", most: targets.ClassBodyLimit} {
			spec := targets.Spec{URL: url, HTTP: version, Insecure: version == "3", Timeout: patience, BodyLimit: limit, Stream: events.Options{Kind: events.SSE, Until: "never"}}
			results, _, _ := timed(t, spec, 1)
			if r := results[0]; r.Outcome.Class != cmp.Or(class, targets.ClassTruncated) || r.Events.Count == 0 {
				t.Errorf("HTTP/%s, limit %d: %+v, events %+v", version, limit, r.Outcome, r.Events)
			}
		}
	}
}

// allocated returns how many bytes f allocates, on both sides, or how many are left: a library of the server allocates for each
// packet, and with the race detector a pool loses what it keeps.
func allocated(left bool, f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	if left {
		runtime.GC()
		runtime.ReadMemStats(&after)
		return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileTokens asserts the same of answers of language models: whatever their JSON is, tokens are counted, or the answer
// has a named end.
func TestHostileTokens(t *testing.T) {
	const token, done = `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n", "data: [DONE]\n\n"
	says := func(texts ...string) func(h hostile) { return func(h hostile) { h.write(texts...) } }
	usage := func(number string) func(h hostile) {
		return says(token, token, `data: {"choices":[],"usage":{"prompt_tokens":`+number+`,"completion_tokens":`+number+"}}\n\n", done)
	}
	deep := strings.Repeat(`{"a":[`, 50_000)
	for name, c := range map[string]hostileCase{
		"NUL and no UTF-8":    {serve: says("data: {\"choices\":[{\"delta\":{\"content\":\"\x00\xff\xc3\"}}],\"\x00\":\"\xfe\"}\n\n", token, done), count: 2},
		"deep JSON":           {serve: says(token, `data: {"x":`+deep+strings.Repeat("]}", 50_000)+`,"choices":[{"text":"a"}]}`+"\n\n", done), count: 2},
		"deep choices":        {serve: says(token, `data: {"choices":`+strings.Repeat("[", 100_000)+"\n\n", done), count: 1},
		"deep JSON, cut":      {serve: says(token, "data: "+deep+"\n\n", done), count: 1},
		"tokens 1e400":        {serve: usage("1e400"), count: 2},
		"tokens below 0":      {serve: usage("-1"), count: 2},
		"tokens 2^63":         {serve: usage("9223372036854775808"), count: 2},
		"calls of tools":      {serve: says(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}`+"\n\n", token, done), count: 2},
		"an end in between":   {serve: says(token, done, token, "data: {\"error\":1}\n\n", "data: b"), count: 1},
		"an error":            {serve: says(token, "data: {\"error\":{\"message\":\"full\"}}\n\n", token, done), class: targets.ClassErrorEvent, count: 1},
		"an error, and stays": {serve: func(h hostile) { h.write(token, "event: error\ndata: full\n\n"); h.stay() }, class: targets.ClassErrorEvent, count: 1},
		"no end":              {serve: says(token, token), class: targets.ClassTruncated, count: 2},
		"no stream":           {serve: says(`{"choices":[{"message":{"content":"a"}}]}`), class: targets.ClassNoEvent},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Preset = events.OpenAI
			c.check(t)
		})
	}
}

// TestAfterTheEndMark asserts that an answer is good and over at its end mark, whatever the server does then: it stays, sends
// on, hangs up, or resets. Its connection is kept if its end comes soon.
func TestAfterTheEndMark(t *testing.T) {
	const mark = "data: a\n\ndata: [DONE]\n\n"
	for name, serve := range map[string]func(h hostile){
		"ends":                  func(h hostile) { h.write(mark) },
		"stays":                 func(h hostile) { h.write(mark); h.stay() },
		"stays in its block":    func(h hostile) { h.write("data: a\n\ndata: [DONE]\n"); h.stay() },
		"sends on":              func(h hostile) { h.write(mark); h.repeat("data: b\n\n", endlessly) },
		"sends on, bit by bit":  func(h hostile) { h.write(mark); h.repeat(":\n", 100); h.write(""); h.stay() },
		"hangs up":              func(h hostile) { h.write(mark); h.hangUp() },
		"resets":                func(h hostile) { h.write(mark); h.reset() },
		"has no line after it":  func(h hostile) { h.write("data: a\n\ndata: [DONE]") },
		"hangs up, and no line": func(h hostile) { h.write("data: a\n\ndata: [DONE]\n"); h.hangUp() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for version, url := range hostiles(t, serve) {
				spec := targets.Spec{URL: url, HTTP: version, Insecure: version == "3", Timeout: patience, Stream: events.Options{Kind: events.SSE}}
				await.True(t, "the end in time", func() bool {
					results, _, _ := timed(t, spec, 2)
					for _, r := range results {
						if version == "3" && r.Events.Count == 0 {
							return false // a busy machine
						}
						whole := !strings.Contains(name, "line")
						if r.Outcome.Class != "" || r.Events.Count != 1 || whole && version == "1.1" && r.Done != r.Events.Last {
							t.Errorf("HTTP/%s: %+v, events %+v", version, r, r.Events)
						}
					}
					return name != "ends" || results[1].Reused
				})
			}
		})
	}
}

// TestRedirectAfterTheEndMark asserts that a redirect is followed though its body has an end mark.
func TestRedirectAfterTheEndMark(t *testing.T) {
	for version, url := range hostiles(t, func(h hostile) {
		if h.URL.Path == "/" {
			h.ResponseWriter.Header().Set("Location", "/there")
			h.WriteHeader(http.StatusFound)
		}
		h.write("data: a\n\ndata: [DONE]\n\n")
	}) {
		spec := targets.Spec{URL: url + "/", HTTP: version, Insecure: version == "3", Timeout: patience, Redirects: 1, Expect: "200,302", Stream: events.Options{Kind: events.SSE}}
		results, _, _ := timed(t, spec, 3)
		for _, r := range results {
			if r.Outcome.Class != "" || r.Outcome.Status != http.StatusOK || r.Events.Count != 1 {
				t.Errorf("HTTP/%s: %+v, events %+v", version, r.Outcome, r.Events)
			}
		}
	}
}

// TestHostileFraming asserts that events are found in each coding of a body: chunks with extensions, a body without a length
// whose end looks like a close, and frames of a byte with padding.
func TestHostileFraming(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	const text = "data: a\r\n\r\ndata: b\n\n"
	var extended strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&extended, "1;a=%q;b\r\n%s\r\n", "x", text[i:i+1])
	}
	forever := func(c net.Conn) {
		for begin := head; ; begin = "" {
			if _, err := io.WriteString(c, begin+"1;"+strings.Repeat("x", 1000)+"\r\n\n\r\n"); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		serve func(c net.Conn)
		http  string
		class string
		count int64
	}{
		"extensions of chunks":         {answer(head + extended.String() + "0;end\r\n\r\n"), "1.1", "", 2},
		"endless extensions of chunks": {func(c net.Conn) { answer("")(c); forever(c) }, "1.1", targets.ClassProtocol, 0},
		"no length":                    {answer("HTTP/1.0 200 OK\r\n\r\n" + text), "1.1", "", 2},
		"no length, cut in an event":   {answer("HTTP/1.0 200 OK\r\n\r\n" + text + "data: c"), "1.1", targets.ClassTruncated, 2},
		"no length, gzip":              {answer("HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b"), "1.1", targets.ClassEncoded, 0},
		"frames of a byte":             {framesOf(text, 0), "2", "", 2},
		"frames of a byte, padded":     {framesOf(text, 255), "2", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			spec := targets.Spec{URL: "http://" + echotest.Listen(t, "127.0.0.1:0", c.serve), HTTP: c.http, Timeout: patience, Stream: events.Options{Kind: events.SSE}}
			var r targets.Result
			if used := allocated(false, func() {
				results, _, _ := timed(t, spec, 1)
				r = results[0]
			}); used > 8<<20 {
				t.Errorf("%d bytes of memory", used)
			}
			if r.Outcome.Class != c.class || r.Events.Count != c.count {
				t.Errorf("%+v, events %+v", r.Outcome, r.Events)
			}
		})
	}
}

// framesOf returns a server of HTTP/2 that writes each byte of a text in a frame with so much padding.
func framesOf(text string, padding int) func(c net.Conn) {
	return func(c net.Conn) {
		in := bufio.NewReader(c)
		if _, err := in.Discard(len(http2.ClientPreface)); err != nil {
			return
		}
		out := bufio.NewWriter(c)
		f := http2.NewFramer(out, in)
		_ = f.WriteSettings()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					_ = f.WriteSettingsAck()
				}
			case *http2.HeadersFrame:
				var block strings.Builder
				_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: frame.StreamID, BlockFragment: []byte(block.String()), EndHeaders: true})
				for i := range len(text) {
					_ = f.WriteDataPadded(frame.StreamID, i == len(text)-1, []byte(text[i:i+1]), make([]byte, padding))
				}
			}
			if out.Flush() != nil {
				return
			}
		}
	}
}
