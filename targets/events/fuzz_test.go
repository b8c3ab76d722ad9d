package events

import (
	"encoding/json"
	"testing"
)

// FuzzFeedings asserts that an answer has the same events whole, in pieces of a byte, and split anywhere.
func FuzzFeedings(f *testing.F) {
	for _, text := range []string{
		"data: a\r\n\r\ndata: b\r\rdata: c\n\n", "\ufeffdata\n\n", "\x1f\x8b", "a\nb\r\n", ": a\n\ndata: [DONE]", "event: error\ndata: x\n\n",
		chat, response, tools,
	} {
		f.Add([]byte(text))
	}
	all := []*Rules{
		rules(f, Options{Kind: SSE}), rules(f, Options{Kind: SSE, Until: "b"}), rules(f, Options{Kind: SSE, Limit: 20}),
		rules(f, Options{Preset: OpenAI}), rules(f, Options{Kind: Lines}), rules(f, Options{Kind: Lines, Until: "/b$/", Limit: 20}),
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 200 { // the tables have the long ones
			text = text[:200]
		}
		for _, r := range all {
			feedings(t, r, string(text))
		}
	})
}

// FuzzChunk asserts that what encoding/json reads is read here too, that nothing in a string or deeper counts, and that the
// reading of anything ends.
func FuzzChunk(f *testing.F) {
	for _, text := range []string{
		`{"choices":[{"delta":{"content":"a\"}]"}},{}],"usage":{"completion_tokens":3,"prompt_tokens":4}}`,
		`{"type":"response.output_text.delta","delta":"a"}`, `{"error":{"a":[1,{}]}}`, `{"a":"\\","object":"error"}`, `{`, `{"a":]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := readChunk(text)
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		if !ok {
			t.Fatalf("%q is no JSON", text)
		}
		_, usage := want["usage"]
		_, response := want["response"]
		if got.out > 0 && !usage && !response {
			t.Fatalf("%q says %d tokens", text, got.out)
		}
		if _, choices := want["choices"]; got.token && !choices {
			t.Fatalf("%q is a token", text)
		}
		if _, failed := want["error"]; got.failed && !failed && want["object"] == nil {
			t.Fatalf("%q is an error", text)
		}
	})
}
