package events

import "testing"

// TestParse asserts what is said of rules that cannot be.
func TestParse(t *testing.T) {
	nine := make([]string, MaxGoals+1)
	for i := range nine {
		nine[i] = "latency<1s"
	}
	for _, c := range []struct {
		o    Options
		kind string
		err  string
	}{
		{Options{}, "", ""},
		{Options{Goals: nine[:MaxGoals]}, "", ""},
		{Options{Kind: SSE, Limit: 1 << 30, Until: "a"}, SSE, ""},
		{Options{Kind: Lines, Until: "/^a$/"}, Lines, ""},
		{Options{Preset: OpenAI}, SSE, ""},
		{Options{Preset: OpenAI, Kind: SSE}, SSE, ""},
		{Options{Preset: "x"}, "", `preset: "x" is unknown; write openai, for any server with its API`},
		{Options{Preset: OpenAI, Kind: Lines}, "", "preset: its answers are server-sent events; leave the stream out"},
		{Options{Kind: "x"}, "", `stream: "x" is unknown; write sse, lines, chunks, messages`},
		{Options{Until: "a"}, "", "stream: is missing; say what an event is: sse, lines, chunks, messages"},
		{Options{Limit: 1}, "", "stream: is missing; say what an event is: sse, lines, chunks, messages"},
		{Options{Kind: SSE, Limit: -1}, "", "stream limit: give a size from 1 B to 1 GiB, such as 64KiB"},
		{Options{Kind: SSE, Limit: 1<<30 + 1}, "", "stream limit: give a size from 1 B to 1 GiB, such as 64KiB"},
		{Options{Kind: Messages, Until: "a"}, "", "until: is not for messages; leave it out, and say with the reply which one is the last, such as 'messages 4'"},
		{Options{Kind: Chunks, Until: "a"}, "", "until: a chunk may end anywhere in a text; use lines or sse, or leave it out"},
		{Options{Kind: SSE, Until: "/a"}, "", "until: a pattern stands between two slashes, such as /done$/ or /(?i)done$/"},
		{Options{Kind: SSE, Until: "/"}, "", "until: a pattern stands between two slashes, such as /done$/ or /(?i)done$/"},
		{Options{Kind: SSE, Until: "//"}, "", "until: a pattern stands between two slashes, such as /done$/ or /(?i)done$/"},
		{Options{Kind: SSE, Until: "/(/"}, "", "until: error parsing regexp: missing closing ): `(`; write /REGEX/, such as /done$/, or a text"},
		{Options{Kind: SSE, Goals: []string{"x"}}, "", `goal "x": write METRIC<TIME, such as first_event<500ms or event_gap:p(95)<80ms; there are first_event (ttft), first_event_service, stream, per_token (tpot), latency, service, first_byte, and of event_gap (itl) p(N), max and avg`},
		{Options{Kind: SSE, Goals: []string{"tpot<1s"}}, "", `goal "tpot<1s": the answers have no tokens; write event_gap:avg, or add the preset openai`},
		{Options{Preset: OpenAI, Goals: []string{"tpot<1s"}}, SSE, ""},
		{Options{Goals: nine}, "", "goal: there are more than 8; leave some out"},
	} {
		r, err := Parse(c.o)
		switch {
		case err != nil && err.Error() != c.err, err == nil && c.err != "":
			t.Errorf("%+v: error %v; want %s", c.o, err, c.err)
		case err == nil && (r.Kind() != c.kind || len(r.Goals()) != len(c.o.Goals)):
			t.Errorf("%+v: kind %q, goals %v", c.o, r.Kind(), r.Goals())
		}
	}
}

// TestOptions asserts how options read, and which say nothing.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o         Options
		text      string
		zero, any bool
	}{
		{Options{}, "", true, false},
		{Options{Goals: []string{"latency<1s"}}, `goal "latency<1s"`, false, false},
		{Options{Kind: SSE, Until: "a", Limit: 5}, `sse until "a" limit 5`, false, true},
		{Options{Kind: SSE, Preset: OpenAI}, "openai", false, true},
	} {
		if c.o.String() != c.text || c.o.IsZero() != c.zero || c.o.Any() != c.any {
			t.Errorf("%+v: %q, zero %t, any %t", c.o, c.o.String(), c.o.IsZero(), c.o.Any())
		}
	}
}
