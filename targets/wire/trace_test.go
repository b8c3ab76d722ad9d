package wire

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/trace"
)

// traceable returns specs of each protocol that has a header for a trace context.
func traceable(t *testing.T) map[string]targets.Spec {
	t.Helper()
	return map[string]targets.Spec{
		"get":    {URL: "http://h/a?b"},
		"post":   {URL: "http://h/", Body: []byte("x"), Headers: []targets.Header{{Name: "X-A", Value: "b"}}},
		"close":  {URL: "http://h/", NoKeepAlive: true},
		"HTTP/2": {URL: "https://h/", HTTP: targets.HTTP2},
		"HTTP/3": {URL: "https://h/", HTTP: targets.HTTP3},
		"gRPC":   {URL: "grpc://h" + rpctest.Path + "EmptyCall", Descriptors: rpctest.Descriptors(t)},
	}
}

// TestTraceOffChangesNothing: requests without a trace context are made once, and have no trace of it.
func TestTraceOffChangesNothing(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: loadctl\r\n"
	for name, want := range map[string]string{
		"get":   "GET /a?b HTTP/1.1\r\nHost: h\r\nUser-Agent: loadctl\r\n\r\n",
		"post":  "POST / HTTP/1.1\r\nHost: h\r\nUser-Agent: loadctl\r\nX-A: b\r\nContent-Length: 1\r\n\r\nx",
		"close": get + "Connection: close\r\n\r\n", "HTTP/2": get + "\r\n", "HTTP/3": get + "\r\n",
		"gRPC": "POST " + rpctest.Path + "EmptyCall HTTP/1.1\r\nHost: h\r\nUser-Agent: loadctl\r\nTe: trailers\r\nContent-Type: application/grpc\r\nGrpc-Timeout: 30000m\r\n\r\n\x00\x00\x00\x00\x00",
	} {
		w, err := New(traceable(t)[name], targets.Local{Trace: "uid"})
		if err != nil {
			t.Fatal(err)
		}
		if string(w.Request) != want || w.Streams > 0 && !w.Three && w.Encoded == nil || w.Three && w.Frames == nil {
			t.Errorf("%s: %q, want %q", name, w.Request, want)
		}
	}
}

// TestTraceAddsALine: with a trace context a request is the same but for one line, which can be computed.
func TestTraceAddsALine(t *testing.T) {
	for name, s := range traceable(t) {
		off, err := New(s, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		s.Trace, s.TraceSampled = true, 10_000
		on, err := New(s, targets.Local{Trace: "uid"})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []uint64{0, 99, 1 << 60} {
			line := "traceparent: " + string(trace.New("uid").Append(nil, n, 0, 10_000)) + "\r\n"
			got := string(on.Fill(nil, targets.Call{Number: n}))
			if on.Request != nil || strings.Count(got, line) != 1 || strings.Replace(got, line, "", 1) != string(off.Request) {
				t.Errorf("%s: request %d: %q, want %q in %q", name, n, got, line, off.Request)
			}
		}
	}
}

// TestTraceHandshake: a WebSocket carries the trace context of the request that opened it. Which connections are alike does
// not depend on it.
func TestTraceHandshake(t *testing.T) {
	w, err := New(targets.Spec{URL: "ws://h/", Body: []byte("${trace_id}"), Trace: true}, targets.Local{Trace: "uid"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := New(targets.Spec{URL: "ws://h/", Body: []byte("x"), Trace: true}, targets.Local{Trace: "other"})
	if err != nil || again.Handshake() != w.Handshake() {
		t.Errorf("%q and %q, %v", again.Handshake(), w.Handshake(), err)
	}
	head := w.messages.varies(w.filler.request(targets.Call{Number: 7}))
	if want := "traceparent: " + string(trace.New("uid").Append(nil, 7, 0, 0)) + "\r\n"; strings.Count(head, want) != 1 || strings.Count(head, trace.Header) != 1 {
		t.Errorf("%q, want %q", head, want)
	}
}

// TestTracePlaceholders: the ids stand wherever placeholders may, also without the header. Steps of a flow have one trace,
// and spans of their own.
func TestTracePlaceholders(t *testing.T) {
	s := targets.Spec{Flows: []targets.Flow{
		{Name: "a", Steps: []targets.Step{{Name: "one", URL: "http://h/${trace_id}"}, {Name: "two", URL: "tcp://h:9", Body: []byte("${trace_id} ${span_id}")}}},
	}}
	w, err := New(s, targets.Local{Trace: "uid"})
	if err != nil {
		t.Fatal(err)
	}
	of := trace.New("uid")
	id, span := of.Text(5), string(of.AppendSpan(nil, 5, 1))
	if got := string(w.Fill(nil, targets.Call{Number: 5})); !strings.HasPrefix(got, "GET /"+id+" HTTP/1.1\r\n") {
		t.Errorf("%q", got)
	}
	if got := string(w.Step(1).Fill(nil, targets.Call{Number: 5, Step: 1})); got != id+" "+span {
		t.Errorf("%q, want %s %s", got, id, span)
	}
	if !s.Traced() || !s.Numbered() || (targets.Spec{URL: "http://h/"}).Traced() {
		t.Error("who carries ids is traced, and has an ordinal of its own")
	}
}

// TestTraceWithoutKey: without a key ids are unknown, but the same in all steps, and others in each Wire.
func TestTraceWithoutKey(t *testing.T) {
	s := targets.Spec{Flows: []targets.Flow{{Name: "a", Steps: []targets.Step{{Name: "one", URL: "tcp://h:9", Body: []byte("${trace_id}")}, {Name: "two", URL: "tcp://h:9", Body: []byte("${trace_id}")}}}}}
	seen := map[string]bool{}
	for range 3 {
		w, err := New(s, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		first, second := string(w.Fill(nil, targets.Call{})), string(w.Step(1).Fill(nil, targets.Call{Step: 1}))
		if first != second || seen[first] {
			t.Errorf("%s and %s", first, second)
		}
		seen[first] = true
	}
}

// TestUnfitTraces: each error is one line that says what to do.
func TestUnfitTraces(t *testing.T) {
	own := []targets.Header{{Name: "TraceParent", Value: "x"}}
	for _, c := range []struct {
		spec targets.Spec
		want string
	}{
		{targets.Spec{URL: "http://h/", Trace: true, Headers: own}, "header traceparent: trace sends one too"},
		{targets.Spec{URL: "ws://h/", Body: []byte("x"), Trace: true, Headers: own}, "header traceparent: trace sends one too"},
		{targets.Spec{URL: "http://h/", Headers: own}, ""},
		{targets.Spec{URL: "http://h/", TraceSampled: 1}, "add --trace"},
		{targets.Spec{URL: "http://h/", Trace: true, TraceSampled: 1_000_001}, "must be 0 to 100%"},
		{targets.Spec{URL: "tcp://h:9", Body: []byte("x"), Trace: true}, "write ${trace_id} into the body"},
		{targets.Spec{URL: "udp://h:9", Body: []byte("x"), Trace: true}, "write ${trace_id} into the body"},
		{targets.Spec{URL: "redis://h", Body: []byte("PING"), Trace: true}, "write ${trace_id} into the body"},
		{targets.Spec{URL: "redis://h", Body: []byte("ECHO ${trace_id}")}, ""},
		{targets.Spec{URL: "noop://", Trace: true}, "noop sends nothing"},
		{targets.Spec{Trace: true, Flows: []targets.Flow{{Name: "a", Steps: []targets.Step{{Name: "n", URL: "noop://"}, {Name: "h", URL: "http://h/"}}}}}, ""},
	} {
		err := Validate(c.spec)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

// TestTraceAllocatesNothing: filling is part of sending.
func TestTraceAllocatesNothing(t *testing.T) {
	w, err := New(targets.Spec{URL: "http://h/", Body: []byte("x"), Trace: true, TraceSampled: 10_000}, targets.Local{Trace: "5f0c1b3ad2e94c7f8a6b1d2e3f405162"})
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0, 1000)
	if n := testing.AllocsPerRun(100, func() { b = w.Fill(b, targets.Call{Number: 1 << 50}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTrace(b *testing.B) {
	for name, s := range map[string]targets.Spec{"ordinal": {URL: "http://h/", Headers: []targets.Header{{Name: "A", Value: "${ordinal}"}}}, "trace": {URL: "http://h/", Trace: true, TraceSampled: 10_000}} {
		w, err := New(s, targets.Local{Trace: "5f0c1b3ad2e94c7f8a6b1d2e3f405162"})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out []byte
			for n := uint64(0); b.Loop(); n++ {
				out = w.Fill(out, targets.Call{Number: n})
			}
		})
	}
}
