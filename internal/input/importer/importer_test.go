package importer

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/wire"
)

var update = flag.Bool("update", false, "write the golden files")

// inputs are the files of testdata with how each is read.
func inputs() map[string]Options {
	return map[string]Options{
		"recording.har": {},
		"login.har":     {},
		"commands.sh":   {},
		"targets.txt":   {},
		"access.log":    {Base: "https://staging.test/v1/"},
	}
}

// imported imports a file of testdata. The workload lies beside it.
func imported(t *testing.T, name string, o Options) string {
	t.Helper()
	in, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	o.Name = in.Name()
	text, err := Workload(in, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parsed reads a workload, and checks its steps as a run does.
func parsed(t *testing.T, text string) []workload.Flow {
	t.Helper()
	w, err := workload.YAML("w.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := targets.Spec{}
	for _, d := range w.Data {
		source := rows.Source{Name: d.Name, Rows: 1, Pick: d.Pick}
		for _, m := range regexp.MustCompile(`\$\{`+d.Name+`\.([\w-]+)\}`).FindAllStringSubmatch(text, -1) {
			source.Columns = append(source.Columns, m[1])
		}
		s.Data = append(s.Data, source)
	}
	for _, f := range w.Flows {
		s.Flows = append(s.Flows, f.Flow)
	}
	if err := wire.Validate(s); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return w.Flows
}

// TestGolden: each kind of input makes this file, each time, and no secret is in it.
func TestGolden(t *testing.T) {
	for name, o := range inputs() {
		text := imported(t, name, o)
		golden := "testdata/" + name + ".yaml"
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s: go test -update writes\n%s", name, text)
		}
		for range 20 {
			if again := imported(t, name, o); again != text {
				t.Fatalf("%s: another time it is\n%s", name, again)
			}
		}
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s: shows a secret\n%s", name, text)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") && len(line) > 121 {
				t.Errorf("%s: a long comment: %s", name, line)
			}
		}
		parsed(t, text)
	}
}

// sent says what the steps of a workload send, with the placeholder $${ as the characters it stands for.
func sent(flows []workload.Flow) (all []string) {
	for _, f := range flows {
		for _, s := range f.Steps {
			var headers []string
			for _, h := range s.Headers {
				headers = append(headers, strings.ToLower(h.Name)+"="+h.Value)
			}
			slices.Sort(headers)
			line := fmt.Sprint(s.Method, " ", s.URL, " ", strings.Join(headers, "|"), " ", string(s.Body))
			all = append(all, strings.ReplaceAll(line, "$${", "${"))
		}
	}
	return all
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("request %d of\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
			return
		}
	}
}

// TestRequestsOfRecording: what a browser sent is what the workload sends, at the same times.
func TestRequestsOfRecording(t *testing.T) {
	flows := parsed(t, imported(t, "recording.har", Options{}))
	const agent = "user-agent=Mozilla/5.0 (X11)"
	compare(t, sent(flows), []string{
		"GET https://shop.test/ " + agent + " ",
		"GET https://shop.test/logo.png " + agent + " ",
		"POST https://shop.test/login?next=${home} content-type=application/json|" + agent + ` {"user": "ann", "price": 9.90, "many": 1e400, "note": "${x}"}`,
		"POST https://shop.test/login content-type=application/json; charset=utf-8|" + agent + ` {"user": "ann", "lines": "a\nb", "address": {"street": "a street with a long name, 17", "city": "Berlin", "zip": "10115"}}`,
		"POST https://shop.test/search content-type=application/x-www-form-urlencoded|" + agent + " q=red+shoes&page=1",
	})
	var names []string
	var at []time.Duration
	for _, s := range flows[0].Steps {
		names, at = append(names, s.Name), append(at, s.At)
		if s.After != nil {
			t.Errorf("%s follows an answer", s.Name)
		}
	}
	if want := []string{"GET /", "GET /logo.png", "POST /login", "POST /login 2", "POST /search"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	ms := time.Millisecond
	if want := []time.Duration{0, 130 * ms, 1512 * ms, 1512 * ms, 2750 * ms}; !slices.Equal(at, want) {
		t.Errorf("at %v, want %v", at, want)
	}
}

// TestChoiceOfRecording: flags choose requests, and the base replaces the host that was recorded.
func TestChoiceOfRecording(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{OnlyHost: "CDN.test"}, []string{"https://cdn.test/app.js"}},
		{Options{NoStatic: true, Base: "http://127.0.0.1:8080/x/"}, []string{"http://127.0.0.1:8080/x/", "http://127.0.0.1:8080/x/login?next=$${home}", "http://127.0.0.1:8080/x/login", "http://127.0.0.1:8080/x/search"}},
	} {
		var urls []string
		for _, s := range parsed(t, imported(t, "recording.har", c.o))[0].Steps {
			urls = append(urls, s.URL)
		}
		if !slices.Equal(urls, c.want) {
			t.Errorf("%+v: %q, want %q", c.o, urls, c.want)
		}
	}
}

// TestCookiesOfRecording: flows get cookies if an answer before the last request sets some.
func TestCookiesOfRecording(t *testing.T) {
	const entry = `{"startedDateTime": "2026-01-31T12:00:0%dZ", "request": {"method": "GET", "url": "http://a.test/"}, "response": {%s}}`
	header, listed := `"headers": [{"name": "SET-Cookie", "value": "a=1"}]`, `"cookies": [{"name": "a", "value": "1"}]`
	for _, c := range []struct {
		first, last string
		want        bool
	}{{"", "", false}, {"", header, false}, {"", listed, false}, {header, "", true}, {listed, "", true}} {
		har := fmt.Sprintf(`{"log": {"entries": [`+entry+","+entry+`]}}`, 1, c.first, 2, c.last)
		text, err := Workload(strings.NewReader(har), Options{Name: "a.har"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "\ncookies: true\n"); got != c.want {
			t.Errorf("%q and %q: %s", c.first, c.last, text)
		}
	}
}

// TestRequestsOfCommands: what curl would send.
func TestRequestsOfCommands(t *testing.T) {
	const form = "content-type=application/x-www-form-urlencoded"
	for command, want := range map[string]string{
		`curl http://a`:                            "GET http://a/  ",
		`curl a/b`:                                 "GET http://a/b  ",
		`$ curl --url http://a/ -X DELETE`:         "DELETE http://a/  ",
		`curl -XPOST -H'A: b' -H "C: d" http://a/`: "POST http://a/ a=b|c=d ",
		`curl http://a/ -H 'Host: b' -H 'Accept:' -H 'Empty;'`:                                 "GET http://a/ empty=|host=b ",
		`curl http://a/ -d x=1 -d 'y=2 3'`:                                                     "POST http://a/ " + form + " x=1&y=2 3",
		`curl http://a/ --data-raw '@x'`:                                                       "POST http://a/ " + form + " @x",
		`curl http://a/ --data-binary $'a\nb\u0021\x41\101\'\q' -H 'Content-Type: text/plain'`: "POST http://a/ content-type=text/plain a\nb!AA'\\q",
		`curl -G 'http://a/?x=1#f' --data-urlencode 'q=a b&c' -d z=1`:                          "GET http://a/?x=1&q=a%20b%26c&z=1  ",
		`curl -kLgsS --compressed -A 'a b' -e http://r/ http://a/`:                             "GET http://a/ referer=http://r/|user-agent=a b ",
		`curl -I http://a/`: "HEAD http://a/  ",
		`curl http://a/ -X PUT --data-urlencode =a+b --data-urlencode c`:                                                  "PUT http://a/ " + form + " a%2Bb&c",
		"curl \\\n  \"http://a/\\$x\" \\\r\n -H \"a: \\\"b\\\" \\c\"":                                                     `GET http://a/$x a="b" \c `,
		`curl -g 'http://a/${x}?$${y}' -H 'a: ${z}' -d '${w}'`:                                                            "POST http://a/${x}?$${y} a=${z}|" + form + " ${w}",
		`curl http://a/ -H 'Content-Type: application/json' -d '{"a": [1, "x"], "b": {}, "c": []}'`:                       `POST http://a/ content-type=application/json {"a": [1, "x"], "b": {}, "c": []}`,
		`curl http://a/ -H 'Content-Type: application/json' -d '{"a": 1, "a": 2}'`:                                        `POST http://a/ content-type=application/json {"a": 1, "a": 2}`,
		`curl http://a/ -H 'Content-Type: application/json' -d '{"a": "\u00e9 \u0024{x}"}'`:                               `POST http://a/ content-type=application/json {"a": "\u00e9 \u0024{x}"}`,
		`curl http://a/ -H 'Content-Type: application/json' -d '[` + strings.Repeat(`"long text",`, 20) + `{"y": "no"}]'`: `POST http://a/ content-type=application/json [` + strings.Repeat(`"long text",`, 20) + `{"y": "no"}]`,
		"curl http://a/ -H 'Content-Type: text/plain' -d $'\\x7f\\u0085\\ufeff\\u2028\\U0001f600 #x: y\\t'":               "POST http://a/ content-type=text/plain \x7f\u0085\ufeff\u2028\U0001f600 #x: y\t",
		"curl http://a/ -H 'Content-Type: text/plain' -d $'a: b\\n\\n  - c\\n#d\\n'":                                      "POST http://a/ content-type=text/plain a: b\n\n  - c\n#d\n",
		"curl http://a/ -H 'Content-Type: text/plain' -d $'a\\n\\n'":                                                      "POST http://a/ content-type=text/plain a\n\n",
	} {
		text, err := Workload(strings.NewReader(command), Options{Name: "t", Format: Curl})
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		got := sent(parsed(t, string(text)))
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s:\n%q, want\n%q\n%s", command, got, want, text)
		}
	}
}

// TestStepsOfCommands: with --steps each command follows the answer of the one before it.
func TestStepsOfCommands(t *testing.T) {
	flows := parsed(t, imported(t, "commands.sh", Options{Steps: true}))
	if len(flows) != 1 || len(flows[0].Steps) != 6 || flows[0].Steps[1].After == nil || *flows[0].Steps[1].After != 0 {
		t.Errorf("%+v", flows)
	}
	each := parsed(t, imported(t, "commands.sh", Options{}))
	if len(each) != 6 || each[5].Weight != 1 {
		t.Errorf("%+v", each)
	}
	compare(t, sent(each), sent(flows))
}

// TestBodyFile: the name of a body is relative to the workload file.
func TestBodyFile(t *testing.T) {
	text, err := Workload(strings.NewReader("curl http://a/ --data-binary @testdata/body.txt"), Options{Name: "t", Out: "testdata/x.yaml"})
	if err != nil || !strings.Contains(string(text), "body_file: body.txt") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestRequestsOfTargets: the mix of a workload is that of the targets.
func TestRequestsOfTargets(t *testing.T) {
	content, err := os.ReadFile("testdata/targets.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := workload.Targets("testdata/targets.txt", content)
	if err != nil {
		t.Fatal(err)
	}
	flows := parsed(t, imported(t, "targets.txt", Options{}))
	for i, f := range flows {
		want := all[i]
		want.Headers = slices.DeleteFunc(want.Headers, func(h targets.Header) bool { return h.Name == "Authorization" })
		if f.Weight != want.Weight || !reflect.DeepEqual(f.Steps[0].Body, want.Body) || f.Steps[0].URL != want.URL || fmt.Sprint(f.Steps[0].Headers) != fmt.Sprint(want.Headers) {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
}
