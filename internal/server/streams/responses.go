package streams

import "fmt"

// response is the script of a response. Its events have names and numbers, and no [DONE] follows.
func (p *prompt) response() *script {
	r := response{p, fmt.Sprintf("resp_%d", p.number), fmt.Sprintf("msg_%d", p.number)}
	return &script{
		begin: r.begin(),
		token: r.token,
		end:   r.end,
		whole: func() []byte { return encode(r.body(r.status(), r.item(p.text()))) },
	}
}

// A response is an answer with one message.
type response struct {
	*prompt
	id, message string
}

// before is how many events come before the first token.
const before = 4

// event appends a named event with its number.
func (r *response) event(to []byte, kind string, number int, o object) []byte {
	o["type"], o["sequence_number"] = kind, number
	return fmt.Appendf(to, "event: %s\ndata: %s\n\n", kind, encode(o))
}

// begin returns the events before the first token.
func (r *response) begin() []byte {
	b := r.event(nil, "response.created", 0, object{"response": r.body("in_progress")})
	b = r.event(b, "response.in_progress", 1, object{"response": r.body("in_progress")})
	item := r.item("")
	item["status"], item["content"] = "in_progress", []object{}
	b = r.event(b, "response.output_item.added", 2, object{"output_index": 0, "item": item})
	return r.event(b, "response.content_part.added", 3, object{"item_id": r.message, "output_index": 0, "content_index": 0, "part": part("")})
}

// token appends the event of a token. It is written without maps, because there are many.
func (r *response) token(to []byte, n int) []byte {
	const kind = "response.output_text.delta"
	return fmt.Appendf(to, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d,\"item_id\":\"%s\",\"output_index\":0,\"content_index\":0,\"delta\":\"t%d \",\"logprobs\":[]}\n\n", kind, kind, before+n-1, r.message, n)
}

// end returns the events after the last token.
func (r *response) end() []byte {
	text, number := r.text(), before+r.tokens
	b := r.event(nil, "response.output_text.done", number, object{"item_id": r.message, "output_index": 0, "content_index": 0, "text": text, "logprobs": []object{}})
	b = r.event(b, "response.content_part.done", number+1, object{"item_id": r.message, "output_index": 0, "content_index": 0, "part": part(text)})
	b = r.event(b, "response.output_item.done", number+2, object{"output_index": 0, "item": r.item(text)})
	return r.event(b, "response."+r.status(), number+3, object{"response": r.body(r.status(), r.item(text))})
}

// status says how the response ends.
func (r *response) status() string {
	if r.bounded {
		return "incomplete"
	}
	return "completed"
}

// body returns the response itself. It has a usage when it has ended.
func (r *response) body(status string, output ...object) object {
	o := object{"id": r.id, "object": "response", "created_at": r.created, "model": r.model, "status": status, "error": nil, "incomplete_details": nil, "output": []object{}, "usage": nil}
	if status == "incomplete" {
		o["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	if len(output) > 0 {
		o["output"] = output
		o["usage"] = object{
			"input_tokens": r.input, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": r.tokens, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": r.input + r.tokens,
		}
	}
	return o
}

// item returns the message of a response.
func (r *response) item(text string) object {
	return object{"id": r.message, "type": "message", "status": r.status(), "role": "assistant", "content": []object{part(text)}}
}

// part returns the text of a message.
func part(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}
