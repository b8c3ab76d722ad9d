package resp

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/targets/template"
)

func TestSplitCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"GET a":                          {"GET", "a"},
		"  GET\t a \n":                   {"GET", "a"},
		`SET "a b" 'c d'`:                {"SET", "a b", "c d"},
		`SET "" ''`:                      {"SET", "", ""},
		`SET "\x41\n\t\"\\\q" '\''`:      {"SET", "A\n\t\"\\q", "'"},
		`SET a"b c`:                      {"SET", `a"b`, "c"},
		"GET u:${ordinal}:${random 3 3}": {"GET", "u:7:3"},
		"GET ${ordinal}":                 {"GET", "7"},
		`GET "x ${ordinal} y"`:           {"GET", "x 7 y"},
		"GET $${x}":                      {"GET", "${x}"},
		"":                               nil,
	} {
		text, err := template.Parse(line, template.Options{})
		if err != nil {
			t.Fatal(err)
		}
		arguments, err := Split(text)
		var got []string
		for _, a := range arguments {
			got = append(got, string(a.Append(nil, template.Request{Number: 7})))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
}
