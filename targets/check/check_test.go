package check_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets/check"
)

// answer is an Answer with a header.
type answer struct {
	status int
	body   string
	header [2]string
}

func (a answer) Status() int     { return a.status }
func (a answer) Content() []byte { return []byte(a.body) }
func (a answer) Length() int64   { return int64(len(a.body)) }
func (a answer) Field(name string) []string {
	if strings.EqualFold(name, a.header[0]) {
		return []string{a.header[1]}
	}
	return nil
}

func TestChecks(t *testing.T) {
	good := answer{200, `{"ok": true, "user": {"id": 7, "names": ["Ann", "B \"o"]}, "empty": "", "price": 1.50, "@type": "x"}`, [2]string{"Content-Type", "application/json"}}
	for text, want := range map[string]bool{
		"status 200":                             true,
		"status 201, 204":                        false,
		"status 201,200-204":                     true,
		`body has "ok"`:                          true,
		"body has ok":                            true,
		`body has "B \\\"o"`:                     true,
		`body has nothing`:                       false,
		"body matches /\"id\": [0-9]/":           true,
		"body matches /^x/":                      false,
		"json user.id = 7":                       true,
		`json user.id = "7"`:                     true,
		"json user.id = 8":                       false,
		`json user.names.1 = "B \"o"`:            true,
		"json user.names.# = 2":                  true,
		"json ok = true":                         true,
		"json price = 1.50":                      true,
		"json price = 1.5":                       true,
		`json \@type = x`:                        true,
		`json empty = ""`:                        true,
		`json missing = ""`:                      false,
		"header content-type = application/json": true,
		"header Content-Type = text/html":        false,
		"header X = 1":                           false,
		"size < 1kB":                             true,
		"size < 10B":                             false,
		"size > 0B":                              true,
		"size > 1KiB":                            false,
		"time < 200ms":                           true,
		"time < 100ms":                           false,
	} {
		l, err := check.Parse([]string{"status 100-999", text})
		if err != nil {
			t.Fatal(err)
		}
		class := ""
		if !want {
			class = "check " + text
		}
		if got := l.Failed(good, 150*time.Millisecond); got != class {
			t.Errorf("%s: %q, want %q", text, got, class)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "there is no such check; write status",
		"stats 200":              "there is no such check; write status",
		"status":                 "statuses are numbers from 100 to 999, or names of gRPC such as OK; write status 200,201",
		"status 99":              "from 100 to 999",
		"status 300-200":         "from 100 to 999",
		"body":                   `it is not complete or not right; write body has "TEXT" or body matches /REGEX/`,
		`body has ""`:            "it is not complete",
		"body matches x":         "it is not complete",
		"body matches /(/":       "missing closing )",
		"json a":                 "write json PATH = VALUE",
		"json  = 1":              "write json PATH = VALUE",
		"json @dig:a = 1":        "write json PATH = VALUE",
		"json a.@this = 1":       "a path without @",
		"json $.a = 1":           "without $ and brackets",
		"json a[0].b = 1":        "without $ and brackets",
		`body has "x`:            "it is not complete or not right",
		"body has ${ordinal}":    "has no placeholders",
		"json [a,@dig:b] = 1":    "a path without @",
		"header X : = 1":         "write header NAME = VALUE",
		"header X: 1":            "write header NAME = VALUE",
		"size 10kB":              "write size < 10kB",
		"size < 10":              "a whole number with B, kB",
		"size < -1B":             "a whole number with B, kB",
		"time 200ms":             "write time < 200ms",
		"time < 0s":              "a number with ms or s",
		"body has \x1b":          "printable characters",
		strings.Repeat("x", 201): "at most 200",
	} {
		if _, err := check.Parse([]string{text}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, body := range []string{`<html>{"a": 1}`, `{"a": 1`, `{"a": 1}x`, ""} {
		l, err := check.Parse([]string{"json a = 1"})
		if err != nil || l.Failed(answer{status: 200, body: body}, 0) == "" {
			t.Errorf("%q passes as JSON: %v", body, err)
		}
	}
	if _, err := check.Parse([]string{"status 200", "status 200 "}); err == nil || !strings.Contains(err.Error(), "is given twice") {
		t.Error(err)
	}
	if _, err := check.Parse(make([]string, 17)); err == nil || !strings.Contains(err.Error(), "at most 16") {
		t.Error(err)
	}
}

// TestClass: a long check has a class of its own, which a report can hold.
func TestClass(t *testing.T) {
	long := "body has " + strings.Repeat("ü", 60)
	l, err := check.Parse([]string{"size < 1B", long + "1", long + "2"})
	if err != nil {
		t.Fatal(err)
	}
	first, second := l.Failed(answer{}, 0), l[2:].Failed(answer{}, 0)
	if len(first) > 64 || len(second) > 64 || first == second || !strings.HasPrefix(first, "check body has üüü") || !strings.HasSuffix(first, "… (2)") || !utf8.ValidString(first) {
		t.Errorf("%q, %q", first, second)
	}
}

// TestNeeds: only what checks read is kept.
func TestNeeds(t *testing.T) {
	for text, want := range map[string][3]bool{ // body, headers, statuses
		"status 200": {false, false, true}, "time < 1s": {}, "size < 1kB": {}, "body has x": {true, false, false}, "json a = 1": {true, false, false}, "header A = b": {false, true, false},
	} {
		l, err := check.Parse([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{l.Content() > 0, l.Fields(), l.Statuses()}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestHostileAnswers: deep JSON, and patterns that take exponential time elsewhere, come to an end.
func TestHostileAnswers(t *testing.T) {
	l, err := check.Parse([]string{"json a.b.c = 1", `body matches /^(([a-z])+.)+[A-Z]([a-z])+$/`, "json #(a=1)#.b = 1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		strings.Repeat("[", check.Most), strings.Repeat(`{"a":`, check.Most/5), strings.Repeat("a", check.Most), `{"a":{"b":` + strings.Repeat("[", check.Most-20),
		strings.Repeat(`\`, check.Most), `"` + strings.Repeat(`\"`, check.Most/2-1),
	} {
		for _, c := range l {
			if (check.List{c}).Failed(answer{status: 200, body: body}, 0) == "" {
				t.Errorf("%.20s… passes", body)
			}
		}
	}
}

// TestCheckAllocatesNothing: checks are part of receiving. A regular expression and a text of JSON may allocate.
func TestCheckAllocatesNothing(t *testing.T) {
	l, err := check.Parse([]string{"status 200", "size < 1kB", "time < 1s"})
	if err != nil {
		t.Fatal(err)
	}
	var a check.Answer = &answer{status: 200}
	if n := testing.AllocsPerRun(100, func() { l.Failed(a, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParse: an error is one line, and a check can look at any answer.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"status 200", `body has "a"`, "json a = 1", "body matches /a*/", "size < 1kB", "time < 1s", "header A = b"} {
		f.Add(s, `{"a": 1}`)
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		l, err := check.Parse([]string{text})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		l.Failed(answer{200, body, [2]string{"A", body}}, time.Second)
	})
}
