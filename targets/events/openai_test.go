package events

import (
	"errors"
	"strings"
	"testing"
)

// A chat has two tokens of reasoning, three of text, and says that it has seven.
const chat = `: OPENROUTER PROCESSING

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"Hm"}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning":"so"}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"content":"A \"usage\":{\"completion_tokens\":99}"},"finish_reason":null}],"usage":null}

data: {"id":"c1","choices":[{"index":0,"delta":{"content":"\\"}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"content":"}]}"}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"id":"c1","choices":[],"usage":{"prompt_tokens":11,"total_tokens":18,"completion_tokens":7,"completion_tokens_details":{"completion_tokens":3,"reasoning_tokens":2}}}

data: [DONE]

`

// A response has two tokens of text.
const response = `event: response.created
data: {"type":"response.created","response":{"id":"r1","error":null,"usage":null,"output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","item":{"type":"message","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"i","delta":"Hi","logprobs":[]}

event: response.output_text.delta
data: {"delta":" \"response.completed\"","type":"response.output_text.delta"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":""}

event: response.output_text.done
data: {"type":"response.output_text.done","text":"Hi"}

event: response.completed
data: {"response":{"status":"completed","output":[{"usage":{"output_tokens":1}}],"usage":{"input_tokens":5,"output_tokens":3}},"type":"response.completed"}

`

// tools calls one, in two pieces.
const tools = `data: {"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[]},"finish_reason":"tool_calls"}]}

data: [DONE]

`

// TestOpenAI asserts how many tokens recorded answers have. The times are those of bytes, from 1; first and last tell after
// which text they are.
func TestOpenAI(t *testing.T) {
	const begin, done = `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n", "data: [DONE]\n\n"
	for name, c := range map[string]struct {
		text        string
		first, last string // the beginning of the blocks of the first and the last token
		count       int64
		in, out     int64
		known       bool
		tokens      int64
		err         error
	}{
		"chat":     {chat, `data: {"id":"c1","choices":[{"index":0,"delta":{"reas`, `data: {"id":"c1","choices":[{"index":0,"delta":{"content":"}]}`, 5, 11, 7, true, 7, nil},
		"response": {response, `data: {"type":"response.output_text.delta","item_id"`, `data: {"delta"`, 2, 5, 3, true, 3, nil},
		"tools":    {tools, `data: {"choices":[{"delta":{"role"`, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function"`, 2, 0, 0, false, 2, nil},
		"completions": {`data: {"choices":[{"text":"a"}]}` + "\n\n" + `data: {"choices":[{"text":"b"}]}` + "\n\n" +
			`data: {"choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":2}}` + "\n\n" + done,
			`data: {"choices":[{"text":"a"`, `data: {"choices":[{"text":"b"`, 2, 2, 2, true, 2, nil},
		"usage in each": {`data: {"choices":[{"text":"a"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}` + "\n\n" +
			`data: {"choices":[{"text":"b"}],"usage":{"prompt_tokens":2,"completion_tokens":2}}` + "\n\n" + done,
			`data: {"choices":[{"text":"a"`, `data: {"choices":[{"text":"b"`, 2, 2, 2, true, 2, nil},
		"the second choice":       {`data: {"choices":[{"delta":{}},7,{"delta":{"content":"a"}}]}` + "\n\n" + done, `data`, `data`, 1, 0, 0, false, 1, nil},
		"in two lines":            {`data: {"choices":[{"delta":` + "\n" + `data: {"content":"a"}}]}` + "\n\n" + done, `data`, `data`, 1, 0, 0, false, 1, nil},
		"incomplete":              {`data: {"type":"response.reasoning_summary_text.delta","delta":"x"}` + "\n\n" + `data: {"type":"response.incomplete","response":{}}` + "\n\n", `data`, `data`, 1, 0, 0, false, 1, nil},
		"no end mark":             {begin, `data`, `data`, 1, 0, 0, false, 1, ErrTruncated},
		"no end mark, no token":   {`data: {"choices":[{"delta":{"role":"assistant"}}]}` + "\n\n", ``, ``, 0, 0, 0, false, 0, ErrTruncated},
		"end mark alone":          {done, ``, ``, 0, 0, 0, false, 0, ErrNone},
		"no stream":               {`{"choices":[{"message":{"content":"a"}}]}`, ``, ``, 0, 0, 0, false, 0, ErrNone},
		"error":                   {begin + `data: {"error":{"message":"overloaded"}}` + "\n\n" + done, `data`, `data`, 1, 0, 0, false, 1, ErrAnswer},
		"error as an object":      {begin + `data: {"object":"error","message":"x"}` + "\n\n", `data`, `data`, 1, 0, 0, false, 1, ErrAnswer},
		"event: error":            {begin + "event: error\ndata: overloaded\n\n", `data`, `data`, 1, 0, 0, false, 1, ErrAnswer},
		"error of responses":      {`data: {"type":"error","code":"x"}` + "\n\n", ``, ``, 0, 0, 0, false, 0, ErrAnswer},
		"failed":                  {`data: {"type":"response.failed","response":{"error":{}}}` + "\n\n", ``, ``, 0, 0, 0, false, 0, ErrAnswer},
		"no error":                {`data: {"error":null,"choices":[{"text":"a"}]}` + "\n\n" + done, `data`, `data`, 1, 0, 0, false, 1, nil},
		"the name of one event":   {"event: error\n\n" + begin + done, `data`, `data`, 1, 0, 0, false, 1, nil},
		"no JSON":                 {"data: hello\n\ndata: [1]\n\ndata: {\"choices\":[{\"text\":\"a\"\n\n" + begin + done, `data: {"choices":[{"delta"`, `data: {"choices":[{"delta"`, 1, 0, 0, false, 1, nil},
		"usage that says nothing": {begin + `data: {"usage":{"prompt_tokens":0,"completion_tokens":0}}` + "\n\n" + done, `data`, `data`, 1, 0, 0, false, 1, nil},
		"usage with a begin only": {`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}` + "\n\n" + begin + done, `data: {"choices":[{`, `data: {"choices":[{`, 1, 0, 0, false, 1, nil},
		"usage, then an empty one": {begin + `data: {"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\n" + `data: {"usage":{"prompt_tokens":0,"completion_tokens":0}}` + "\n\n" + done,
			`data`, `data`, 1, 9, 3, true, 3, nil},
		"usage without an event":   {`data: {"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\n" + done, ``, ``, 0, 9, 3, true, 3, ErrNone},
		"too many tokens":          {begin + `data: {"usage":{"prompt_tokens":1,"completion_tokens":99999999999999999999}}` + "\n\n" + done, `data`, `data`, 1, 0, 0, false, 1, nil},
		"tokens that are no count": {begin + `data: {"usage":{"prompt_tokens":1,"completion_tokens":-1}}` + "\n\n" + done, `data`, `data`, 1, 0, 0, false, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := feedings(t, rules(t, Options{Preset: OpenAI}), c.text)
			first, last := blockEnd(c.text, c.first), blockEnd(c.text, c.last)
			e := &got.Events
			if e.Count != c.count || e.First != first || e.Last != last || !errors.Is(got.err, c.err) || !e.Preset {
				t.Errorf("%d events from %d to %d, error %v, preset %t; want %d from %d to %d, %v", e.Count, e.First, e.Last, got.err, e.Preset, c.count, first, last, c.err)
			}
			if e.In != c.in || e.Out != c.out || e.Usage != c.known || e.Tokens() != c.tokens {
				t.Errorf("tokens %d %d %t, %d; want %d %d %t, %d", e.In, e.Out, e.Usage, e.Tokens(), c.in, c.out, c.known, c.tokens)
			}
			ns, ok := e.PerToken()
			if want := c.count > 1 && c.tokens > 1; ok != want || ok && ns != (last-first)/(c.tokens-1) {
				t.Errorf("per token %d %t", ns, ok)
			}
		})
	}
}

// blockEnd returns the number of the last byte of the block that has a text; 0 = there is no text.
func blockEnd(all, text string) int64 {
	if text == "" {
		return 0
	}
	at := strings.Index(all, text)
	return int64(at + strings.Index(all[at:], "\n\n") + 2)
}

// TestOpenAIUntil asserts that another end takes the place of the end mark.
func TestOpenAIUntil(t *testing.T) {
	got := feedings(t, rules(t, Options{Preset: OpenAI, Until: `"finish_reason":"stop"`}), chat)
	if got.Count != 5 || got.Usage || got.err != nil {
		t.Errorf("%s, error %v", summary(&got), got.err)
	}
	if got := feedings(t, rules(t, Options{Preset: OpenAI, Until: "bye"}), chat+response); !errors.Is(got.err, ErrTruncated) {
		t.Errorf("error %v", got.err)
	}
}

// TestPerToken asserts the formula on numbers that can be checked by hand.
func TestPerToken(t *testing.T) {
	for _, c := range []struct {
		e  Events
		ns int64
		ok bool
	}{
		{Events{}, 0, false},
		{Events{First: 5, Last: 5, Count: 1}, 0, false},
		{Events{First: 5, Last: 35, Count: 4}, 10, true},
		{Events{First: 5, Last: 35, Count: 4, Usage: true, Out: 7}, 5, true},
		{Events{First: 5, Last: 35, Count: 4, Usage: true, Out: 1}, 0, false},
		{Events{First: 5, Last: 5, Count: 1, Usage: true, Out: 3}, 0, false},
		{Events{Usage: true, Out: 3}, 0, false},
	} {
		if ns, ok := c.e.PerToken(); ns != c.ns || ok != c.ok {
			t.Errorf("%+v: %d %t; want %d %t", c.e, ns, ok, c.ns, c.ok)
		}
	}
}
