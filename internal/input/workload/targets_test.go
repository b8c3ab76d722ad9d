package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// file writes a file beside others, and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTargetsOfLines(t *testing.T) {
	path := file(t, "targets.txt", "")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "cart.json"), []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Targets(path, []byte("\ufeff# the shop\n"+`GET http://shop.test/items?page=1 weight=80 name=browse all
Accept: text/plain
# not a header
X-Two: a: b

post http://shop.test/cart weight=20
@cart.json
http://shop.test
DELETE http://shop.test/${ordinal}/x,y
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{
		{targets.Step{Name: "browse all", Method: "GET", URL: "http://shop.test/items?page=1",
			Headers: []targets.Header{{Name: "Accept", Value: "text/plain"}, {Name: "X-Two", Value: "a: b"}}}, 80, 2},
		{targets.Step{Name: "post /cart", Method: "post", URL: "http://shop.test/cart", Body: []byte(`{"a": 1}`)}, 20, 7},
		{targets.Step{Name: "GET /", URL: "http://shop.test"}, 0, 9},
		{targets.Step{Name: "DELETE /*/x_y", Method: "DELETE", URL: "http://shop.test/${ordinal}/x,y"}, 0, 10},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

func TestTargetsOfJSON(t *testing.T) {
	got, err := Targets("t.json", []byte(`{"method": "POST", "url": "http://a.test/x", "body": "aGk=", "header": {"B": ["2", "3"], "A": "1"}, "weight": 3}

{"url": "http://b.test/${users.name}?q", "name": "b"}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{
		{targets.Step{Name: "POST a.test/x", Method: "POST", URL: "http://a.test/x", Body: []byte("hi"),
			Headers: []targets.Header{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "B", Value: "3"}}}, 3, 1},
		{targets.Step{Name: "b", URL: "http://b.test/${users.name}?q"}, 0, 3},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// Each error is one line with file and line, and says what to do.
func TestBadTargets(t *testing.T) {
	many := strings.Repeat("http://a/\n", targets.MaxFlows+1)
	for text, want := range map[string]string{
		"":                                            "t: holds no target",
		"# only this":                                 "t: holds no target",
		"\x00":                                        "t: holds a zero byte",
		"hello":                                       `t:1: "hello" begins no target`,
		"\n\nGET /path":                               `t:3: "GET" begins no target`,
		"GET http://a b":                              `t:1: "b" cannot follow the URL`,
		"GET http://a weight=0":                       `t:1: weight "0": give a whole number from 1`,
		"GET http://a weight=x":                       `t:1: weight "x"`,
		"GET http://a weight=10001":                   `t:1: weight "10001"`,
		"GET http://a weight=":                        `t:1: weight ""`,
		"GET http://a name=x weight=3":                "t:1: the name goes to the end of the line",
		"GET http://a name=":                          "t:1: the name is empty",
		"GET http://a\nno header":                     "t:2: parse header: there is no colon",
		"GET http://a\n@missing":                      "t:2: body: missing: no such file",
		"GET http://a\n@":                             "t:2: body: .: is a directory",
		"GET http://a\n\nA: b":                        `t:3: "A:" begins no target`,
		"{":                                           "t:1: it is not JSON",
		`{"url": 1}`:                                  "t:1: member url: number does not fit",
		`{"url": "http://a", "weigth": 1}`:            `t:1: there is no member "weigth"; use method`,
		`{"url": "http://a", "weight": 0}`:            "t:1: weight 0",
		`{"url": "http://a", "weight": 1.5}`:          "t:1: member weight: number 1.5 does not fit",
		`{"url": "http://a", "body": "%"}`:            "t:1: the body is not base64",
		`{"url": "http://a", "header": {"a": 1}}`:     "t:1: member header: number does not fit",
		`{"url": "http://a"} {"url": "http://b"}`:     "t:1: more follows the target",
		"{\"url\": \"http://a\"}\nGET http://b":       "t:2: it is not JSON",
		many:                                          "t: has 10001 targets, at most 10000",
		strings.Repeat("#", MostBytes+1):              "t: is larger than 4 MiB",
		"GET http://a\n@big1\nGET http://b\n@big2":    "t: is larger than 4 MiB with its bodies",
		"GET http://a\n@targets.go\n@targets_test.go": "t:3: the target has two bodies",
	} {
		if strings.Contains(text, "@big1") {
			big := file(t, "big1", strings.Repeat("x", MostBytes/2+1))
			text = "GET http://a\n@" + big + "\nGET http://b\n@" + big
		}
		_, err := Targets("t", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// Any bytes give targets with names that are valid, or an error of one line.
func FuzzTargets(f *testing.F) {
	f.Add([]byte("GET http://a/ weight=2 name=x\nA: b\n\nhttp://b"))
	f.Add([]byte(`{"url": "http://a/{}", "header": {"a": ["b"]}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		flows, err := Targets("t", content)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		for _, flow := range flows {
			err := wire.CheckStep(targets.Spec{}, flow.Step)
			if err != nil && strings.HasPrefix(err.Error(), "name ") && !strings.Contains(string(content), "name") {
				t.Error(err)
			}
		}
	})
}
