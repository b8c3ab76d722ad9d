package streams

import "fmt"

// chat is the script of a chat completion. Its first delta has the role only.
func (p *prompt) chat() *script {
	delta := func(delta object, finish any) object {
		return object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}
	}
	c := completion{p, fmt.Sprintf("chatcmpl-%d", p.number), "chat.completion.chunk"}
	return &script{
		begin: c.chunk(delta(object{"role": "assistant", "content": ""}, nil)),
		token: c.tokens(`"delta":{"content":"t%d "}`),
		end:   func() []byte { return c.end(delta(object{}, p.finish())) },
		whole: func() []byte {
			c.object = "chat.completion"
			return c.whole(object{"index": 0, "message": object{"role": "assistant", "content": p.text()}, "logprobs": nil, "finish_reason": p.finish()})
		},
	}
}

// completion is the script of a completion.
func (p *prompt) completion() *script {
	choice := func(text string, finish any) object {
		return object{"index": 0, "text": text, "logprobs": nil, "finish_reason": finish}
	}
	c := completion{p, fmt.Sprintf("cmpl-%d", p.number), "text_completion"}
	return &script{
		token: c.tokens(`"text":"t%d "`),
		end:   func() []byte { return c.end(choice("", p.finish())) },
		whole: func() []byte { return c.whole(choice(p.text(), p.finish())) },
	}
}

// A completion is an answer with choices.
type completion struct {
	*prompt
	id, object string
}

// body returns what all objects of the answer have.
func (c *completion) body(choices ...object) object {
	o := object{"id": c.id, "object": c.object, "created": c.created, "model": c.model, "choices": choices}
	if c.stream && c.usage {
		o["usage"] = nil
	}
	return o
}

// chunk returns an event with a choice.
func (c *completion) chunk(choice object) []byte {
	return fmt.Appendf(nil, "data: %s\n\n", encode(c.body(choice)))
}

// tokens returns what appends the event of a token. It is written without maps, because there are many; content is its
// place in the choice.
func (c *completion) tokens(content string) func([]byte, int) []byte {
	usage := ""
	if c.usage {
		usage = `,"usage":null`
	}
	before := fmt.Appendf(nil, `data: {"id":"%s","object":"%s","created":%d,"model":%s,"choices":[{"index":0,`, c.id, c.object, c.created, quote(c.model))
	after := `,"logprobs":null,"finish_reason":null}]` + usage + "}\n\n"
	return func(to []byte, n int) []byte {
		to = fmt.Appendf(append(to, before...), content, n)
		return append(to, after...)
	}
}

// end returns what follows the last token: why it ends, the usage if it was asked for, and [DONE].
func (c *completion) end(choice object) []byte {
	b := c.chunk(choice)
	if c.usage {
		last := c.body()
		last["choices"], last["usage"] = []object{}, c.used()
		b = fmt.Appendf(b, "data: %s\n\n", encode(last))
	}
	return append(b, "data: [DONE]\n\n"...)
}

// whole returns the answer without a stream.
func (c *completion) whole(choice object) []byte {
	o := c.body(choice)
	o["usage"] = c.used()
	return encode(o)
}
