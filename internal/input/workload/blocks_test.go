package workload

import (
	"bytes"
	"fmt"
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

// badExpressions are wrong conditions, with the column of the problem and what is said of it.
func badExpressions() [][2]string {
	return [][2]string{
		{`${state}`, `12: this is a text, and a condition`},
		{`${total}`, `12: this is a text, and a condition`},
		{`1`, `12: this is a number, and a condition`},
		{`"a"`, `12: this is a text, and a condition`},
		{`${state} = "a"`, `21: "=" compares nothing; write ==`},
		{`${state} == `, `23: the expression ends too early; write what follows`},
		{`== "a"`, `12: "==" cannot stand here`},
		{`${state} "a"`, `21: "a" cannot stand here`},
		{`${state} ${total}`, `21: ${total} cannot stand here`},
		{`${stat} == "a"`, `12: ${stat}: there is no such value here; take or set it before,`},
		{`${} == "a"`, `12: is no name of a value; write ${NAME}, at most 99 of them`},
		{`${state == "a"`, `12: ${ without }; write ${NAME}`},
		{`state == "a"`, `12: "state" is no value; write "state" for a text, or ${state} for what has this name`},
		{`${state} == running`, `24: "running" is no value; write "running" for a text, or ${running} for what has this name`},
		{`loop < 3`, `12: "loop" is no value; write "loop" for a text, or ${loop} for what has this name`},
		{`${loop} < 3`, `12: ${loop} counts a loop, and there is none around; leave it out`},
		{`${state} == "a`, `26: the text has no end; write a quote behind it`},
		{`${state} == 'a`, `27: the text has no end; write a quote behind it`},
		{`${state} == "a\q"`, `27: invalid char escape`},
		{`(${state} == "a"`, `27: the expression ends too early; write what follows`},
		{`${state} == "a")`, `27: ")" cannot stand here`},
		{`${state} == "a" && `, `30: the expression ends too early; write what follows`},
		{`${state} == "a" & true`, `28: "&" cannot stand here`},
		{`${state} == "a" | true`, `33: the expression ends too early; write what follows`},
		{`${state} && true`, `12: this is a text, and a condition`},
		{`true && ${state}`, `20: this is a text, and a condition`},
		{`!${state}`, `13: this is a text, and a condition`},
		{`not 1`, `16: this is a number, and a condition`},
		{`${total} > true`, `23: this is true or false, and a number is needed here; compare numbers`},
		{`${total} > "abc"`, `23: the text "abc" is no number, and one is needed here; write the number, or compare texts with ==`},
		{`"abc" < 3`, `12: the text "abc" is no number, and one is needed here; write the number, or compare texts with ==`},
		{`1 == "x"`, `17: the text "x" is no number, and one is needed here; write the number, or compare texts with ==`},
		{`${total} == true > 1`, `21: this is true or false, and a number is needed here; compare numbers`},
		{`${state}.length == 3`, `21: a value has no parts; take the part under a name of its own`},
		{`${state}[0] == "a"`, `20: a value has no parts; take the part under a name of its own`},
		{`len(${state}) > 3`, `12: there are no functions; use operators, or take another part of the answer`},
		{`${state} | len() > 3`, `23: there are no functions; use operators, or take another part of the answer`},
		{`size(${state})`, `12: there are no functions; use operators, or take another part of the answer`},
		{`${state} matches "a.*"`, `21: there is no operator "matches"`},
		{`${total} ** 2 > 3`, `21: there is no operator "**"`},
		{`${total} ^ 2 > 3`, `21: there is no operator "^"`},
		{`1..3`, `13: there is no operator ".."`},
		{`${total} in 1..3`, `25: behind in stands a list; write ${NAME} in ["a", "b"]`},
		{`${total} in ${state}`, `24: behind in stands a list; write ${NAME} in ["a", "b"]`},
		{`[1, 2]`, `12: a list stands behind in alone; write ${NAME} in ["a", "b"]`},
		{`{"a": 1}`, `12: this does not belong into an expression`},
		{`nil == ${state}`, `12: this does not belong into an expression`},
		{`${state} ?? "a"`, `21: there is no operator "??"`},
		{`${state} ? 1 : 2`, `12: this is a text, and a condition`},
		{`true ? 1 : "a"`, `23: this is a text, and the other side of ?: is a number; make both the same`},
		{`true ? 1`, `19: the expression ends too early; write what follows`},
		{`${total} > 1 ? true`, `30: the expression ends too early; write what follows`},
		{`let a = 1; a == 1`, `16: this does not belong into an expression`},
		{`${total} > 1; true`, `21: this does not belong into an expression`},
		{`if ${total} > 1 { true } else { false }`, `15: ${total} cannot stand here`},
		{`${total} > 1 # 2 /* 3`, `25: "#" cannot stand here`},
		{`${state} == "${total}"`, `25: a text in quotes has no placeholders; write ${NAME} without quotes`},
		{`${users.age} > `, `26: the expression ends too early; write what follows`},
		{`${state} == "a" and and true`, `32: "and" cannot stand here`},
		{`${total} > 99999999999999999999999`, `23: 99999999999999999999999 is no number, or too large; write one of up to 1e308`},
		{`${total} > 1e999`, `23: 1e999 is no number, or too large; write one of up to 1e308`},
		{`1 / 0 == 1`, `18: division by zero in an expression without variables; write the value`},
		{`${total} > 0x`, `23: 0x is no number, or too large; write one of up to 1e308`},
		{`$env.a == 1`, `17: a value has no parts; take the part under a name of its own`},
		{`@ == 1`, `12: unrecognized character: U+0040 '@'`},
		{`${total} =! 3`, `21: "=" compares nothing; write ==`},
		{`${total} => 3`, `21: "=" compares nothing; write ==`},
		{`${total} <> 3`, `22: ">" cannot stand here`},
		{`${state} === "a"`, `23: "=" compares nothing; write ==`},
		{`${total} > 1,000`, `24: "," cannot stand here`},
		{`${total} > 1 && ${elapsed} < 5s`, `42: bad number syntax: "5s"`},
		{`${status} == OK`, `25: "OK" is no value; write "OK" for a text, or ${OK} for what has this name`},
		{`${total} + "x" > 1`, `23: the text "x" is no number, and one is needed here; write the number, or compare texts with ==`},
		{`-"a" > 1`, `13: the text "a" is no number, and one is needed here; write the number, or compare texts with ==`},
		{`true + 1 > 1`, `12: this is true or false, and a number is needed here; compare numbers`},
		{`filter([1], true)`, `12: there are no functions; use operators, or take another part of the answer`},
		{`#`, `12: "#" cannot stand here`},
		{`${ordinal} % 2`, `12: this is a number, and a condition`},
		{`${state} contains`, `28: the expression ends too early; write what follows`},
	}
}

// TestBadExpressions asserts that each error of an expression names the line and the column of the very character.
func TestBadExpressions(t *testing.T) {
	bad := badExpressions()
	if len(bad) < 60 {
		t.Errorf("only %d expressions", len(bad))
	}
	for _, c := range bad {
		_, err := YAML("t", []byte(inFlow(c[0])))
		if err == nil || !strings.HasPrefix(err.Error(), "t:5:"+c[1]) || !lineOf.MatchString(err.Error()) || len(err.Error()) > 300 {
			t.Errorf("%s:\n%v, want\nt:5:%s", c[0], err, c[1])
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
