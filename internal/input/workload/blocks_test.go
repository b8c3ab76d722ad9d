package workload

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets/program"
)

// inFlow is a file with a condition in quotes, which begins at 5:12.
func inFlow(condition string) string {
	return "base: http://a\nflows:\n  f:\n    - one: {get: /, take: {state: json s, total: json t}}\n" +
		"    - if: '" + strings.ReplaceAll(condition, "'", "''") + "'\n      steps: [two: {get: /}]\n"
}

// TestBadExpressions asserts that each error of an expression names the line and the column of the very character. Each line of
// the file is a wrong condition, and behind a tab the column and what is said of it.
func TestBadExpressions(t *testing.T) {
	file, err := os.ReadFile("testdata/bad_expressions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	if len(bad) < 60 {
		t.Errorf("only %d expressions", len(bad))
	}
	for _, line := range bad {
		condition, want, _ := strings.Cut(line, "\t")
		_, err := YAML("t", []byte(inFlow(condition)))
		if err == nil || want == "" || !strings.HasPrefix(err.Error(), "t:5:"+want) || !lineOf.MatchString(err.Error()) || len(err.Error()) > 300 {
			t.Errorf("%s:\n%v, want\nt:5:%s", condition, err, want)
		}
	}
}

// TestPlacesOfExpressions asserts that a place is right in each style of YAML: the problem is the number 7 alone.
func TestPlacesOfExpressions(t *testing.T) {
	const head = "base: http://a\nflows:\n  f:\n    - one: {get: /, take: {state: json s}}\n"
	for _, text := range []string{
		"    - while: ${state} == \"ä\" && 7\n      steps: [two: {get: /}]",
		"    - while: \"${state} == \\\"\\u00e4\\\" && 7\"\n      steps: [two: {get: /}]",
		"    - while: '${state} == ''ä'' && 7'\n      steps: [two: {get: /}]",
		"    - while: |\n        ${state} == \"a\" &&\n          7\n      steps: [two: {get: /}]",
		"    - while: >-\n        ${state}\n        == \"a\" && 7\n      steps: [two: {get: /}]",
		"    - while: ${state} ==\n        \"a\" && 7\n      steps: [two: {get: /}]",
		"    - while: \"${state} == \\\n        'a' && 7\"\n      steps: [two: {get: /}]",
		"    - {while: 'true && 7', steps: [two: {get: /}]}",
		"    - two: {get: /, while: 'true && 7'}",
		"    - set: {a: 1, b: \"${state} == 'x' ? true : 7\"}\n    - two: {get: /}",
		"    - two:\n        get: /\n        if: true && 7",
	} {
		content := []byte(head + text + "\n")
		line, column := place(content, bytes.IndexByte(content, '7'))
		want := fmt.Sprintf("t:%d:%d: ", line, column)
		if _, err := YAML("t", content); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
	json := `{"base": "http://a", "flows": {"f": [{"one": {"get": "/"}}, {"if": "true && \u0037", "steps": [{"two": {"get": "/"}}]}]}}`
	if _, err := YAML("t", []byte(json)); err == nil || !strings.HasPrefix(err.Error(), "t:1:77: ") {
		t.Error(err)
	}
}

// TestBlocks asserts which blocks each key makes.
func TestBlocks(t *testing.T) {
	w, err := YAML("t", []byte(`
base: http://a
flows:
  f:
    - create: {post: /jobs, take: {job: json id, state: json state, ids: json ids}}
    - set: {n: 1, text: '"a"'}
    - poll: {get: "/jobs/${job}", if: "${n} == 1", while: '${state} == "running" && ${loop} < 20', after: exp 500ms, take: {state: json state}}
    - if: ${state} == "done"
      steps:
        - result: {get: /result}
        - pause: uniform 1s..2s
      else:
        - fail: not done
    - for_each: id in ${ids}
      steps:
        - item: {get: "/items/${id}", repeat: 2}
`))
	if err != nil {
		t.Fatal(err)
	}
	type blocks = []*program.Block
	want := blocks{
		{},
		{Set: []program.Set{{Name: "n", To: "1"}, {Name: "text", To: `"a"`}}},
		{If: "${n} == 1", Then: blocks{{While: `${state} == "running" && ${loop} < 20`, Then: blocks{{Step: 1}}}}},
		{If: `${state} == "done"`, Then: blocks{{Step: 2}, {Pause: "uniform 1s..2s"}}, Else: blocks{{Fail: "not done"}}},
		{ForEach: &program.Each{Name: "id", List: "ids"}, Then: blocks{{Repeat: 2, Then: blocks{{Step: 3}}}}},
	}
	f := w.Flows[0]
	if !reflect.DeepEqual(f.Body, want) || f.Least != 2 || f.Most != 1000 || len(f.Steps) != 4 {
		t.Errorf("%d to %d requests, %d steps", f.Least, f.Most, len(f.Steps))
	}
	if s := f.Steps[1]; s.Pause != "exp 500ms" || s.After == nil || *s.After != 500*time.Millisecond {
		t.Errorf("%+v", s)
	}
	if w, err = YAML("t", []byte(flow("[a: {get: /}, b: {get: /}]"))); err != nil || w.Flows[0].Body != nil {
		t.Errorf("steps that follow each other: %+v, %v", w, err)
	}
	known := f.Known()
	if last := known[3]; !reflect.DeepEqual(last, []string{"job", "state", "ids", "n", "text", "id"}) {
		t.Errorf("%q", known)
	}
}

// TestBadBlocks asserts the errors of entries that are no steps.
func TestBadBlocks(t *testing.T) {
	entry := func(text string) string { return flow("[a: {get: /, take: {x: json x}}, " + text + "]") }
	deep := "b: {get: /}"
	for range program.MaxDepth + 1 {
		deep = "{repeat: 2, steps: [" + deep + "]}"
	}
	for text, want := range map[string]string{
		flow("[{if: true, steps: [a: {get: /}]}]"):                "t:2:14: a flow begins with a request",
		flow("[{set: {a: 1}}, a: {get: /}]"):                      "t:2:14: a flow begins with a request",
		flow("[a: {get: /, if: 'true'}]"):                         "t:2:13: a flow begins with a request",
		flow("[{repeat: 2, steps: [{fail: x}]}]"):                 "t:2:34: a flow begins with a request",
		entry("{if: 1 < 2}"):                                      "t:2:46: has no steps",
		entry("{if: 1 < 2, steps: []}"):                           "t:2:64: is no list of steps",
		entry("{if: 1 < 2, then: [b: {get: /}]}"):                 `t:2:57: there is no key "then"`,
		entry("{while: true, else: [b: {get: /}]}"):               `t:2:59: there is no key "else"`,
		entry("{repeat: 0, steps: [b: {get: /}]}"):                "t:2:54: repeat takes a whole number",
		entry("{repeat: x, steps: [b: {get: /}]}"):                "t:2:54: repeat takes a whole number",
		entry("{for_each: x, steps: [b: {get: /}]}"):              "t:2:56: is not NAME in ${LIST}",
		entry(`{for_each: "y in  ${z}", steps: [b: {get: /}]}`):   "t:2:63: ${z} is not taken",
		entry(`{for_each: "uuid in ${x}", steps: [b: {get: /}]}`): "t:2:56: ${uuid} has a meaning",
		entry("{fail: ''}"):                                       "t:2:52: fail is empty",
		entry("{fail: " + strings.Repeat("x", 60) + "}"):          "t:2:52: the reason has 1 to 59",
		entry("{pause: soon}"):                                    `t:2:53: "soon" is no time`,
		entry("{pause: gauss 1s}"):                                "t:2:53: there is no pause",
		entry("{set: 1}"):                                         "t:2:51: is no map",
		entry("{set: {a b: 1}}"):                                  "t:2:52: a name has letters",
		entry("{set: {a: [1]}}"):                                  "t:2:55: is no text",
		entry("{set: {now: 1}}"):                                  "t:2:52: ${now} has a meaning",
		entry("b: {get: /, after: exp x}"):                        `t:2:64: "x" is no time`,
		entry("b: {get: /, at: 1s, repeat: 2}"):                   "t:2:61: a step in a loop has no time",
		entry("{repeat: 2, steps: [b: {get: /, at: 1s}]}"):        "t:2:81: a step in a loop has no time",
		entry("b: {get: /, repeat: 2, while: true}"):              "t:2:65: there is while already",
		entry("{b: {get: /}, if: true}"):                          "t:2:59: stands beside the name of a step",
		entry("if: {get: /}"):                                     "t:2:49: is no text; write if: ",
		entry(deep):                                               "t:2:224: blocks are nested deeper than 8",
	} {
		_, err := YAML("t", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || !lineOf.MatchString(err.Error()) {
			t.Errorf("%s:\n%v, want\n%s", text, err, want)
		}
	}
}
