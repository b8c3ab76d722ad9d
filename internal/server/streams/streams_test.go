package streams

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/loadctl/loadctl/internal/server/site"
)

// A client takes the pieces of an answer, in a bubble whose clock stands while nobody waits.
type client struct {
	text   bytes.Buffer
	times  []time.Time // of the pieces
	slow   time.Duration
	leaves int // with this piece; 0 = never
}

var errGone = errors.New("the client is gone")

func (c *client) Wait(until time.Time) error {
	time.Sleep(time.Until(until))
	return nil
}

func (c *client) Send(piece []byte) error {
	c.times = append(c.times, time.Now())
	if len(c.times) == c.leaves {
		return errGone
	}
	c.text.Write(piece)
	time.Sleep(c.slow)
	return nil
}

// ask sends a request to what settings serve, and returns the reply.
func ask(t *testing.T, s *Settings, log *Log, method, path, body string) site.Reply {
	t.Helper()
	served, err := site.New(404, s.Routes(log))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	return served.Find(r).Reply(r, []byte(body))
}

func parse(t *testing.T, text, of string) *Settings {
	t.Helper()
	s, err := Parse(text, of)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestForms asserts what each form sends, in how many pieces, and of which type.
func TestForms(t *testing.T) {
	for form, want := range map[string][2]string{
		SSE:    {"text/event-stream", "data: {\"event\":1}\n\ndata: {\"event\":2}\n\n"},
		Lines:  {"application/x-ndjson", "{\"event\":1}\n{\"event\":2}\n"},
		Chunks: {"application/octet-stream", "{\"event\":1}{\"event\":2}"},
	} {
		s := parse(t, "events=2,form="+form, Events)
		reply := ask(t, s, NewLog(nil), "GET", "/any?n=1", "")
		var c client
		if err := reply.Stream(time.Now(), time.Now(), &c); err != nil {
			t.Error(err)
		}
		if got := reply.Header.Get("Content-Type"); reply.Status != 200 || got != want[0] || c.text.String() != want[1] || len(c.times) != 3 {
			t.Errorf("%s: %d, %s, %d pieces, %q", form, reply.Status, got, len(c.times), c.text.String())
		}
		if head := ask(t, s, NewLog(nil), "HEAD", "/", ""); head.Stream != nil || head.Body != nil || head.Header.Get("Content-Type") != want[0] {
			t.Errorf("HEAD: %+v", head)
		}
	}
}

// TestDeadlines asserts the times of events, and what the log says of them. The answer was ready 30 ms after its request.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		var file bytes.Buffer
		log, c := NewLog(&file), client{}
		arrived := time.Now()
		reply := ask(t, parse(t, "first=200ms,events=4,gap=20ms,stall=3:2s", Events), log, "GET", `/"a"?n=1`, "")
		if err := reply.Stream(arrived, arrived.Add(30*ms), &c); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf(`{"path":"/\"a\"?n=1","arrival_ns":%d,"events_ns":[`, arrived.UnixNano())
		for i, after := range []time.Duration{0, 230 * ms, 250 * ms, 2270 * ms, 2290 * ms} {
			if got := c.times[i].Sub(arrived); got != after {
				t.Errorf("piece %d after %v, want %v", i, got, after)
			}
			if i > 0 {
				line += fmt.Sprintf("%d,", c.times[i].UnixNano())
			}
		}
		if line = strings.TrimSuffix(line, ",") + "],\"whole\":true}\n"; file.String() != line {
			t.Errorf("log %q, want %q", file.String(), line)
		}
		sum := log.Summary()
		near := func(got int64, want time.Duration) bool {
			return max(got-int64(want), int64(want)-got) <= int64(want)/1000
		}
		if sum.Answers != 1 || sum.Cut != 0 || sum.Events != 4 || !near(sum.FirstEvent.P50, 230*ms) || !near(sum.EventGap.P50, 20*ms) || !near(sum.EventGap.P99, 2020*ms) || !near(sum.Stream.P99, 2290*ms) {
			t.Errorf("%+v", sum)
		}
	})
}

// TestSlowClient asserts that an event that is late moves no later one.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client{slow: 50 * time.Millisecond}
		reply := ask(t, parse(t, "events=10,gap=10ms,stall=10:1h", Events), NewLog(nil), "GET", "/", "")
		arrived := time.Now()
		if err := reply.Stream(arrived, arrived, &c); err != nil {
			t.Fatal(err)
		}
		if took := c.times[10].Sub(arrived); took != time.Hour+90*time.Millisecond {
			t.Errorf("the last event came after %v", took)
		}
	})
}

// TestCut asserts that an event that was not written is not counted.
func TestCut(t *testing.T) {
	var file bytes.Buffer
	log := NewLog(&file)
	for leaves := 1; leaves <= 3; leaves++ { // with the head, the first and the second event
		c := client{leaves: leaves}
		reply := ask(t, parse(t, "events=2", Events), log, "GET", "/", "")
		if err := reply.Stream(time.Now(), time.Now(), &c); !errors.Is(err, errGone) {
			t.Errorf("%v", err)
		}
	}
	if sum := log.Summary(); sum.Answers != 0 || sum.Cut != 3 || sum.Events != 1 || sum.Stream.Max != 0 || strings.Count(file.String(), `"whole":false`) != 3 {
		t.Errorf("%+v, %s", sum, file.String())
	}
}

// A full disk takes no line.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errGone }

// TestLogSaysThatItIsNotWhole asserts that a file that takes no line is an error, and that counts go on.
func TestLogSaysThatItIsNotWhole(t *testing.T) {
	log := NewLog(full{})
	for range 2 {
		if err := ask(t, parse(t, "events=2", Events), log, "GET", "/", "").Stream(time.Now(), time.Now(), new(client)); err != nil {
			t.Error(err)
		}
	}
	if sum := log.Summary(); !errors.Is(log.Err(), errGone) || sum.Answers != 2 || sum.Events != 4 {
		t.Errorf("%v, %+v", log.Err(), sum)
	}
}

// said returns the JSON of the events of a text, and checks their form. The name of an event is its type.
func said(t *testing.T, text string) (all []gjson.Result) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		named, data, ok := strings.Cut(block, "data: ")
		name := strings.TrimSuffix(strings.TrimPrefix(named, "event: "), "\n")
		if !ok || data != "[DONE]" && !gjson.Valid(data) || gjson.Get(data, "type").String() != name {
			t.Errorf("event %q", block)
		}
		all = append(all, gjson.Parse(data))
	}
	return all
}

// TestChat asserts the events of chat completions, and of completions: no role, but the same end.
func TestChat(t *testing.T) {
	for path, c := range map[string]struct{ body, token, first, whole string }{
		"/v1/chat/completions": {`"messages":[{"role":"user","content":"one two"},{"role":"user","content":[{"type":"text","text":"three"}]}]`, "choices.0.delta.content", `{"content":"","role":"assistant"}`, "choices.0.message.content"},
		"/v1/completions":      {`"prompt":["one two",[7]]`, "choices.0.text", "", "choices.0.text"},
	} {
		s, log := parse(t, "tokens=3", Tokens), NewLog(nil)
		var out client
		reply := ask(t, s, log, "POST", path, `{"model":"m\"1",`+c.body+`,"stream":true,"stream_options":{"include_usage":true}}`)
		if err := reply.Stream(time.Now(), time.Now(), &out); err != nil {
			t.Fatal(err)
		}
		events := said(t, out.text.String())
		if c.first != "" {
			if got := events[0].Get("choices.0.delta").Raw; got != c.first {
				t.Errorf("%s: the first delta is %s", path, got)
			}
			events = events[1:]
		}
		if len(events) != 6 || events[5].Raw != "[DONE]" {
			t.Fatalf("%s: %v", path, events)
		}
		for i, e := range events[:3] {
			if e.Get(c.token).String() != fmt.Sprintf("t%d ", i+1) || e.Get("model").String() != `m"1` || e.Get("id").String() != events[4].Get("id").String() || e.Get("usage").Raw != "null" {
				t.Errorf("%s: token %d is %s", path, i, e)
			}
		}
		usage := `{"completion_tokens":3,"prompt_tokens":3,"total_tokens":6}`
		if events[3].Get("choices.0.finish_reason").String() != "stop" || events[3].Get(c.token).String() != "" || events[4].Get("usage").Raw != usage || events[4].Get("choices").Raw != "[]" {
			t.Errorf("%s: ends with %v", path, events[3:])
		}
		if sum := log.Summary(); sum.Events != 3 || sum.Answers != 1 {
			t.Errorf("%s: %+v", path, sum)
		}
		whole := ask(t, parse(t, "tokens=3,first=2s,gap=1s", Tokens), log, "POST", path, `{`+c.body+`,"max_tokens":2}`)
		if got := gjson.ParseBytes(whole.Body); whole.Delay != 3*time.Second || got.Get(c.whole).String() != "t1 t2 " || got.Get("choices.0.finish_reason").String() != "length" || got.Get("usage.completion_tokens").Int() != 2 {
			t.Errorf("%s: %v, %s", path, whole.Delay, got)
		}
	}
}

// TestResponses asserts the events of a response, and their numbers.
func TestResponses(t *testing.T) {
	s, log := parse(t, "tokens=3", Tokens), NewLog(nil)
	for _, c := range []struct {
		bound, status, why string
		tokens             int
	}{{"", "completed", "null", 3}, {`,"max_output_tokens":2`, "incomplete", `{"reason":"max_output_tokens"}`, 2}, {`,"max_output_tokens":3`, "completed", "null", 3}} {
		var out client
		reply := ask(t, s, log, "POST", "/v1/responses", `{"input":"one two","stream":true`+c.bound+`}`)
		if err := reply.Stream(time.Now(), time.Now(), &out); err != nil {
			t.Fatal(err)
		}
		var types []string
		text := ""
		events := said(t, out.text.String())
		for i, e := range events {
			if types = append(types, e.Get("type").String()); e.Get("sequence_number").Int() != int64(i) {
				t.Errorf("event %d: %s", i, e)
			}
			text += e.Get("delta").String()
		}
		want := slices.Concat([]string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"},
			slices.Repeat([]string{"response.output_text.delta"}, c.tokens),
			[]string{"response.output_text.done", "response.content_part.done", "response.output_item.done", "response." + c.status})
		last := events[len(events)-1].Get("response")
		if !slices.Equal(types, want) || last.Get("output.0.content.0.text").String() != text || last.Get("status").String() != c.status || last.Get("incomplete_details").Raw != c.why ||
			last.Get("usage.output_tokens").Int() != int64(c.tokens) || last.Get("usage.input_tokens").Int() != 2 {
			t.Errorf("%v, %s", types, last)
		}
		whole := gjson.ParseBytes(ask(t, s, log, "POST", "/v1/responses", `{"input":"one two"`+c.bound+`}`).Body)
		if whole.Get("output").Get("0.content.0.text").String() != text || whole.Get("status").String() != c.status || whole.Get("usage").Raw != last.Get("usage").Raw {
			t.Errorf("without a stream: %s", whole)
		}
	}
}

// TestModelRefuses asserts what a request without sense is told, and that other paths are not the API's.
func TestModelRefuses(t *testing.T) {
	s := parse(t, "tokens=3", Tokens)
	for body, says := range map[string]string{
		"":                                 "send a JSON object",
		"[1]":                              "send a JSON object",
		`{"prompt":"a"`:                    "send a JSON object",
		`{"max_tokens":0}`:                 "max_tokens: give a number of at least 1",
		`{"max_tokens":"3"}`:               "max_tokens: give a number of at least 1",
		strings.Repeat(" ", site.MostBody): "send less than 1 MiB",
	} {
		reply := ask(t, s, NewLog(nil), "POST", "/v1/completions", body)
		if got := gjson.GetBytes(reply.Body, "error.message").String(); reply.Status != http.StatusBadRequest || got != says {
			t.Errorf("%.40q: %d %s", body, reply.Status, got)
		}
	}
	if reply := ask(t, s, NewLog(nil), "GET", "/v1/completions", ""); reply.Status != 404 {
		t.Errorf("%+v", reply)
	}
	if reply := ask(t, s, NewLog(nil), "GET", "/v1/models", ""); gjson.GetBytes(reply.Body, "data.0.id").String() != "loadctl" {
		t.Errorf("%s", reply.Body)
	}
}
