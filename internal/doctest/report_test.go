package doctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/report"
)

// schema is as much of JSON Schema as docs/report.schema.json uses. The published schema lets programs pass over members
// that are added later; here one that it does not name is an error.
type schema struct {
	Type                 string             `json:"type"`
	Ref                  string             `json:"$ref"`
	Description          string             `json:"description"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	Defs                 map[string]*schema `json:"$defs"`
}

// checker compares values with a schema and notes which of its properties it has met.
type checker struct {
	defs map[string]*schema
	met  map[string]bool
}

func (c *checker) resolve(s *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return c.defs[name]
	}
	return s
}

// check returns what is wrong with v, one line each.
func (c *checker) check(at string, s *schema, v any) (wrong []string) {
	s = c.resolve(s)
	if got := typeOf(v, s.Type); got != s.Type {
		return []string{fmt.Sprintf("%s is of type %s, in the schema %s", at, got, s.Type)}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s.%s is required and missing", at, name))
			}
		}
		for name, x := range v {
			p := s.Properties[name]
			c.met[at+"."+name] = true
			if p == nil {
				p = s.AdditionalProperties
			}
			if p == nil {
				wrong = append(wrong, fmt.Sprintf("%s.%s is not in the schema", at, name))
				continue
			}
			wrong = append(wrong, c.check(at+"."+name, p, x)...)
		}
	case []any:
		for _, x := range v {
			wrong = append(wrong, c.check(at+"[]", s.Items, x)...)
		}
	}
	return wrong
}

// typeOf is the type of a JSON value; a whole number is an integer if that is what is wanted.
func typeOf(v any, want string) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if want == "integer" && v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// unmet lists the properties of the schema that no value had.
func (c *checker) unmet(at string, s *schema) (names []string) {
	s = c.resolve(s)
	if s.Items != nil {
		return c.unmet(at+"[]", s.Items)
	}
	for name, p := range s.Properties {
		if !c.met[at+"."+name] {
			names = append(names, at+"."+name)
			continue
		}
		names = append(names, c.unmet(at+"."+name, p)...)
	}
	return names
}

// fields lists the names of all properties.
func (c *checker) fields(s *schema) (names []string) {
	s = c.resolve(s)
	if s.Items != nil {
		return c.fields(s.Items)
	}
	for name, p := range s.Properties {
		names = append(names, name)
		names = append(names, c.fields(p)...)
	}
	return names
}

func TestReportSchema(t *testing.T) {
	t.Parallel()
	var s schema
	if err := json.Unmarshal([]byte(read(t, "docs/report.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	c := &checker{defs: s.Defs, met: map[string]bool{}}
	redis := "redis://" + redistest.Start(t).Addr()
	real := command(t, "loadworker", "run", "--redis", redis, "--run", "schema", "--url", "noop://", "--qps", "200", "--duration", "1s", "--id", "w1", "-o", "json")
	_, real, _ = strings.Cut(real, "\n{") // after the log
	later := command(t, "loadctl", "report", "schema", "--redis", redis, "-o", "json")
	for name, text := range map[string]string{"loadworker run": "{" + real, "loadctl report": later, "a report of trouble": troubled(t)} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		for _, line := range c.check("report", &s, v) {
			t.Errorf("%s: %s", name, line)
		}
	}
	for _, name := range c.unmet("report", &s) {
		t.Errorf("%s is in the schema and in no report", name)
	}
	page := read(t, "docs/report.md")
	names := c.fields(&s)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/report.md does not tell of %s", name)
		}
	}
}

// troubled is a report with the members that only appear when something went wrong.
func troubled(t *testing.T) string {
	t.Helper()
	rec := report.NewRecorder()
	rec.Sent()
	rec.Done(report.Sample{Done: int64(time.Millisecond), Status: 503, Class: "status"})
	rec.LateDropped(1)
	total := report.NewSnapshot("w1", "1")
	total.Record(rec)
	var b bytes.Buffer
	err := report.JSON(&b, report.Build(report.Input{
		Run: "trouble", Duration: time.Second, Budget: report.Budget{Issued: 3},
		Workers: []report.WorkerInput{{ID: "w1", State: "lost", Gone: true, Leased: 2, Total: total}, {ID: "w2", State: "lost", Gone: true, Leased: 1}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
