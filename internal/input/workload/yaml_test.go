package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/wire"
)

// shop is the whole format.
const shop = `
base: https://shop.test/api/
rate: 2.5k flows/s
data:
  users: {csv: users.csv, pick: once}
  items: {jsonl: /data/items.txt, pick: shuffle, seed: 7}
mix: {buy: 1, browse: 9}
header: {X-Run: a, Accept: text/plain}
expect: 200-204
check: size < 10kB
flows:
  buy:
    - login:
        at: 0s
        post: /login
        json: {user: "${users.name}", n: 1.50, list: [0x10, true, null, 2026-01-01, "<&>"]}
        take: {token: json token, id: 'regex id=(\d+)', also: regex /a b/}
        check: [status 200, body has "ok"]
    - cart: {at: 2s, get: "?q=1", header: {accept: [a, b], X-N: 5}, expect: 200}
    - pay: {after: 500ms, method: BREW, url: "https://pay.test/${uuid}", body: "a=${ordinal}"}
    - end: {delete: /end}
  browse: [{list: {get: "/items/${items.id}"}}]
thresholds: ["latency{step=pay}:p(99)<300ms", "errors:rate<0.1%"]
pick: random
duration: 1h30m
arrivals: poisson:7
cookies: true
rate_of: requests
`

func TestYAML(t *testing.T) {
	got, err := YAML("dir/shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	pause, none := 500*time.Millisecond, time.Duration(0)
	type headers = []targets.Header
	run, text, size := targets.Header{Name: "X-Run", Value: "a"}, targets.Header{Name: "Accept", Value: "text/plain"}, "size < 10kB"
	want := Workload{
		Schedule: Schedule{Rate: Rate{Rate: pacer.PerSecond(2500)}, Duration: 90 * time.Minute, Arrivals: "poisson:7",
			Places: map[string]string{"rate": "dir/shop.yaml:3:7", "duration": "dir/shop.yaml:25:11", "arrivals": "dir/shop.yaml:26:11"}},
		Pick: targets.PickRandom, RateOf: targets.RateOfRequests,
		Data: []Data{{"users", "dir/users.csv", "csv", "once", 0, "dir/shop.yaml:5:3"}, {"items", "/data/items.txt", "jsonl", "shuffle", 7, "dir/shop.yaml:6:3"}},
		Flows: []Flow{
			{targets.Flow{Name: "buy", Weight: 1, Steps: []targets.Step{
				{Name: "login", Method: "POST", URL: "https://shop.test/api/login", Body: []byte(`{"user":"${users.name}","n":1.50,"list":[16,true,null,"2026-01-01","<&>"]}`),
					Headers: headers{{Name: "Content-Type", Value: "application/json"}, run, text}, Checks: []string{"status 200", `body has "ok"`, size},
					Takes: []targets.Take{{Name: "token", From: "json token"}, {Name: "id", From: `regex /id=(\d+)/`}, {Name: "also", From: "regex /a b/"}}},
				{Name: "cart", Method: "GET", URL: "https://shop.test/api?q=1", At: 2 * time.Second, Expect: "200", Checks: []string{size},
					Headers: headers{{Name: "accept", Value: "a"}, {Name: "accept", Value: "b"}, {Name: "X-N", Value: "5"}, run}},
				{Name: "pay", Method: "BREW", URL: "https://pay.test/${uuid}", After: &pause, Body: []byte("a=${ordinal}"), Headers: headers{run, text}, Expect: "200-204", Checks: []string{size}},
				{Name: "end", Method: "DELETE", URL: "https://shop.test/api/end", After: &none, Headers: headers{run, text}, Expect: "200-204", Checks: []string{size}},
			}}, []string{"dir/shop.yaml:13:7", "dir/shop.yaml:19:7", "dir/shop.yaml:20:7", "dir/shop.yaml:21:7"}, nil},
			{targets.Flow{Name: "browse", Weight: 9, Steps: []targets.Step{
				{Name: "list", Method: "GET", URL: "https://shop.test/api/items/${items.id}", Headers: headers{run, text}, Expect: "200-204", Checks: []string{size}},
			}}, []string{"dir/shop.yaml:22:13"}, nil},
		},
		Thresholds: []string{"latency{step=pay}:p(99)<300ms", "errors:rate<0.1%"},
		Cookies:    "dir/shop.yaml:27:10",
	}
	if !reflect.DeepEqual(got, want) {
		a, _ := json.MarshalIndent(got, "", " ")
		b, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}

// TestGoodFiles: the files of testdata are read. docs/schema has to allow them, too.
func TestGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := YAML(name, content); err != nil {
			t.Error(err)
		}
	}
}

// step is a file with one step of these settings, which begin at 2:13.
func step(settings string) string { return "base: http://a\nflows: {f: [s: {" + settings + "}]}" }

func TestBodies(t *testing.T) {
	file := file(t, "b.txt", "from a file")
	for settings, want := range map[string]string{
		`json: {b: 1, a: "x"}`:                         `{"b":1,"a":"x"}`,
		`json: []`:                                     `[]`,
		`json: "${users.name}"`:                        `"${users.name}"`,
		`json: {"1": 0o17, 2: 1_000, 3: -0.5e3}`:       `{"1":15,"2":1000,"3":-0.5e3}`,
		`json: {a: TRUE, b: ~, c: yes, d: "1"}`:        `{"a":true,"b":null,"c":"yes","d":"1"}`,
		`json: {a: &x {b: 1}, c: *x}`:                  `{"a":{"b":1},"c":{"b":1}}`,
		`form: {q: "a b&c", n: [1, 2]}`:                "q=a+b%26c&n=1&n=2",
		`form: {q: "${users.name} x", r: "$${a}${"}`:   "q=${users.name}+x&r=%24%7Ba%7D${",
		`form: {"${ordinal}": "=${random 1 9}$"}`:      "${ordinal}=%3D${random 1 9}%24",
		`body: "a\nb"`:                                 "a\nb",
		`body: 5`:                                      "5",
		`body_file: ` + file:                           "from a file",
		`json: {a: 18446744073709551616, b: 1.10}`:     `{"a":18446744073709551616,"b":1.10}`,
		`header: {content-type: text/x}, json: {a: 1}`: `{"a":1}`,
	} {
		w, err := YAML("t", []byte(step("post: /, "+settings)))
		if err != nil {
			t.Errorf("%s: %v", settings, err)
			continue
		}
		s := w.Flows[0].Steps[0]
		types := map[string]string{"json": "application/json", "form": "application/x-www-form-urlencoded", "head": "text/x"}
		if kind := settings[:4]; string(s.Body) != want || types[kind] != "" && s.Headers[0].Value != types[kind] {
			t.Errorf("%s: %s, %v, want %s", settings, s.Body, s.Headers, want)
		}
	}
}

// TestJSONWorkload: a file in JSON means the same.
func TestJSONWorkload(t *testing.T) {
	yaml, err := YAML("t", []byte("base: http://a\nflows:\n  f:\n  - s: {get: /, check: [status 200], json: {a: [1e3, null, \"\U0001f600\\\"\\\\/\"]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := "{\n\t\"base\":\"http:\\/\\/a\",\n\t\"flows\":{\"f\":[{\"s\":{\"get\":\"/\",\"check\":[\"status 200\"],\"json\":{\"a\":[1e3,null,\"\\ud83d\\ude00\\\"\\\\\\/\"]}}}]}\n}\n"
	fromJSON, err := YAML("t", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	yaml.Flows[0].Places, fromJSON.Flows[0].Places = nil, nil
	if !json.Valid([]byte(text)) || !reflect.DeepEqual(yaml, fromJSON) {
		t.Errorf("%+v\n%+v", yaml, fromJSON)
	}
}

// TestCommonOfSteps: what a step says wins over what all steps have.
func TestCommonOfSteps(t *testing.T) {
	for settings, want := range map[string]string{
		`get: /`: "[{A 1}] 200 [size < 1kB]",
		`get: /, header: {a: "2"}, expect: "201", check: ["time < 1s"]`:      "[{a 2}] 201 [time < 1s size < 1kB]",
		`get: /, check: ["status 204", "size < 1kB"], header: {B: x, b2: y}`: "[{B x} {b2 y} {A 1}]  [status 204 size < 1kB]",
	} {
		w, err := YAML("t", []byte("header: {A: 1}\nexpect: 200\ncheck: size < 1kB\n"+step(settings)))
		if err != nil {
			t.Fatal(err)
		}
		if s := w.Flows[0].Steps[0]; fmt.Sprint(s.Headers, s.Expect, s.Checks) != want && fmt.Sprint(s.Headers, " ", s.Expect, " ", s.Checks) != want {
			t.Errorf("%s: %v %s %q, want %s", settings, s.Headers, s.Expect, s.Checks, want)
		}
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]Rate{
		"400 flows/s":       {pacer.PerSecond(400), false},
		"480 requests/s":    {pacer.PerSecond(480), true},
		"1 flow/m":          {pacer.Rate{Num: 1, Den: 60}, false},
		"2.5k requests/10s": {pacer.PerSecond(250), true},
	} {
		w, err := YAML("t", []byte("rate: "+text+"\n"+step("get: /")))
		if err != nil || w.Rate != want {
			t.Errorf("%s: %+v, %v", text, w.Rate, err)
		}
	}
}

// TestSchedule: the other ways to say a rate. The file of a replay lies beside the workload file.
func TestSchedule(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "day.csv"), []byte("time,rate\n0,100\n1,300\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Schedule{
		"arrivals: even\nduration: 0s":                             {},
		"arrivals: poisson":                                        {Arrivals: "poisson"},
		"stages: 30s:200":                                          {Stages: []string{"30s:200"}},
		"rate: 1 flow/s\nstages: [30s:200, 0s:2.5k]":               {Rate: Rate{Rate: pacer.PerSecond(1)}, Stages: []string{"30s:200", "0s:2.5k"}},
		"concurrency: 8\nduration: 1m":                             {Concurrency: 8, Duration: time.Minute},
		"stages: [60s:c=8, 60s:c=16]":                              {Stages: []string{"60s:c=8", "60s:c=16"}},
		"profile: 'steps:from=1,to=2,by=1,every=1s'\nduration: 1s": {Profile: "steps:from=1,to=2,by=1,every=1s", Duration: time.Second},
		"profile: replay:day.csv,speed=2":                          {Profile: "replay:file=day.csv,speed=2,pieces=200:200:1:500000;600:600:1:500000"},
	} {
		w, err := YAML(filepath.Join(dir, "w.yaml"), []byte(text+"\n"+step("get: /")))
		if w.Places = nil; err != nil || !reflect.DeepEqual(w.Schedule, want) {
			t.Errorf("%s: %+v, %v", text, w.Schedule, err)
		}
	}
}

// flow is a file of one flow that has this value.
func flow(value string) string { return "base: http://a\nflows: {f: " + value + "}" }

// top is a file with another key at its top, from 2:1 on.
func top(text string) string { return "flows: {f: [s: {get: http://a/}]}\n" + text }

// badFiles are files with what is wrong with each.
func badFiles() map[string]string {
	all := badTexts()
	maps.Copy(all, badKeys())
	maps.Copy(all, badFlows())
	maps.Copy(all, badSteps())
	maps.Copy(all, badStreams())
	return all
}

// badTexts are wrong as a whole.
func badTexts() map[string]string {
	aliases := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'i'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	return map[string]string{
		"":                 "t:1:1: is empty; write flows",
		"# nothing":        "t:1:1: is empty",
		"a: [":             "t:1:1: is no YAML: did not find expected node content; put texts",
		"a: 1\n  b: 2":     "t:2:3: is no YAML: mapping values are not allowed",
		"a: 'x":            "t:1:1: is no YAML: found unexpected end of stream",
		"a: {b: ${c}}":     "t:1:1: is no YAML: did not find expected ',' or '}'; put texts with special characters in quotes",
		"flows: @a":        "t:1:1: is no YAML: found character that cannot start any token",
		"a: 1\n\n b: \x00": "t:3:5: is no UTF-8 text, or a control character",
		"a: ä\xff":         "t:1:5: is no UTF-8 text",
		"a: 1\nb: [x, *y]": `t:2:8: there is no anchor "y" before this alias`,
		"a: 1\n---\nb: 1":  "t:2:1: a second document begins here",
		"a: 1\n---\nb: [":  "t:3:1: is no YAML",
		"a: &a [*a]":       "t:1:4: is nested deeper than 100; write it flatter, and use no alias inside",
		aliases:            "t:1:17: here the file has more than 1000000 values, with those that aliases repeat",
		"a: &a " + strings.Repeat("x", 1000) + "\nb: [" + strings.Repeat("*a,", 5000) + "]": "t:1:4: here the file has more than 4 MiB, with what aliases repeat",
		strings.Repeat("#", MostBytes+1):                            "t:1:1: is larger than 4 MiB",
		"a: " + strings.Repeat("[", 101) + strings.Repeat("]", 101): "t:1:104: is nested deeper",
		"flows: !!map {}":         "t:1:8: has a tag, such as !!str; leave the tag out",
		"flows: !go {}":           "t:1:8: has a tag",
		"base: a\nbase: b":        `t:2:1: there is a key "base" in line 1 already; leave one out`,
		"? [a]\n: b":              "t:1:3: a key is a text",
		"base: &a {b: 1}\n<<: *a": "t:2:1: maps are not merged; leave << out",
		"[]":                      "t:1:1: is no map, or an empty one; write a map with flows",
		"just text":               "t:1:1: is no map",
		"base: http://a":          "t:1:1: there are no flows; write flows:",
	}
}

// badKeys are wrong beside their flows.
func badKeys() map[string]string {
	return map[string]string{
		top("chek: a"):                           `t:2:1: there is no key "chek"; did you mean check? Or use one of base, rate`,
		top("colour: red"):                       `t:2:1: there is no key "colour"; use one of base, rate, rate_of, data`,
		top("base: shop.test"):                   "t:2:7: the base is no URL without query; write base: https://host",
		top("base: http://a/?q"):                 "t:2:7: the base is no URL without query",
		top("base: [a]"):                         "t:2:7: is no text; write base: https://host",
		top("base:"):                             "t:2:6: is no text",
		top("rate: 400"):                         `t:2:7: "400" is no rate; write rate: 400 flows/s`,
		top("rate: max"):                         `t:2:7: "max" is no rate; write rate: 400 flows/s, or rate: 480 requests/s; for a closed loop write concurrency: 8, or use --qps max`,
		top("rate: x flows/s"):                   `t:2:7: rate "x/s": not a number of requests per second`,
		top("rate: 0 flows/s"):                   "t:2:7: the rate is 0",
		top("rate: 1 flows/parsec"):              `t:2:7: rate "1/parsec": write a time above zero`,
		top("rate: 5 flows/s\nprofile: x"):       "t:3:10: rate and profile contradict each other, as both say the rate; leave one of them out",
		top("profile: x\nstages: [1s:5]"):        "t:2:10: stages and profile contradict each other",
		top("stages: [1s:5]\nduration: 5s"):      "t:3:11: stages and duration contradict each other, as both say how long the run takes",
		top("concurrency: 0"):                    `t:2:14: "0" is no number of requests in flight of the whole cluster; write 1 to 1000000, such as concurrency: 8`,
		top("concurrency: c=8"):                  `t:2:14: "c=8" is no number of requests in flight`,
		top("concurrency: 1000001"):              `t:2:14: "1000001" is no number`,
		top("concurrency: [8]"):                  "t:2:14: is no text; write concurrency: 8",
		top("rate: 5 flows/s\nconcurrency: 8"):   "t:3:14: rate and concurrency contradict each other, as both say how much is sent; leave one of them out",
		top("concurrency: 8\nstages: [1s:c=5]"):  "t:2:14: stages and concurrency contradict each other",
		top("concurrency: 8\nprofile: x"):        "t:2:14: profile and concurrency contradict each other",
		top("concurrency: 8\narrivals: poisson"): "t:3:11: a closed loop sends when an answer comes; leave arrivals out, or give a rate in place of the closed loop",
		top("stages: [1s:c=5]\nrate: 5 flows/s"): "t:3:7: the stages are of a closed loop, which has no rate; leave rate out",
		top("stages: [1s:c=5, 1s:7]"):            "t:2:18: the first stage has a concurrency, this one has none; write stages: [30s:200, 1m:200], or stages: [60s:c=8, 60s:c=16]",
		top("stages: [1s:7, 1s:c=5]"):            "t:2:16: the first stage has a rate, this one has none",
		top("stages: [1s:c=0]"):                  `t:2:10: stage "1s:c=0": concurrency "c=0": give a number from 1 to 1000000`,
		"concurrency: 8\nflows: {f: [a: {get: http://a/}, b: {get: http://a/}]}":                       "t:2:34: a closed loop has flows of one step, as without a rate no slot starts a flow; make a flow of each step, or give a rate",
		"stages: [1s:c=8]\ndata: {u: {csv: a, pick: once}}\nflows: {f: [a: {get: 'http://a/${u.x}'}]}": "t:2:8: a closed loop has no pick: once, as each worker counts its own requests and rows would repeat; take another pick, or give a rate",
		top("stages: [1s:5, 1s]"):             `t:2:16: stage "1s": write DURATION:RATE, such as 30s:200; write stages:`,
		top("stages: [1s: 5]"):                "t:2:10: is no text; write stages: [30s:200, 1m:200]",
		top("stages: []"):                     "t:2:9: there is no stage; write stages:",
		top("profile: zigzag"):                `t:2:10: profile "zigzag": unknown; write one of replay, sine`,
		top("profile: sine:mean=5"):           `t:2:10: profile "sine:mean=5": amplitude=RATE is missing; see docs`,
		top("profile: replay:none.csv"):       "t:2:10: replay: none.csv: no such file or directory; give the path of a file that can be read; see",
		top(`profile: "sine:\n"`):             "t:2:10: the profile has control characters",
		top("profile: [a]"):                   "t:2:10: is no text; write profile:",
		top("duration: 5"):                    `t:2:11: "5" is not a duration; write 30s`,
		top("duration: 1us"):                  "t:2:11: the duration is below 1ms; write 30s",
		top("arrivals: random"):               `t:2:11: arrivals "random" are not known`,
		top("arrivals: poisson:0"):            `t:2:11: arrivals "poisson:0" are not known, or their seed is no whole number from 1 to 2147483646; write`,
		top("arrivals: ''"):                   "t:2:11: arrivals \"\" are not known",
		top("data: [a]"):                      "t:2:7: is no map, or an empty one; write data: {users: {csv: users.csv}}",
		top("data: {u: a.csv}"):               "t:2:11: is no map, or an empty one; write {csv: FILE}",
		top("data: {u: {pick: once}}"):        "t:2:11: there is no file; write {csv: FILE}",
		top("data: {u: {csv: a, tsv: b}}"):    "t:2:25: a data file has one format; leave csv or tsv out",
		top(`data: {u: {csv: ""}}`):           "t:2:17: the name of the file is empty; write csv: FILE",
		top("data: {u: {cvs: a}}"):            `t:2:12: there is no key "cvs"; did you mean csv?`,
		top("data: {u: {csv: a, pick: one}}"): `t:2:26: there is no pick "one"; did you mean once? Or write one of once, cycle`,
		top("data: {u: {csv: a, seed: x}}"):   `t:2:26: seed "x" is no whole number from 1 on; write such as seed: 1`,
		top("data: {u: {csv: a, seed: 1}}"):   "t:2:26: pick cycle has no seed, only shuffle and random have",
		top("thresholds: ['errors:rate<1%', 'errors{step=t}:rate<1%']"):                                              `t:2:32: there is no step "t"; write the name of one, or leave {step=…} out`,
		top("thresholds: ['errors:rate<1%', 'itl:p(95)<1s']"):                                                        "t:2:32: no answer of the run has events; write stream, such as stream: sse, into a step of the --workload file, or leave the condition out",
		"flows: {f: [a: {get: http://a/, stream: sse}, b: {get: http://a/}]}\nthresholds: ['stream{step=b}:max<1s']": "t:2:14: no answer of b has events; write stream, such as stream: sse, into a step",
		top("mix: {g: 1}"):   `t:2:7: there is no flow "g"`,
		top("mix: {f: 0}"):   `t:2:10: weight "0" is out of range; write a whole number from 1 to 10000`,
		top("mix: {f: 1.5}"): `t:2:10: weight "1.5"`,
		top("mix: {f: [1]}"): "t:2:10: is no text; write a weight, such as f: 1",
		top("mix: {}"):       "t:2:6: is no map, or an empty one; write mix: {FLOW: WEIGHT}",
		"flows: {buy: [s: {get: http://a/}], b: [s: {get: http://a/}]}\nmix: {bvy: 1}": `t:2:7: there is no flow "bvy"; did you mean buy? Or write it below flows`,
		"flows: {buy: [s: {get: http://a/}], b: [s: {get: http://a/}]}\nmix: {b: 1}":   `t:2:6: the mix has no weight of flow "buy"; write it, or leave the whole mix out`,
		top("pick: randm"):                    `t:2:7: there is no pick "randm" of flows; did you mean random? Or write one of cycle, random`,
		top("pick: shuffle"):                  `t:2:7: there is no pick "shuffle" of flows; write one of cycle, random`,
		top("rate_of: request"):               `t:2:10: there is no rate_of "request"; did you mean requests? Or write one of flows, requests`,
		top("rate_of: {a: 1}"):                "t:2:10: is no text; write rate_of: requests",
		top("pick: [random]"):                 "t:2:7: is no text; write pick: random",
		top("thresholds: [errors<1]"):         `t:2:14: threshold "errors<1", column 7: a colon has to follow`,
		top("thresholds: {a: b}"):             "t:2:13: is no text; write a list",
		top("check: [status 200, bdy has x]"): `t:2:21: "bdy has x": there is no such check; write status`,
		top("expect: [200]"):                  "t:2:9: is no text; write expect: 200-299",
		top("header: [a]"):                    "t:2:9: is no map, or an empty one; write header: {NAME: VALUE}",
		top("header: {a: b, A: c}"):           `t:2:16: header "A" is there already, in another case; write a list`,
		top(`header: {"a b": c}`):             "t:2:10: parse header: header 1: the name may only",
		top(`header: {"a:b": c}`):             "t:2:10: the name of a header has no colon",
		top(`header: {a: "b\nc"}`):            "t:2:10: parse header: header a",
		top("header: {a: {b: c}}"):            "t:2:13: is no text",
	}
}

// badFlows are wrong in the form of a flow.
func badFlows() map[string]string {
	return map[string]string{
		"flows: []":            "t:1:8: is no map, or an empty one; write flows: {NAME",
		"flows:":               "t:1:7: is no map",
		flow("{get: /}"):       `t:2:12: flow "f" is no list, or an empty one; write a list of steps`,
		flow("[]"):             `t:2:12: flow "f" is no list`,
		flow("[get]"):          "t:2:13: is no map, or an empty one; write a list of steps, such as - list: {get: /items}",
		flow("[{s:, get: /}]"): "t:2:18: a step has one name; indent its settings below the name",
		flow("[s: /]"):         "t:2:16: is no map, or an empty one; write the settings of the step",
		"flows: {f: [s: {get: http://a/}]}\ncookies: maybe":    `t:2:10: is neither true nor false; write cookies: true, or leave it out`,
		"flows: {f: [s: {get: http://a/}]}\ncookies: \"true\"": `t:2:10: is neither true nor false; write`,
		"flows: {f: [s: {get: http://a/}]}\ncookies: [true]":   `t:2:10: is neither true nor false; write`,
		"flows: {f: [s: {get: http://a/}]}\ncookies:":          `t:2:9: is neither true nor false; write`,
		"flows: {f: [s: {get: http://a/, cookies: true}]}":     `t:1:33: there is no key "cookies"; `,
		flow("[" + strings.Repeat("s: {get: /}, ", 101) + "]"): `t:2:1313: flow "f" has more than 100 steps; make two`,
		"flows: {\"\": [s: {get: http://a/}]}":                 "t:1:9: the name of a flow has 1 to 64 bytes",
		"flows: {f: [s: {get: /}]}":                            "t:1:22: a path needs a base; write base: https://host",
	}
}

// badSteps are wrong in the settings of a step.
func badSteps() map[string]string {
	return map[string]string{
		step("at: 0s"):                                        `t:2:13: step "s" says not what to request; write get: PATH`,
		step("send: http://a/"):                               "t:2:23: send takes a URL without methods, such as tcp://host:port",
		step("get: tcp://a:1"):                                "t:2:22: this scheme has no methods; write send: URL",
		step("get: /, send: tcp://a:1"):                       "t:2:31: a step is one request; leave get or send out",
		step("send: tcp://a:1, url: /"):                       "t:2:39: send has a URL already; leave url out",
		step("send: tcp://a:1, json: {a: 1}"):                 "t:2:40: only http has types of bodies; write body: TEXT",
		step("gte: /"):                                        `t:2:17: there is no key "gte"; did you mean get?`,
		step("get: /, chek: a"):                               `t:2:25: there is no key "chek"; did you mean check? Or use one of get, post`,
		step("get: /, post: /"):                               "t:2:31: a step is one request; leave get or post out",
		step("get: /, url: /"):                                "t:2:30: get has a URL already; leave url out",
		step("method: GET"):                                   "t:2:25: there is a method, and no URL; write url: PATH",
		step(`method: "", url: /`):                            "t:2:25: the method is empty",
		step("get: items"):                                    "t:2:22: is no path and no URL; begin it with /",
		step("get: [/]"):                                      "t:2:22: is no text; write get: PATH",
		step("get: /, at: 5"):                                 `t:2:29: "5" is not a duration; write 30s`,
		step("get: /, at: -1s"):                               `t:2:29: "-1s" is not a duration`,
		step("get: /, at: 2s"):                                "t:2:29: the first step of a flow begins it; write at: 0s",
		step("get: /, after: 2s"):                             "t:2:32: before the first step of a flow is no answer",
		flow("[a: {get: /}, b: {get: /, at: 1s, after: 1s}]"): "t:2:53: a step has one time; leave at or after out",
		flow("[a: {get: /}, b: {get: /, at: 2s}, c: {get: /, after: 1s}, d: {get: /, at: 1s}]"): "t:2:87: is before the step above, at 2s; order the steps",
		step("post: /, json: {a: .inf}"):                "t:2:36: JSON has no infinity",
		step("post: /, json: 1, body: x"):               "t:2:41: a step has one body; leave json or body out",
		step("post: /, body: {a: b}"):                   "t:2:32: is no text; write body: TEXT",
		step("post: /, form: {a: {b: c}}"):              "t:2:36: is no text; write form: {NAME: VALUE}",
		step("post: /, form: x"):                        "t:2:32: is no map, or an empty one; write form:",
		step("post: /, body_file: none.txt"):            "t:2:37: none.txt: no such file or directory; give the path of a file",
		step(`post: /, body_file: "a\nb"`):              "t:2:37: the name of the file has control characters",
		step(`post: /, body_file: ""`):                  "t:2:37: the name of the file is empty; write body_file: FILE",
		step("get: /, check: {status: 200}"):            "t:2:32: is no text; write a check, or a list of checks",
		step("get: /, check: [status 200, status 200]"): `t:2:32: "status 200": is given twice; leave one out`,
		step("get: /, check: [status 99]"):              `t:2:33: "status 99": statuses are numbers`,
		step("get: /, take: {a: josn b}"):               `t:2:35: "josn" takes nothing; write json PATH`,
		step("get: /, take: {a: 'regex ('}"):            "t:2:35: error parsing regexp",
		step("get: /, take: {a: json}"):                 "t:2:35: it is not complete or not right; write json PATH",
		step("get: /, take: token"):                     "t:2:31: is no map, or an empty one; write take: {NAME: json PATH}",
		step("get: /, take: {a: [json b]}"):             "t:2:35: is no text",
	}
}

// badStreams are wrong in what they say of events and goals.
func badStreams() map[string]string {
	return map[string]string{
		step("get: /, stream: ses"):                                        `t:2:33: stream: "ses" is unknown; write sse, lines, chunks, messages`,
		step("get: /, stream: [sse]"):                                      "t:2:33: is no text; write stream: sse",
		step("get: /, stream: ''"):                                         "t:2:33: is empty; write stream: sse, or leave it out",
		step("get: /, until: x"):                                           "t:2:32: stream: is missing; say what an event is: sse, lines, chunks, messages",
		step("get: /, until: x, stream: chunks"):                           "t:2:32: until: a chunk may end anywhere in a text; use lines or sse, or leave it out",
		step("get: /, stream: sse, until: /x"):                             "t:2:45: until: a pattern stands between two slashes, such as /done$/ or /(?i)done$/; see docs/streams.md",
		step("get: /, stream: sse, until: ''"):                             `t:2:45: is empty; write until: "[DONE]", or leave it out`,
		step("get: /, stream_limit: 1kB"):                                  "t:2:39: stream: is missing; say what",
		step("get: /, stream: sse, stream_limit: many"):                    `t:2:52: "many" is no number of bytes; write 1000000, or`,
		step("get: /, stream: sse, stream_limit: 0"):                       `t:2:52: "0" is no number of bytes; write`,
		step("get: /, stream: sse, stream_limit: 2000000000"):              "t:2:52: stream limit: give a size from 1 B to 1 GiB, such as 64KiB; ",
		step("get: /, goals: [latency<2s, first_event<soon]"):              `t:2:45: goal "first_event<soon": the limit is a time above 0 with its unit, such as 500ms; `,
		step("get: /, goals: {latency: 2s}"):                               "t:2:32: is no text; write a list, such as goals: [",
		step("get: /, goals: [event_gap<2s]"):                              `t:2:33: goal "event_gap<2s": an answer has many gaps; write event_gap:p(95)`,
		step("get: /, preset: openia"):                                     `t:2:33: preset: "openia" is unknown; write openai, for any server with its API`,
		step("get: /, preset: openai, stream: lines"):                      "t:2:33: preset: its answers are server-sent events; leave the stream out",
		step("get: /, goal: latency<2s"):                                   `t:2:25: there is no key "goal"; did you mean goals?`,
		step("get: /, goals: [" + strings.Repeat("latency<1s, ", 9) + "]"): "t:2:32: goal: there are more than 8; leave some out",
	}
}

// TestStreamOfStep: what a step says of events and goals.
func TestStreamOfStep(t *testing.T) {
	for settings, want := range map[string]events.Options{
		"get: /": {},
		"get: /, stream: sse, until: '[DONE]', stream_limit: 64KiB, goals: first_event<500ms": {Kind: "sse", Until: "[DONE]", Limit: 64 << 10, Goals: []string{"first_event<500ms"}},
		"post: /, preset: openai, stream_limit: 5, goals: [ttft<1s, 'itl:p(95)<80ms']":        {Preset: "openai", Limit: 5, Goals: []string{"ttft<1s", "itl:p(95)<80ms"}},
		"get: /, goals: latency<1s": {Goals: []string{"latency<1s"}},
	} {
		w, err := YAML("t", []byte(step(settings)))
		if err != nil {
			t.Errorf("%s: %v", settings, err)
		} else if got := w.Flows[0].Steps[0].Stream; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", settings, got)
		}
	}
}

// lineOf matches an error: one line, with its place, and what to do after a semicolon.
var lineOf = regexp.MustCompile(`^t:\d+:\d+: [^\n]+; [^\n]+$`)

// Each error is one line with file, line and column, and says what to do.
func TestBadYAML(t *testing.T) {
	bad := badFiles()
	if len(bad) < 60 {
		t.Errorf("only %d files", len(bad))
	}
	for text, want := range bad {
		_, err := YAML("t", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.100q:\n%v, want\n%s", text, err, want)
		} else if !lineOf.MatchString(err.Error()) || len(err.Error()) > 600 {
			t.Errorf("%.100q: %v", text, err)
		}
	}
}

// TestLargeYAML: bodies and common headers count into what a file may have.
func TestLargeYAML(t *testing.T) {
	big := file(t, "big", strings.Repeat("x", MostBytes/2+1))
	for text, want := range map[string]string{
		flow("[a: {post: /, body_file: " + big + "}, b: {post: /, body_file: " + big + "}]"):                           "with this body the file has more than 4 MiB",
		"header: {a: " + strings.Repeat("x", MostBytes/50) + "}\n" + flow("["+strings.Repeat("s: {get: /}, ", 60)+"]"): "t:3:",
	} {
		if _, err := YAML("t", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !lineOf.MatchString(err.Error()) {
			t.Errorf("%.100q: %v, want %s", text, err, want)
		}
	}
}

// FuzzYAML: any bytes give flows with steps, or an error of one line. Whatever aliases repeat is bounded.
func FuzzYAML(f *testing.F) {
	f.Add([]byte(shop))
	for text := range badFiles() {
		if len(text) < 10_000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		d := &document{reader: reader{path: "t"}}
		if err := d.read(content); err == nil && (d.values > mostValues || d.size > MostBytes) {
			t.Errorf("%d values, %d bytes", d.values, d.size)
		}
		w, err := YAML("t", content)
		if err != nil {
			if !regexp.MustCompile(`^t:\d+:\d+: [^\n]+$`).MatchString(err.Error()) || len(err.Error()) > 3000 {
				t.Errorf("%.500q", err)
			}
			return
		}
		if len(w.Flows) == 0 {
			t.Error("no flows")
		}
		for _, flow := range w.Flows {
			if len(flow.Steps) == 0 || len(flow.Places) != len(flow.Steps) {
				t.Errorf("%+v", flow)
			}
			for _, s := range flow.Steps {
				if media := s.Headers; len(media) > 0 && media[len(media)-1].Value == "application/json" && !json.Valid(s.Body) && !strings.Contains(string(content), "application") {
					t.Errorf("%s is no JSON", s.Body)
				}
				_ = wire.CheckStep(targets.Spec{}, s) // it has to cope with all that is read
			}
		}
	})
}
