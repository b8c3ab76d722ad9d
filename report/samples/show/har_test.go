package show_test

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/input/importer"
	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/samples/show"
)

// required are the members that HAR 1.2 requires, with the kind of each; entries of arrays are in all of them.
func required() map[string]any {
	field := map[string]any{"name": "text", "value": "text"}
	return map[string]any{"log": map[string]any{
		"version": "text", "creator": map[string]any{"name": "text", "version": "text"},
		"entries": []any{map[string]any{
			"startedDateTime": "text", "time": 0.0, "cache": map[string]any{},
			"request": map[string]any{
				"method": "text", "url": "text", "httpVersion": "text", "cookies": []any{field}, "headers": []any{field}, "queryString": []any{field},
				"headersSize": 0.0, "bodySize": 0.0,
			},
			"response": map[string]any{
				"status": 0.0, "statusText": "text", "httpVersion": "text", "cookies": []any{field}, "headers": []any{field},
				"content": map[string]any{"size": 0.0, "mimeType": "text"}, "redirectURL": "text", "headersSize": 0.0, "bodySize": 0.0,
			},
			"timings": map[string]any{"send": 0.0, "wait": 0.0, "receive": 0.0},
		}},
	}}
}

// lacks compares a document with what is required of it.
func lacks(t *testing.T, at string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s: %v is no object", at, got)
		}
		for name, member := range want {
			if _, ok := object[name]; !ok {
				t.Errorf("%s has no %s", at, name)
				continue
			}
			lacks(t, at+"."+name, object[name], member)
		}
	case []any:
		array, ok := got.([]any)
		if !ok {
			t.Errorf("%s: %v is no array", at, got)
		}
		for _, element := range array {
			lacks(t, at+"[]", element, want[0])
		}
	case string:
		if _, ok := got.(string); !ok {
			t.Errorf("%s: %v is no text", at, got)
		}
	case float64:
		if _, ok := got.(float64); !ok {
			t.Errorf("%s: %v is no number", at, got)
		}
	}
}

// TestHARIsValid: each entry has the members that HAR 1.2 requires, its time is the sum of its timings, and bodies are whole.
func TestHARIsValid(t *testing.T) {
	var document any
	text := rendered(t, "har", selection(t))
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	lacks(t, "", document, required())
	var har struct {
		Log struct {
			Entries []struct {
				Started  time.Time `json:"startedDateTime"`
				Time     float64
				Timings  map[string]float64
				Response struct {
					Content struct{ Text, Encoding string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &har); err != nil || len(har.Log.Entries) != 3 {
		t.Fatalf("%v: %d entries", err, len(har.Log.Entries))
	}
	for i, e := range har.Log.Entries {
		sum := 0.0
		for _, ms := range e.Timings {
			sum += max(0, ms)
		}
		if want := selection(t).Samples[i]; math.Abs(sum-e.Time) > 1e-9 || math.Abs(e.Time-float64(want.Latency)/1e6) > 1e-9 || !e.Started.Equal(want.Due) {
			t.Errorf("entry %d: %v, %v", i, e, want)
		}
	}
	if c := har.Log.Entries[2].Response.Content; c.Encoding != "base64" {
		t.Errorf("%+v", c)
	} else if raw, err := base64.StdEncoding.DecodeString(c.Text); err != nil || string(raw) != "\x89PNG\r\n\x1a\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

// TestHARIsImported: the importer makes a workload of it that sends the same requests.
func TestHARIsImported(t *testing.T) {
	s := selection(t)
	text, err := importer.Workload(strings.NewReader(rendered(t, "har", s)), importer.Options{Name: "samples.har"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.YAML("w.yaml", text)
	if err != nil || len(w.Flows) != 1 || len(w.Flows[0].Steps) != 3 {
		t.Fatalf("%v\n%s", err, text)
	}
	for i, step := range w.Flows[0].Steps {
		want, got := s.Samples[i], step
		if !strings.HasPrefix(want.Request.Start, got.Method+" ") || got.URL != want.URL || string(got.Body) != want.Request.Body {
			t.Errorf("step %d: %s %s %q\n%s", i, got.Method, got.URL, got.Body, text)
		}
		for _, h := range got.Headers {
			if h.Name == "Content-Type" && h.Value != "application/json" {
				t.Errorf("step %d: %v", i, h)
			}
		}
	}
}

// TestHAROfOtherProtocols: what is not HTTP is left out, and a note says how much.
func TestHAROfOtherProtocols(t *testing.T) {
	s := show.Selection{Samples: []samples.Sample{
		{URL: "grpc://x/y", Request: &samples.Message{}}, {URL: "tcp://x:1", Request: &samples.Message{}}, {URL: "http://x/", Latency: 5}, {URL: "http://x/", Request: &samples.Message{Start: "GET / HTTP/1.1"}},
	}}
	if text := rendered(t, "har", s); strings.Count(text, `"startedDateTime"`) != 1 {
		t.Error(text)
	}
	if note := show.Note("har", s); note != "left out of the HAR: 1 sample of which only the times were kept and 2 samples of protocols other than HTTP; -o json has all" {
		t.Error(note)
	}
	if show.Note("json", s) != "" || show.Note("har", show.Selection{}) != "" {
		t.Error("a note for nothing")
	}
}
