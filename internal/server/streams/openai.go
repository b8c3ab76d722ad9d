package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/loadctl/loadctl/internal/server/site"
)

// object is a JSON object.
type object = map[string]any

// encode returns v as JSON. It is only called with objects, lists, texts and numbers.
func encode(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

// quote returns a text as JSON.
func quote(text string) []byte { return encode(text) }

// A prompt is a request to a language model, and its answer is numbered.
type prompt struct {
	number  int64
	created int64 // in s since 1970
	model   string
	stream  bool
	usage   bool // as an event at the end
	tokens  int  // of the answer
	bounded bool // by the request, below what the model would say
	input   int  // tokens of the request: its words
}

// models returns the routes of a language model.
func (s *Settings) models(log *Log) []site.Route {
	var number atomic.Int64
	route := func(path string, says func(*prompt) *script, input string, bounds ...string) site.Route {
		return site.Route{Pattern: "POST " + path, Answer: func(r *http.Request, body []byte) site.Reply {
			p, err := s.prompt(body, input, bounds)
			if err != nil {
				return site.Reply{Status: http.StatusBadRequest, Header: jsonHeader(), Body: encode(object{"error": object{"message": err.Error(), "type": "invalid_request_error", "param": nil, "code": nil}})}
			}
			p.number = number.Add(1)
			return s.say(r, log, p, says(p))
		}}
	}
	return []site.Route{
		route("/v1/chat/completions", (*prompt).chat, "messages", "max_completion_tokens", "max_tokens"),
		route("/v1/completions", (*prompt).completion, "prompt", "max_tokens"),
		route("/v1/responses", (*prompt).response, "input", "max_output_tokens"),
		{Pattern: "GET /v1/models", Body: `{"object":"list","data":[{"id":"loadctl","object":"model","created":0,"owned_by":"loadctl"}]}`},
	}
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// longestModel bounds the name of a model, in bytes, because each event has it.
const longestModel = 200

// prompt reads a request. input is the name of what it asks, bounds are the names of what bounds the tokens.
func (s *Settings) prompt(body []byte, input string, bounds []string) (*prompt, error) {
	if len(body) >= site.MostBody {
		return nil, errors.New("send less than 1 MiB")
	}
	if !json.Valid(body) || !gjson.ParseBytes(body).IsObject() {
		return nil, errors.New("send a JSON object")
	}
	p := &prompt{created: time.Now().Unix(), model: "loadctl", tokens: s.events}
	if model := gjson.GetBytes(body, "model").String(); model != "" && len(model) <= longestModel {
		p.model = model
	}
	p.stream = gjson.GetBytes(body, "stream").Type == gjson.True
	p.usage = gjson.GetBytes(body, "stream_options.include_usage").Type == gjson.True
	p.input = words(gjson.GetBytes(body, input))
	for _, bound := range bounds {
		given := gjson.GetBytes(body, bound)
		if given.Type == gjson.Null { // or not there
			continue
		}
		if given.Type != gjson.Number || given.Num < 1 {
			return nil, fmt.Errorf("%s: give a number of at least 1", bound)
		}
		if given.Num < float64(p.tokens) {
			p.tokens, p.bounded = int(given.Num), true
		}
	}
	return p, nil
}

// words counts the words of a prompt: a text, a list of texts, of numbers of tokens or of messages, a message.
func words(v gjson.Result) (n int) {
	switch {
	case v.Type == gjson.String:
		return len(strings.Fields(v.Str))
	case v.Type == gjson.Number:
		return 1
	case v.IsObject():
		return words(v.Get("content")) + words(v.Get("text"))
	}
	v.ForEach(func(_, element gjson.Result) bool {
		n += words(element)
		return true
	})
	return n
}

// say answers a prompt: by a stream, or with all of it when the last token is due.
func (s *Settings) say(r *http.Request, log *Log, p *prompt, says *script) site.Reply {
	bounded := *s
	bounded.events = p.tokens
	if p.stream {
		return bounded.reply(r, log, says)
	}
	return site.Reply{Status: http.StatusOK, Header: jsonHeader(), Body: says.whole(), Delay: bounded.last()}
}

// last returns when the last event is due.
func (s *Settings) last() (due time.Duration) {
	p := pace{settings: s}
	for range s.events {
		due = p.next()
	}
	return due
}

// token returns token n of all answers.
func token(n int) string { return fmt.Sprintf("t%d ", n) }

// text returns all tokens.
func (p *prompt) text() string {
	var b strings.Builder
	for n := range p.tokens {
		b.WriteString(token(n + 1))
	}
	return b.String()
}

// finish says why the answer ends.
func (p *prompt) finish() string {
	if p.bounded {
		return "length"
	}
	return "stop"
}

// used is the usage of chat completions and completions.
func (p *prompt) used() object {
	return object{"prompt_tokens": p.input, "completion_tokens": p.tokens, "total_tokens": p.input + p.tokens}
}
