package events

import "bytes"

// The API of OpenAI: chat completions, completions, and responses. An event is JSON:
//
//	{"choices":[{"delta":{"content":"Hi"}}]}              chat completions
//	{"choices":[{"text":"Hi"}]}                           completions
//	{"type":"response.output_text.delta","delta":"Hi"}    responses
//
// An event without text, such as one that has a role only, is no token. Reasoning and calls of tools are.

// A chunk is what an event of the API says.
type chunk struct {
	kind   []byte // its type, if it is one of responses
	delta  bool   // of responses: it has text
	token  bool   // one of its choices has text
	failed bool

	in, out int64 // tokens; 0 = not known: some servers send a usage that says nothing
}

// takeChunk takes an event of the API. failed says that its name is "error".
func (r *Reader) takeChunk(data []byte, failed bool, at int64) {
	c, ok := readChunk(data)
	if failed || ok && c.fails() {
		r.failed = true
		return
	}
	if !ok {
		return
	}
	if c.out > 0 {
		r.In, r.Out, r.Usage = c.in, c.out, true
	}
	if c.isToken() {
		r.event(at)
	}
	if c.isLast() && r.rules.until == nil {
		r.last = true
	}
}

func (c *chunk) fails() bool {
	return c.failed || string(c.kind) == "error" || string(c.kind) == "response.failed"
}

func (c *chunk) isToken() bool {
	return c.token || c.delta && bytes.HasPrefix(c.kind, []byte("response.")) && bytes.HasSuffix(c.kind, []byte(".delta"))
}

func (c *chunk) isLast() bool {
	return string(c.kind) == "response.completed" || string(c.kind) == "response.incomplete"
}

// readChunk reads an event. ok is false if it is no JSON object.
func readChunk(data []byte) (c chunk, ok bool) {
	s := scanner{b: data}
	if !s.enter('{') {
		return c, false
	}
	for s.key() {
		switch string(s.name) {
		case "type":
			c.kind = s.text()
		case "delta":
			c.delta = s.filled()
		case "choices":
			c.choices(&s)
		case "usage":
			c.usage(&s)
		case "response":
			c.response(&s)
		case "error":
			c.failed = s.filled() || c.failed
		case "object":
			c.failed = string(s.text()) == "error" || c.failed
		default:
			s.skip()
		}
	}
	return c, !s.bad
}

// choices reads those of completions.
func (c *chunk) choices(s *scanner) {
	if !s.enter('[') {
		s.skip()
		return
	}
	for s.element() {
		if !s.enter('{') {
			s.skip()
			continue
		}
		for s.key() {
			switch string(s.name) {
			case "delta":
				c.message(s)
			case "text":
				c.token = s.filled() || c.token
			default:
				s.skip()
			}
		}
	}
}

// message reads the new part of one.
func (c *chunk) message(s *scanner) {
	if !s.enter('{') {
		s.skip()
		return
	}
	for s.key() {
		switch string(s.name) {
		case "content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call":
			c.token = s.filled() || c.token
		default:
			s.skip()
		}
	}
}

// response reads the answer as a whole, which some events of responses have.
func (c *chunk) response(s *scanner) {
	if !s.enter('{') {
		s.skip()
		return
	}
	for s.key() {
		if string(s.name) == "usage" {
			c.usage(s)
		} else {
			s.skip()
		}
	}
}

// usage reads how many tokens there were.
func (c *chunk) usage(s *scanner) {
	if !s.enter('{') {
		s.skip()
		return
	}
	for s.key() {
		switch string(s.name) {
		case "prompt_tokens", "input_tokens":
			c.in = s.count()
		case "completion_tokens", "output_tokens":
			c.out = s.count()
		default:
			s.skip()
		}
	}
}
