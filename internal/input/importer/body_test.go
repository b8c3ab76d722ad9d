package importer

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/input/draft"
	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/targets"
)

// FuzzBody: whatever a body and a header are, the workload sends the same bytes.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		`{"a": [1, -2.50, true, null, {}], "b": "x\ny"}`, `{"a": 1e5, "<<": 2}`, `[{"a": 1, "b": [[]]}, "` + strings.Repeat("x", 120) + `"]`, `"${x}"`, `{"no": "yes", "": "~"}`, `1`,
		"a=1&b=x+y", "a=1&a=2", "a=%20b", "a", "a=${x}&b=$${y}", "&", "=",
		"a\nb", "a\nb\n", " a\nb", "a\n\n", "a\r\nb", "\ta\nb", "a \nb", "- a\n# b", "'\"", "\u0085\u2028\ufeff\U0001f600\x7f\x00", "${", "$${a}", "|", "true", "0x10", "~", "2026-01-01", "a: b", "a #b", "[", "*a", "&a", "!a", "%a", "@a", "`a", "---", "...",
	} {
		for kind := range 3 {
			f.Add(kind, body, "b")
		}
	}
	f.Fuzz(func(t *testing.T, kind int, body, header string) {
		types := []string{draft.JSONType, draft.FormType, "text/plain"}
		typed := types[uint(kind)%3]
		r := draft.Request{Where: "t"}
		r.Method, r.URL, r.Body = "POST", "http://a/", []byte(body)
		r.Headers = []targets.Header{{Name: "Content-Type", Value: typed}, {Name: "X", Value: header}}
		w := &draft.File{}
		s, err := w.Add(r)
		if err != nil {
			return // not a valid request
		}
		s.Name = "s"
		w.Flows = []draft.Flow{{Name: "f", Steps: []draft.Step{s}}}
		w.Begin("")
		text := w.Text()
		read, err := workload.YAML("w", text)
		if err != nil {
			t.Fatalf("%q: %v\n%s", body, err, text)
		}
		got := read.Flows[0].Steps[0]
		sent, want := strings.ReplaceAll(string(got.Body), "$${", "${"), body
		if sent != want {
			t.Fatalf("%q: sends %q\n%s", want, sent, text)
		}
		var values []string
		for _, h := range got.Headers {
			values = append(values, h.Name+": "+strings.ReplaceAll(h.Value, "$${", "${"))
		}
		if all := strings.Join(values, "|"); !strings.Contains(all, "Content-Type: "+typed) || !strings.Contains(all, "X: "+strings.TrimSpace(header)) {
			t.Fatalf("%q: %q\n%s", header, all, text)
		}
	})
}

// TestTypeOfPostData: a recording may have the type of a body outside of its headers.
func TestTypeOfPostData(t *testing.T) {
	for more, want := range map[string]string{
		`, "postData": {"mimeType": "text/plain", "text": "a"}`:                                                                        "header: {Content-Type: text/plain}, body: a",
		`, "postData": {"mimeType": "application/json", "text": "[1]"}`:                                                                "json: [1]",
		`, "postData": {"mimeType": "text/plain", "text": "a"}, "headers": [{"name": "content-type", "value": "application/graphql"}]`: "header: {content-type: application/graphql}, body: a",
	} {
		text, err := Workload(strings.NewReader(recording(got(1, "http://a/", more))), Options{Name: "t", Format: HAR})
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %s\n%s", more, err, want, text)
		}
	}
}
