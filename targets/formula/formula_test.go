package formula

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// scope has the variables of the tests: two that are taken, one that is not for sure, a column, and a loop.
func scope() Scope {
	return Scope{Taken: []string{"state", "total", Unsure + "later", "empty"}, Loop: true, Columns: func(name string) (int, error) {
		if name != "users.age" {
			return 0, errors.New("the file has no such column; use one of ${users.age}")
		}
		return 0, nil
	}}
}

func values() *Values {
	return &Values{Taken: []string{"running", "104.50", "", ""}, Cell: func(int) string { return "37" }, Status: 404, Ordinal: 12, Loop: 3, Elapsed: 1_500_000_000}
}

// TestValue asserts what expressions give.
func TestValue(t *testing.T) {
	for text, want := range map[string]string{
		`${state} == "running" && ${loop} < 20`:      "true",
		`${total} > 100`:                             "true",
		`${total} == 104.5`:                          "true",
		`${total} == "104.5"`:                        "false", // both are texts
		`104.50 == ${total}`:                         "true",
		`${total} + ${users.age}`:                    "141.5",
		`${users.age} < ${total}`:                    "true", // as numbers
		`-${total} * 2`:                              "-209",
		`7 / 2`:                                      "3.5",
		`${ordinal} % 10`:                            "2",
		`-7 % 3`:                                     "-1",
		`${status} == 404 ? "gone" : ${state}`:       "gone",
		`${status} in [200, 404]`:                    "true",
		`${state} in ["queued", "done"]`:             "false",
		`${state} not in ["queued", "done"]`:         "true",
		`${state} contains "unn"`:                    "true",
		`${state} startsWith 'run'`:                  "true",
		`${total} endsWith "50"`:                     "true",
		"${state} == `running`":                      "true",
		`"a\"b" == 'a"b'`:                            "true",
		`!(${state} == "done") and true`:             "true",
		`${state} == true`:                           "false",
		`(${loop} == 3) == true`:                     "true",
		`${elapsed} >= 1500`:                         "true",
		`${empty} != "" && ${empty} > 1`:             "false", // the second part is not computed
		`${empty} == "" || ${empty} > 1`:             "true",
		`1e300 * 1000`:                               "1" + strings.Repeat("0", 303),
		`${loop} + 1`:                                "4",
		`2 ** 3 == 8 or 1 == 1`:                      "",
		`"größe" == "größe" && ${loop} == 3`:         "true",
		`1 < ${loop} && ${loop} < 5 /* a comment */`: "true",
	} {
		f, err := Parse(text, scope())
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if got, err := f.Value(values()); err != nil || !same(got, want) {
			t.Errorf("%s gives %q, %v, want %q", text, got, err, want)
		}
	}
}

// same compares numbers as numbers: a float has no exact 10³⁰³.
func same(got, want string) bool {
	return got == want || len(got) > 300 && len(got) == len(want)
}

// TestValueFails asserts that an expression which cannot be computed says why.
func TestValueFails(t *testing.T) {
	for text, want := range map[string]error{
		`${state} > 1`:              ErrNumber,
		`${empty} + 1`:              ErrNumber,
		`${state} == 1`:             ErrNumber,
		`1 / ${loop} / (3-${loop})`: ErrDivision,
		`${loop} % 0`:               ErrDivision,
		`${loop} * 1e308`:           ErrRange,
		`${state} < 1 || true`:      ErrNumber,
	} {
		f, err := Parse(text, scope())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := f.Value(values()); !errors.Is(err, want) {
			t.Errorf("%s gives %q, %v, want %v", text, got, err, want)
		}
	}
}

// TestNumbersAreThoseOfJSON asserts which texts are numbers.
func TestNumbersAreThoseOfJSON(t *testing.T) {
	f, err := Parse(`${total} + 0`, scope())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"0": "0", "-0.5": "-0.5", "1e3": "1000", "12": "12", "10": "10", "": "", " 1": "", "01": "", "+1": "",
		"0x10": "", "inf": "", "NaN": "", "1_0": "", "1.": "", ".5": "", "1e999": "", "ä": "", "-": "", "-01": ""} {
		v := values()
		v.Taken[1] = text
		if got, err := f.Value(v); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q gives %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestFormula asserts what is known of an expression before it is computed.
func TestFormula(t *testing.T) {
	for _, c := range []struct {
		text     string
		kind     Kind
		constant bool
		most     int
	}{
		{`${state} == "a" && ${loop} < 20`, Truth, false, 20},
		{`${loop} <= 20 && ${state} == "a" && ${loop} < 9`, Truth, false, 9},
		{`${loop} < 20 || ${state} == "a"`, Truth, false, -1},
		{`${loop} < ${total}`, Truth, false, -1},
		{`${loop} <= 9223372036854775807`, Truth, false, math.MaxInt32 + 1},
		{`1 < 2`, Truth, true, -1},
		{`"a"`, Text, true, -1},
		{`1 + 2`, Number, true, -1},
		{`${state}`, Text, false, -1},
		{`${state} == "a" ? 1 : 2`, Number, false, -1},
	} {
		f, err := Parse(c.text, scope())
		if err != nil || f.Kind() != c.kind || f.Constant() != c.constant || f.MostLoops() != c.most {
			t.Errorf("%s: %+v, %v", c.text, f, err)
		}
	}
}

// TestNested asserts that nested expressions of the largest size are computed at once: each part is, once.
func TestNested(t *testing.T) {
	for name, nest := range map[string]func(string) string{
		"choices": func(in string) string { return "(" + in + "?false:true)" },
		"lists":   func(in string) string { return "(" + in + ` in ["a","b","c","d"])` },
		"signs":   func(in string) string { return "!(" + in + ")" },
	} {
		text := `${state} == "x"`
		for {
			next := nest(text)
			if _, err := Parse(next, scope()); err != nil {
				break
			}
			text = next
		}
		f, err := Parse(text, scope())
		if err != nil || len(text) < 400 {
			t.Fatalf("%s: %d bytes: %v", name, len(text), err)
		}
		if _, err := f.Truth(values()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	chain := "2"
	for range 20 {
		chain = "(1 < " + chain + " < 3 ? 1 : 2)"
	}
	if _, err := Parse(chain+" == 1", scope()); err == nil || !strings.Contains(err.Error(), "comparisons do not follow each other") {
		t.Errorf("a chain of comparisons: %v", err)
	}
}

// FuzzParse asserts that no text makes Parse or a formula panic, and that an error lies in the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`${a} == 1`, `"`, `${`, `1 ? 2 : 3`, `[1,2]`, `a.b.c()`, `-${state}%0`, "`${`", `#`, `let a = 1; a`, `$env`, `{"a": 1}`, `1..2`, `!`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		formula, err := Parse(text, scope())
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Offset < 0 || e.Offset > len([]rune(text)) || strings.ContainsAny(e.Error(), "\n") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		got, err := formula.Value(values())
		if err == nil && formula.Kind() == Number && math.IsNaN(values().number(got)) {
			t.Fatalf("%q gives %q", text, got)
		}
	})
}

// BenchmarkTruth measures an expression of three comparisons.
func BenchmarkTruth(b *testing.B) {
	f, err := Parse(`${state} == "running" && ${loop} < 20 && ${total} > 100`, scope())
	if err != nil {
		b.Fatal(err)
	}
	v := values()
	b.ReportAllocs()
	for b.Loop() {
		v.Loop = (v.Loop + 1) % 20
		if is, err := f.Truth(v); err != nil || !is {
			b.Fatal(is, err)
		}
	}
}
