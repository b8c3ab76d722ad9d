package template_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/template"
)

func request(n uint64) template.Request {
	return template.Request{Number: n, Time: 1_795_000_000_123_456_789, Worker: "w1", Seed: [2]uint64{5, 6}}
}

func fill(t *testing.T, text string, r template.Request) string {
	t.Helper()
	parsed, err := template.Parse(text, template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return string(parsed.Append([]byte("before "), r)[len("before "):])
}

func TestAppend(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain $ text {} $":         "plain $ text {} $",
		"${ordinal}":                "7",
		"a${ordinal}b${ ordinal }c": "a7b7c",
		"${ordinal}${worker}":       "7w1",
		"$${ordinal}":               "${ordinal}",
		"$$${ordinal}":              "$${ordinal}",
		"$${${ordinal}}":            "${7}",
		"${now}":                    "2026-11-18T11:06:40.123Z",
		"${unix}":                   "1795000000123",
		"${random 5 5}":             "5",
		"${random -5 -5}":           "-5",
	} {
		if got := fill(t, text, request(7)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a${":                                "${ without }",
		"a${ordinal":                         "${ without }",
		"${}":                                "is empty; use one of ${now}",
		"${users.name}":                      "${users.name}: there is no such placeholder; use one of ${now}",
		"${" + strings.Repeat("x", 99):       "${ without }",
		"${" + strings.Repeat("x", 99) + "}": "a placeholder: there",
		"${ordinal 5}":                       "takes no arguments; write ${ordinal}",
		"${uuid 4}":                          "takes no arguments; write ${uuid}",
		"${random}":                          "two numbers; write ${random MIN MAX}",
		"${random 1}":                        "two numbers",
		"${random 1 2 3}":                    "two numbers",
		"${random 2 1}":                      "the smaller one first",
		"${random 1 x}":                      "whole numbers",
		"${random 0 9007199254740992}":       "less than 2^53 apart",
		"${random -9223372036854775808 9223372036854775807}": "less than 2^53 apart",
	} {
		if _, err := template.Parse(text, template.Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestRandom: the numbers are spread evenly, and differ between requests, placeholders and texts.
func TestRandom(t *testing.T) {
	const n, sides = 60_000, 6
	var seen [sides + 1]int
	pairs := map[string]int{}
	for i := range uint64(n) {
		pair := fill(t, "${random 1 6} ${random 1 6}", request(i))
		first, err := strconv.Atoi(pair[:1])
		if err != nil {
			t.Fatal(err)
		}
		seen[first]++
		pairs[pair]++
	}
	// Standard deviations: √(n·p·(1−p)) = 91 and 40; five of them happen in one of 1.7 million tests.
	for side, k := range seen[1:] {
		if k < n/sides-5*91 || k > n/sides+5*91 {
			t.Errorf("%d: %d times of %d", side+1, k, n)
		}
	}
	for pair, k := range pairs {
		if k < n/36-5*40 || k > n/36+5*40 {
			t.Errorf("%s: %d times of %d", pair, k, n)
		}
	}
}

func TestUUID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for i := range uint64(10_000) {
		for u := range strings.FieldsSeq(fill(t, "${uuid} ${uuid}", request(i))) {
			if !form.MatchString(u) || seen[u] {
				t.Fatalf("%s, seen %v", u, seen[u])
			}
			seen[u] = true
		}
	}
	other := request(1)
	other.Seed[0]++
	later := request(1)
	later.Time++
	for _, r := range []template.Request{other, later} {
		if u := fill(t, "${uuid}", r); seen[u] {
			t.Errorf("%s again", u)
		}
	}
	salted, err := template.Parse("${uuid}", template.Options{Salt: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := request(1)
	if u := string(salted.Append(nil, r)); seen[u] || u != string(salted.Append(nil, r)) {
		t.Errorf("%s: seen %v", u, seen[u])
	}
}

func TestThen(t *testing.T) {
	var all template.Text
	want := ""
	for _, text := range []string{"", "a", "${ordinal}", "b", "c${ordinal}", "", "${ordinal}d"} {
		next, err := template.Parse(text, template.Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := all
		all = before.Then(next)
		if r := request(3); string(before.Append(nil, r)) != want {
			t.Errorf("it changed what it was added to: %q", before.Append(nil, r))
		}
		want += strings.ReplaceAll(text, "${ordinal}", "3")
		if r := request(3); string(all.Append(nil, r)) != want {
			t.Errorf("%q, want %q", all.Append(nil, r), want)
		}
	}
	if !all.Varies() || template.Literal("${ordinal}").Then(template.Literal("a")).Varies() {
		t.Error("only a text with places varies")
	}
}

// TestAppendAllocatesNothing: filling is part of sending.
func TestAppendAllocatesNothing(t *testing.T) {
	text, err := template.Parse("a ${ordinal} ${uuid} ${random 1 100} ${now} ${unix} ${worker}", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, r := make([]byte, 0, 200), request(1)
	if n := testing.AllocsPerRun(100, func() { b = text.Append(b[:0], r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParse: a text without ${ is itself; what is filled is the same each time.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "${ordinal}", "$${", "${random 1 2}${uuid}", "${", "}${x}", "$$$${now}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := template.Parse(s, template.Options{})
		if err != nil {
			return
		}
		r := request(1)
		got := string(text.Append(nil, r))
		if got != string(text.Append(nil, r)) {
			t.Errorf("%q is filled in two ways", s)
		}
		if !strings.Contains(s, "${") && (got != s || text.Varies()) {
			t.Errorf("%q became %q", s, got)
		}
		if escaped := strings.ReplaceAll(s, "${", "$${"); !strings.Contains(s, "$$") {
			back, err := template.Parse(escaped, template.Options{})
			if err != nil || string(back.Append(nil, r)) != s {
				t.Errorf("%q became %q, %v", escaped, back.Append(nil, r), err)
			}
		}
	})
}
