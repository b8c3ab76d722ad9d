package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loadctl/loadctl/internal/console/ui"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// An api checks answers by docs/schema/openapi.json. Members that are not described there are errors.
type api struct {
	t       *testing.T
	schemas *jsonschema.Compiler
}

func openAPI(t *testing.T) *api {
	t.Helper()
	files, err := filepath.Glob("../../../docs/schema/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if filepath.Base(file) == "openapi.json" {
			closeObjects(doc)
		}
		if err := c.AddResource("file:///docs/schema/"+filepath.Base(file), doc); err != nil {
			t.Fatal(err)
		}
	}
	return &api{t, c}
}

// closeObjects forbids members that a schema does not describe.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, open := s["additionalProperties"]; !open && s["type"] == "object" {
			s["additionalProperties"] = false
		}
		for _, part := range s {
			closeObjects(part)
		}
	case []any:
		for _, part := range s {
			closeObjects(part)
		}
	}
}

// check compares a text with a schema: the name of one of the API, or of a file.
func (a *api) check(what, text, schema string) {
	a.t.Helper()
	name := "openapi.json#/components/schemas/" + schema
	if strings.Contains(schema, ".") {
		name = schema
	}
	compiled, err := a.schemas.Compile("file:///docs/schema/" + name)
	if err != nil {
		a.t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		a.t.Fatalf("%s: %v: %.500s", what, err, text)
	}
	if err := compiled.Validate(doc); err != nil {
		a.t.Errorf("%s is not as %s: %v\n%.2000s", what, schema, err, text)
	}
}

// TestUIAnswersAsDocumented: each kind of answer is as its schema says.
func TestUIAnswersAsDocumented(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.loadctl("create", "waiting", "--url", b.web.URL(), "--qps", "5")
	over := b.worker("over", "--url", b.web.URL(), "--qps", "100", "--duration", "2s", "--threshold", "errors:rate<0.1")
	await.Closed(t, "the end of a run", over.Exited) // on a busy machine it is invalid
	b.going("x", "--duration", "10m")
	file := filepath.Join(t.TempDir(), "old.loadctl")
	if _, stderr, code := b.try("report", "over", "--out", file); code != 0 && code != 98 { // 98 for the same reason
		t.Fatal(stderr)
	}
	v := b.ui("--control", file).viewer()
	a := openAPI(t)
	f := v.follow("x")
	a.check("the first event", string(f.next("frame")), "Frame")
	f.until("requests", func(f ui.Frame) bool { return f.Report.Audit.Sent > 150 })
	a.check("a later event", string(f.next("frame")), "Frame")
	for path, schema := range map[string]string{
		"runs": "Listing", "runs/x": "Frame", "runs/waiting": "Frame", "runs/over": "Frame", "archives/old": "Frame", "runs/x/workers": "Fleet", "runs/x/workers?limit=0": "Fleet",
		"runs/x/samples": "Samples", "runs/over/samples?class=status&step=a&slowest=10&least_ns=1": "Samples", "archives/old/samples": "Samples", "runs/x/samples?slowest=x": "Error", "runs/none/samples": "Error", "archives/none/samples": "Error",
		"runs/x/report": "report.schema.json", "compare?base=run:over&other=archive:old&force=1": "Comparison", "runs/none": "Error", "runs/none/live": "Error", "runs/x/report?format=none": "Error",
		"archives/none": "Error", "compare": "Error",
	} {
		got := v.get("/api/v1/" + path)
		if a.check(path, got.text, schema); (got.status == http.StatusOK) != (schema != "Error") {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	for _, c := range []struct{ path, body, schema string }{
		{"x/rate", `{"rate":"90","over":"1s"}`, "change.schema.json"}, {"x/pause", `{}`, "change.schema.json"}, {"x/resume", `{}`, "change.schema.json"}, {"waiting/start", `{}`, "change.schema.json"},
		{"x/workers/none/remove", `{"force":true}`, "Error"}, {"x/stop", `{}`, "change.schema.json"}, {"over/pause", `{}`, "Error"},
	} {
		got := v.do("POST", "/api/v1/runs/"+c.path, c.body, nil)
		if a.check(c.path, got.text, c.schema); (got.status == http.StatusOK) != (c.schema != "Error") {
			t.Errorf("%s: %d %s", c.path, got.status, got.text)
		}
	}
	a.check("the end", string(f.next("end")), "Nothing")
	a.check("a settled frame", v.get("/api/v1/runs/x").text, "Frame")
}
