package doctest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/internal/input/workload"
)

// workloadSchema returns the schema of workload files.
func workloadSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return compile(t, []string{input}, func(any) {})["workload"]
}

// plain returns what a YAML text holds, as a JSON parser would.
func plain(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// goodWorkloads returns workload files that the project shows or tests, by name.
func goodWorkloads(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range []string{"internal/input/workload/testdata", "internal/input/importer/testdata", "examples/*"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
		if err != nil || len(files) < 3 {
			t.Fatal(folder, files, err)
		}
		for _, file := range files {
			name, _ := filepath.Rel(root, file)
			if folder != "examples/*" || filepath.Base(file) == "workload.yaml" { // others are for Kubernetes
				all[name] = read(t, name)
			}
		}
	}
	for i, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "docs/workloads.md"), -1) {
		all[fmt.Sprint("docs/workloads.md ", i)] = m[1]
	}
	return all
}

// TestWorkloadSchema: the schema allows what the parser reads, and both refuse the same keys.
func TestWorkloadSchema(t *testing.T) {
	t.Parallel()
	schema := workloadSchema(t)
	shown := 0
	for name, text := range goodWorkloads(t) {
		if strings.HasPrefix(name, "docs/") {
			shown++
		}
		if err := schema.Validate(plain(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := workload.YAML(name, []byte(text)); err != nil {
			t.Error(err)
		}
	}
	if shown == 0 {
		t.Error("docs/workloads.md shows no workload")
	}
	const step = "flows: {f: [s: {get: 'http://a/', %s}]}"
	for _, text := range []string{
		"flows: {f: [s: {get: 'http://a/'}]}\nflow: {}",
		"flows: {f: [s: {get: 'http://a/'}]}\ndata: {u: {csv: a, pik: once}}",
		fmt.Sprintf(step, "gett: /"), fmt.Sprintf(step, "weight: 1"), fmt.Sprintf(step, "name: x"),
		// What is wrong in other ways, and a schema can find.
		"base: http://a", "flows: {}", "flows: {f: []}", "flows: {f: [s: {}]}", "flows: {f: [{s: {get: 'http://a/'}, t: {get: 'http://a/'}}]}",
		"flows: {f: [s: {get: 'http://a/'}, {if: '1 < 2'}]}", "flows: {f: [s: {get: 'http://a/'}, {fail: x, pause: 1s}]}", "flows: {f: [s: {get: 'http://a/'}, {repeat: 0, steps: [t: {get: 'http://a/'}]}]}",
		"flows: {f: [s: {get: 'http://a/'}, {while: true, steps: [t: {get: 'http://a/'}], else: [u: {get: 'http://a/'}]}]}", "flows: {f: [s: {get: 'http://a/'}, {set: {}}]}", "flows: {f: [s: {get: 'http://a/'}, {steps: [t: {get: 'http://a/'}]}]}",
		fmt.Sprintf(step, "for_each: x"), "flows: {f: [s: {get: items}]}", "flows: {f: [s: {method: GET}]}", fmt.Sprintf(step, "url: 'http://a/'"), fmt.Sprintf(step, "post: 'http://a/'"), fmt.Sprintf(step, "method: GET"),
		fmt.Sprintf(step, "at: 0s, after: 0s"), fmt.Sprintf(step, "json: 1, body: x"), fmt.Sprintf(step, "form: {a: 1}, body: x"), fmt.Sprintf(step, "take: {a: b c}"),
		fmt.Sprintf(step, "check: {a: b}"), fmt.Sprintf(step, "header: [a]"), fmt.Sprintf(step, "expect: [200]"),
		"rate: 400\n" + fmt.Sprintf(step, "at: 0s"), "mix: {f: 0}\n" + fmt.Sprintf(step, "at: 0s"), "base: a\n" + fmt.Sprintf(step, "at: 0s"),
		"concurrency: 8\nrate: 5 flows/s\n" + fmt.Sprintf(step, "at: 0s"), "concurrency: 8\nstages: [1s:c=5]\n" + fmt.Sprintf(step, "at: 0s"), "concurrency: 0\n" + fmt.Sprintf(step, "at: 0s"),
		"concurrency: 8\nprofile: sine:mean=5,amplitude=1,period=1m\n" + fmt.Sprintf(step, "at: 0s"), "concurrency: 8\narrivals: poisson\n" + fmt.Sprintf(step, "at: 0s"),
		"stages: [1s:5]\nduration: 5s\n" + fmt.Sprintf(step, "at: 0s"), "rate: 5 flows/s\nprofile: sine:mean=5,amplitude=1,period=1m\n" + fmt.Sprintf(step, "at: 0s"),
		"stages: []\nprofile: sine:mean=5,amplitude=1,period=1m\n" + fmt.Sprintf(step, "at: 0s"), "arrivals: random\n" + fmt.Sprintf(step, "at: 0s"), "duration: 5\n" + fmt.Sprintf(step, "at: 0s"),
		"pick: any\n" + fmt.Sprintf(step, "at: 0s"), "data: {u: {}}\n" + fmt.Sprintf(step, "at: 0s"), "data: {u: {csv: a, tsv: b}}\n" + fmt.Sprintf(step, "at: 0s"), "data: {u: {csv: a, pick: x}}\n" + fmt.Sprintf(step, "at: 0s"),
	} {
		if schema.Validate(plain(t, text)) == nil {
			t.Errorf("the schema allows\n%s", text)
		}
		if _, err := workload.YAML("t", []byte(text)); err == nil {
			t.Errorf("the parser reads\n%s", text)
		}
	}
}

// TestWorkloadSchemaDescribes: every key of the schema has a description, and docs/workloads.md explains it.
func TestWorkloadSchemaDescribes(t *testing.T) {
	t.Parallel()
	schema, page := workloadSchema(t), read(t, "docs/workloads.md")
	step := schema.Properties["flows"].AdditionalProperties.(*jsonschema.Schema).Ref.Items2020.AdditionalProperties.(*jsonschema.Schema).Ref
	data := schema.Properties["data"].AdditionalProperties.(*jsonschema.Schema).Ref
	if schema.Title == "" {
		t.Error("the schema has no title")
	}
	for _, part := range []*jsonschema.Schema{schema, step, data} {
		if part.AdditionalProperties != false || len(part.Properties) == 0 {
			t.Errorf("%s allows unknown keys", part.Location)
		}
		for name, member := range part.Properties {
			if member.Description == "" {
				t.Errorf("%s has no description", member.Location)
			}
			if !strings.Contains(page, "`"+name) {
				t.Errorf("docs/workloads.md does not explain the key %s", name)
			}
		}
	}
}
