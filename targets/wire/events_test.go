package wire

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// TestCheckStream: which protocols have which events, and which goals go without.
func TestCheckStream(t *testing.T) {
	of := func(o events.Options) targets.Spec { return targets.Spec{Stream: o} }
	sse, lines := of(events.Options{Kind: events.SSE}), of(events.Options{Kind: events.Lines})
	messages, first := of(events.Options{Kind: events.Messages}), of(events.Options{Goals: []string{"first_event<1s"}})
	const none = "stream: only http, grpc and ws have answers in pieces; leave it out"
	for _, c := range []struct {
		url, method, body string
		spec              targets.Spec
		want              string
	}{
		{"http://a/", "", "", sse, ""},
		{"https://a/", "POST", "", of(events.Options{Kind: events.Chunks}), ""},
		{"http://a/", "", "", of(events.Options{Goals: []string{"latency<1s", "service<1s", "first_byte<1s"}}), ""},
		{"http://a/", "HEAD", "", sse, "stream: an answer to HEAD has no body; choose another method"},
		{"http://a/", "", "", messages, "stream: there is no messages over this protocol; write sse or lines or chunks"},
		{"http://a/", "", "", first, `goal "first_event<1s": the answers have no events; say what an event is with the stream: sse, lines, chunks`},
		{"ws://a/", "", "x", first, `goal "first_event<1s": the answers have no events; say what an event is with the stream: messages`},
		{"http://a/", "", "", of(events.Options{Goals: []string{"tpot<1s"}}), `goal "tpot<1s": the answers have no tokens; add the preset openai`},
		{"ws://a/", "", "x", of(events.Options{Preset: events.OpenAI}), "preset openai: its answers come over http and https; take such a URL, or leave it out"},
		{"tcp://a:1", "", "x", of(events.Options{Preset: events.OpenAI}), "preset openai: its answers come over http and https; take such a URL, or leave it out"},
		{"http://a/", "", "", of(events.Options{Kind: "x"}), `stream: "x" is unknown; write sse, lines, chunks, messages`},
		{"tcp://a:1", "", "x", lines, none},
		{"udp://a:1", "", "x", lines, none},
		{"redis://a", "", "PING", messages, none},
		{"noop://", "", "", lines, none},
		{"noop://", "", "", of(events.Options{Goals: []string{"latency<1s"}}), ""},
		{"tcp://a:1", "", "x", first, `goal "first_event<1s": only http, grpc and ws have answers in pieces; write latency<TIME, or leave it out`},
		{"ws://a/", "", "x", messages, ""},
		{"wss://a/", "", "x", sse, "stream: there is no sse over this protocol; write messages"},
		{"grpc://a/s.S/M", "", "{}", messages, ""},
		{"grpcs://a/s.S/M", "", "{}", lines, "stream: there is no lines over this protocol; write messages"},
	} {
		s := c.spec
		s.URL, s.Method, s.Body = c.url, c.method, []byte(c.body)
		p, _, err := protocolOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkStream(s, p.events); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s %s %+v: %v, want %q", c.method, c.url, s.Stream, err, c.want)
		}
	}
}

// TestAsksEncoded asserts that a request whose answer may come compressed cannot have events.
func TestAsksEncoded(t *testing.T) {
	for value, good := range map[string]bool{"gzip": false, "gzip, br": false, "identity": true, "Identity": true, "": true} {
		s := targets.Spec{URL: "http://a/", Headers: []targets.Header{{Name: "accept-encoding", Value: value}}, Stream: events.Options{Kind: events.SSE}}
		if err := checkStream(s, events.Kinds()); (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestCheckAsked: a body that may ask for an answer in pieces is let through, one that does not is refused.
func TestCheckAsked(t *testing.T) {
	for body, good := range map[string]bool{
		`{"stream": true}`:                         true,
		`{"stream": ${ordinal}}`:                   true,
		`{"n": ${random 1 9}, "stream": true}`:     true,
		`{"n": ${random 1 9}, "prompt": "stream"}`: false,
		`{"stream": false}`:                        false,
		`{"stream": null}`:                         false,
		`{"prompt": "write \"stream\": true"}`:     false,
		`["stream"]`:                               true, // the server says what is wrong with it
		`{"model": "m"}`:                           false,
		"":                                         false,
	} {
		err := checkStream(targets.Spec{URL: "http://a/", Body: []byte(body), Stream: events.Options{Preset: events.OpenAI}}, []string{events.SSE})
		if (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestSetEvents: a wire has the rules of events only if there are events, and goals in any case.
func TestSetEvents(t *testing.T) {
	for _, c := range []struct {
		url     string
		options events.Options
		kind    string
		goals   int
	}{
		{"http://a/", events.Options{}, "", 0},
		{"http://a/", events.Options{Goals: []string{"latency<1s"}}, "", 1},
		{"http://a/", events.Options{Kind: events.Lines, Goals: []string{"latency<1s", "stream<1s"}}, events.Lines, 2},
		{"ws://a/", events.Options{Kind: events.Messages}, events.Messages, 0},
	} {
		w, err := New(targets.Spec{URL: c.url, Body: []byte("x"), Stream: c.options}, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		one := w.Steps()[0]
		if (one.Events != nil) != (c.kind != "") || one.Events != nil && one.Events.Kind() != c.kind || len(one.Goals) != c.goals {
			t.Errorf("%s %+v: %+v, %d goals", c.url, c.options, one.Events, len(one.Goals))
		}
		if one.Events != nil && c.url == "http://a/" {
			got := slices.Collect(func(yield func(bool) bool) { _ = yield(one.Events.Expects(200)) && yield(one.Events.Expects(503)) })
			if !slices.Equal(got, []bool{true, false}) {
				t.Errorf("answers with 200 and 503 have events: %v", got)
			}
		}
	}
}
