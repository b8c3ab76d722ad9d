package doctest

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loadctl/loadctl/targets"
)

// schemas are the files in docs/schema, by the part of their names before the first dot. The published ones let
// programs pass over members that are added later; the strict copies refuse a member that they do not describe.
type schemas struct {
	published, strict map[string]*jsonschema.Schema
	of                map[string]string // name of the schema by command, as docs/json.md has it

	mu   sync.Mutex       // guards what follows
	seen map[sight]bool   // in real output
	docs map[string][]any // real output, by command
}

// sight records that some document had a part of a strict schema, a value of an enumeration, or lacked an optional
// member.
type sight struct {
	part  *jsonschema.Schema
	value any
	not   bool
}

// input is the schema of what people write, and no command prints. It refuses members that it does not describe.
const input = "workload.schema.json"

func loadSchemas(t *testing.T) *schemas {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs/schema/*.schema.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/schema: %v", err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == input })
	s := &schemas{of: schemasOfCommands(t), seen: map[sight]bool{}, docs: map[string][]any{}}
	s.published = compile(t, files, func(any) {})
	s.strict = compile(t, files, closeObjects)
	return s
}

// compile reads schemas that may refer to one another.
func compile(t *testing.T, files []string, change func(schema any)) map[string]*jsonschema.Schema {
	t.Helper()
	const base = "file:///docs/schema/" // nothing is read from there
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, file := range files {
		schema := parse(t, read(t, "docs/schema/"+filepath.Base(file)))
		change(schema)
		if err := compiler.AddResource(base+filepath.Base(file), schema); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]*jsonschema.Schema{}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		schema, err := compiler.Compile(base + filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = schema
	}
	return all
}

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("not one JSON document: %v\n%s", err, text)
	}
	return v
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

// schemasOfCommands reads the table of docs/json.md.
func schemasOfCommands(t *testing.T) map[string]string {
	t.Helper()
	row := regexp.MustCompile(`(?m)^\| (.*) \|.*\| \[\w+\]\(schema/(\w+)\.schema\.json\) \|$`)
	command := regexp.MustCompile("`((?:loadctl|loadworker) [a-z-]+)")
	of := map[string]string{}
	for _, r := range row.FindAllStringSubmatch(read(t, "docs/json.md"), -1) {
		for _, c := range command.FindAllStringSubmatch(r[1], -1) {
			of[c[1]] = r[2]
		}
	}
	return of
}

// check compares the output of a command with its schema, and returns it.
func (s *schemas) check(t *testing.T, command, text string) any {
	t.Helper()
	doc := parse(t, text)
	schema := s.strict[s.of[command]]
	if schema == nil {
		t.Fatalf("docs/json.md has no schema of %s", command)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%s: %v\n%s", command, err, text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.docs[command] = append(s.docs[command], doc)
	walk(schema, doc, func(at *jsonschema.Schema, v any) {
		s.seen[sight{part: at}] = true
		if at.Enum != nil {
			s.seen[sight{part: at, value: v}] = true
		}
		if object, ok := v.(map[string]any); ok {
			for name, member := range at.Properties {
				if _, ok := object[name]; !ok {
					s.seen[sight{part: member, not: true}] = true
				}
			}
		}
	})
	return doc
}

// walk calls f for each part of a document with the schema that describes it.
func walk(s *jsonschema.Schema, doc any, f func(at *jsonschema.Schema, v any)) {
	f(s, doc)
	if s.Ref != nil {
		walk(s.Ref, doc, f)
	}
	switch doc := doc.(type) {
	case map[string]any:
		others, _ := s.AdditionalProperties.(*jsonschema.Schema)
		for name, v := range doc {
			if member := s.Properties[name]; member != nil {
				walk(member, v, f)
			} else if others != nil {
				walk(others, v, f)
			}
		}
	case []any:
		for _, v := range doc {
			if s.Items2020 != nil {
				walk(s.Items2020, v, f)
			}
		}
	}
}

// parts returns the schemas of the parts of a document.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Collect(maps.Values(s.Properties))
	others, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for _, p := range []*jsonschema.Schema{s.Ref, s.Items2020, others} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// complete checks that real output had all parts of a schema and all values of its enumerations, and that each optional
// member was absent somewhere.
func (s *schemas) complete(t *testing.T, at *jsonschema.Schema) {
	t.Helper()
	if !s.seen[sight{part: at}] {
		t.Errorf("%s is in no output", at.Location)
		return
	}
	if at.Enum != nil {
		for _, v := range at.Enum.Values {
			if !s.seen[sight{part: at, value: v}] {
				t.Errorf("%s has in no output the value %v", at.Location, v)
			}
		}
	}
	for name, member := range at.Properties {
		if !slices.Contains(at.Required, name) && !s.seen[sight{part: member, not: true}] {
			t.Errorf("%s is in every output, and not required", member.Location)
		}
	}
	for _, p := range parts(at) {
		s.complete(t, p)
	}
}

// refuses checks that a schema refuses its documents if any one thing is wrong, and that only the strict one refuses a
// new member. It tries every possible error once.
func (s *schemas) refuses(t *testing.T, name string) {
	t.Helper()
	published, strict := s.published[name], s.strict[name]
	tried := map[sight]bool{}
	try := func(doc any, object map[string]any, f flaw) {
		this := sight{part: f.part, value: f.why}
		if tried[this] {
			return
		}
		tried[this] = true
		good, had := object[f.member]
		f.spoil(object)
		if strict.Validate(doc) == nil {
			t.Errorf("%s: with %s it passes", f.part.Location, f.why)
		}
		if passes := published.Validate(doc) == nil; passes != f.passes {
			t.Errorf("%s: with %s it passes is %v, want %v", f.part.Location, f.why, passes, f.passes)
		}
		delete(object, f.member)
		if had {
			object[f.member] = good
		}
	}
	for command, docs := range s.docs {
		if s.of[command] != name {
			continue
		}
		for _, doc := range docs {
			walk(published, doc, func(at *jsonschema.Schema, v any) {
				object, _ := v.(map[string]any)
				for _, f := range flaws(at, object) {
					try(doc, object, f)
				}
			})
		}
	}
	if len(tried) == 0 {
		t.Errorf("%s: nothing was tried", name)
	}
}

// flaw is a possible error of an object: an invalid value of a member, or a missing member.
type flaw struct {
	part    *jsonschema.Schema // the one that is violated
	member  string
	why     string
	value   any
	missing bool
	passes  bool // in the published schema
}

func (f flaw) spoil(object map[string]any) {
	object[f.member] = f.value
	if f.missing {
		delete(object, f.member)
	}
}

// flaws returns the possible errors of an object that at describes.
func flaws(at *jsonschema.Schema, object map[string]any) (all []flaw) {
	if at.Properties == nil {
		return nil // its members have free names
	}
	all = append(all, flaw{part: at, member: "new", why: "a new member", value: true, passes: true})
	for name, part := range at.Properties {
		good, ok := object[name]
		if !ok {
			continue
		}
		wrong := func(why string, value any) {
			all = append(all, flaw{part: part, member: name, why: why, value: value})
		}
		wrong("null", nil)
		if _, ok := good.(string); ok {
			wrong("another type", json.Number("7"))
		} else {
			wrong("another type", "seven")
		}
		if part.Enum != nil || part.Format != nil {
			wrong("an unknown value", "some day")
		}
		if part.Minimum != nil {
			wrong("a negative number", json.Number("-1"))
		}
		if slices.Contains(at.Required, name) {
			all = append(all, flaw{part: part, member: name, why: "none of it", missing: true})
		}
	}
	return all
}

// TestSchemasDescribe: every schema has a title and belongs to a command, every member has a description and a type.
func TestSchemasDescribe(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	var described func(at *jsonschema.Schema)
	described = func(at *jsonschema.Schema) {
		for name, member := range at.Properties {
			if member.Description == "" {
				t.Errorf("%s: %s has no description", at.Location, name)
			}
			if member.Types == nil && member.Enum == nil && member.Ref == nil {
				t.Errorf("%s: %s has no type", at.Location, name)
			}
		}
		if at.AdditionalProperties == false {
			t.Errorf("%s refuses members that may be added", at.Location)
		}
		for _, p := range parts(at) {
			described(p)
		}
	}
	used := slices.Collect(maps.Values(s.of))
	for name, schema := range s.published {
		if schema.Title == "" {
			t.Errorf("docs/schema/%s.schema.json has no title", name)
		}
		if !strings.Contains(read(t, "docs/schema/"+name+".schema.json"), `"$schema": "https://json-schema.org/draft/2020-12/schema"`) {
			t.Errorf("docs/schema/%s.schema.json does not say that it is of draft 2020-12", name)
		}
		if !slices.Contains(used, name) {
			t.Errorf("docs/json.md does not say which command prints docs/schema/%s.schema.json", name)
		}
		described(schema)
	}
}

// TestReportPage compares docs/report.md and the classes of errors with the schema of the report.
func TestReportPage(t *testing.T) {
	t.Parallel()
	schema, page := loadSchemas(t).published["report"], read(t, "docs/report.md")
	var documented func(at *jsonschema.Schema)
	documented = func(at *jsonschema.Schema) {
		for name := range at.Properties {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/report.md does not explain %s", name)
			}
		}
		for _, p := range parts(at) {
			documented(p)
		}
	}
	documented(schema)
	var classes []string
	for _, class := range schema.Properties["errors"].PropertyNames.Ref.AnyOf[0].Enum.Values {
		classes = append(classes, class.(string))
	}
	if !slices.Equal(classes, targets.Classes()) {
		t.Errorf("the classes of errors are %v, in the schema %v", targets.Classes(), classes)
	}
	for _, class := range classes {
		if !strings.Contains(page, "`"+class+"`") {
			t.Errorf("docs/report.md does not explain the class %s", class)
		}
	}
}

// TestSamplesSchema: the schema of samples describes each member that samples can have.
func TestSamplesSchema(t *testing.T) {
	t.Parallel()
	if err := loadSchemas(t).strict["samples"].Validate(parse(t, read(t, "report/samples/show/testdata/samples.json"))); err != nil {
		t.Error(err)
	}
}
