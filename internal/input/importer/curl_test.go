package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandText imports curl commands.
func commandText(t *testing.T, commands string) string {
	t.Helper()
	text, err := Workload(strings.NewReader(commands), Options{Name: "t", Format: Curl})
	if err != nil {
		t.Fatalf("%s: %v", commands, err)
	}
	return string(text)
}

// TestImportHeadersOfCommands: of each header curl sends one, and a -H wins over the option. curl 7.88 sends these.
func TestImportHeadersOfCommands(t *testing.T) {
	const form = "content-type=application/x-www-form-urlencoded"
	for command, want := range map[string]string{
		`curl http://a/ -H 'Host: b.test'`:                                     "GET http://a/ host=b.test ",
		`curl http://a/ -H 'host: A:80'`:                                       "GET http://a/  ",
		`curl http://a/ -H 'Host: b' -H 'Host: c'`:                             "GET http://a/ host=b ",
		`curl http://a/ -H 'Connection: close'`:                                "GET http://a/  ",
		`curl http://a/ -H 'Content-Type:' -d x=1`:                             "POST http://a/  x=1",
		`curl http://a/ -H 'content-type:' -H 'Content-Type: a/b' -d x`:        "POST http://a/ content-type=a/b x",
		`curl http://a/ -A x -H 'user-agent: y'`:                               "GET http://a/ user-agent=y ",
		`curl http://a/ -H 'User-Agent: y' -A x -A z`:                          "GET http://a/ user-agent=y ",
		`curl http://a/ -A x -A z`:                                             "GET http://a/ user-agent=z ",
		`curl http://a/ -A ''`:                                                 "GET http://a/  ",
		`curl http://a/ -e r -H 'Referer: q'`:                                  "GET http://a/ referer=q ",
		`curl http://a/ -e ''`:                                                 "GET http://a/  ",
		`curl http:/a/b`:                                                       "GET http://a/b  ",
		`curl HTTP:///a/b`:                                                     "GET http://a/b  ",
		`curl http://a/ --json '{"a":' --json '1}'`:                            `POST http://a/ accept=application/json|content-type=application/json {"a":1}`,
		`curl http://a/ --json '{}' -H 'Accept: x' -H 'content-type: y'`:       "POST http://a/ accept=x|content-type=y {}",
		`curl http://a/ -d a --json b -d c`:                                    "POST http://a/ accept=application/json|content-type=application/json ab&c",
		`curl -G http://a/ --json '{}'`:                                        "GET http://a/?{} accept=application/json|content-type=application/json ",
		`curl http://a/ -r 0-9`:                                                "GET http://a/ range=bytes=0-9 ",
		`curl http://a/ --range 5`:                                             "GET http://a/ range=bytes=5- ",
		`curl http://a/ -r 0-9 -H 'Range: x'`:                                  "GET http://a/ range=x ",
		`curl -sSfo /dev/null -w '%{http_code}' --max-time 3 http://a/ -d x=1`: "POST http://a/ " + form + " x=1",
	} {
		text := commandText(t, command)
		if got := sent(parsed(t, text)); len(got) != 1 || got[0] != want {
			t.Errorf("%s:\n%q, want\n%q\n%s", command, got, want, text)
		}
	}
}

// TestImportNotes: what does not go into the workload is in a comment.
func TestImportNotes(t *testing.T) {
	const decides = "# left out, as the client of a run decides on them: "
	for command, want := range map[string]string{
		`curl http://a/ -H 'Connection: close' -H 'TE: x'`: decides + "Connection, Te\n",
		`curl http://a/ --compressed`:                      decides + "Accept-Encoding (--compressed)\n",
		`curl http://a/ -A ''`:                             "# curl sends no User-Agent here, and a run sends its own\n",
		`curl http://a/ -H Host:`:                          "# curl sends no Host here, and a run sends its own\n",
		`curl -sOo x -w x -D x --retry 3 http://a/`:        "# left out, as the request is the same without: -s, -O, -o, -w, -D, --retry\n",
		`curl -c x http://a/`:                              "# curl -c: write cookies: true, and each flow keeps the cookies of its answers\n",
		`curl --http2 http://a/`:                           "# curl --http2: --http 1.1, 2 or 3 of the run chooses the version\n",
		`curl --max-time 3 http://a/`:                      "# curl --max-time: give --timeout to the run, which holds for all requests\n",
		`curl http://a/ --oauth2-bearer hunter2`:           "# left out, as secrets: Authorization (--oauth2-bearer)\n",
		"curl http://a/{1,2} -k":                           "# Imported from t: 1 curl command with 2 URLs.\n",
	} {
		if text := commandText(t, command); !strings.Contains(text, want) || strings.Contains(text, "hunter2") {
			t.Errorf("%s: want %q\n%s", command, want, text)
		}
	}
	text, err := Workload(strings.NewReader("GET http://a/\nHost: b\nConnection: close\n"), Options{Name: "t"})
	if err != nil || !strings.Contains(string(text), decides+"Connection\n") || !strings.Contains(string(text), "Host: b") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestImportOptions: the table has each name once, and its rows have one meaning.
func TestImportOptions(t *testing.T) {
	seen := map[string]bool{}
	name := regexp.MustCompile(`^(?:-[A-Za-z0-9#]|--[a-z0-9.-]+)$`)
	for _, o := range optionTable() {
		for one := range strings.FieldsSeq(o.names) {
			if seen[one] || !name.MatchString(one) || o.set != nil && o.note != "" {
				t.Errorf("%s", one)
			}
			seen[one] = true
		}
	}
}

// TestImportGlobs: a URL with patterns is the requests of curl, in its order. curl 7.88 sends these.
func TestImportGlobs(t *testing.T) {
	for command, want := range map[string]string{
		`curl 'http://a/[1-3]{x,y}'`:                "/1x /1y /2x /2y /3x /3y",
		`curl http://a/[a-e:2]`:                     "/a /c /e",
		`curl http://a/[08-12:2]`:                   "/08 /10 /12",
		`curl http://a/[1-1]`:                       "/1",
		`curl 'http://a/${x}'`:                      "/$x",
		`curl http://a/?a[]=1`:                      "/?a[]=1",
		`curl http://a/{a,}`:                        "/a /",
		`curl 'http://a/\[1\]\{'`:                   "/[1]{",
		`curl 'http://a/{a\,b,c\}}'`:                "/a,b /c}",
		`curl 'http://a/[1-3]{x}' -g`:               "/[1-3]{x}",
		`curl -G 'http://a/{1,2}' -d a=[1-2] -d b`:  "/1?a=[1-2]&b /2?a=[1-2]&b",
		`curl 'http://[::1]:80/[1-2]'`:              "/1 /2",
		`curl 'http://a/{b,c}' http://a/ --head -g`: "",
		`curl http://a/[3-1]`:                       "",
		`curl http://a/[1]`:                         "",
		`curl http://a/[1-3:0]`:                     "",
		`curl http://a/[1-5:9]`:                     "",
		`curl http://a/[a-Z]`:                       "",
		`curl 'http://a/{a'`:                        "",
		`curl 'http://a/a}'`:                        "",
		`curl 'http://a/{}'`:                        "",
		`curl 'http://a/{a{b}}'`:                    "",
		`curl http://a/[1-999999999999]`:            "",
		`curl http://a/[1-200][1-200]`:              "",
	} {
		text, err := Workload(strings.NewReader(command), Options{Name: "t", Format: Curl})
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "t:1: the ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v\n%s", command, err, text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		var got []string
		for _, f := range parsed(t, string(text)) {
			got = append(got, regexp.MustCompile(`^http://(?:a|\[::1\]:80)`).ReplaceAllString(f.Steps[0].URL, ""))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if text := commandText(t, "curl http://a/[1-2] -d x"); strings.Count(text, "form") != 2 && strings.Count(text, "body: x") != 2 {
		t.Errorf("a body for each URL:\n%s", text)
	}
}

// TestImportForms: -F makes the bytes of curl 7.88, but for the boundary.
func TestImportForms(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.txt")
	for name, body := range map[string]string{file: "f1\n${x}\n", filepath.Join(dir, "f.json"): "{}"} {
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := commandText(t, fmt.Sprintf(`curl http://a/ -F a=b -F f=@%s -F g=@%s/f.json -F 'h=<%[1]s' --form-string 'i=@x;type=y' -F 'j=x;type=text/html; charset=utf-8' `+
		`-F 'k="a;b"' -F 'l=@"%[1]s";filename=q"x;type=a/b' -F 'm"n= b ;' -F =c -F 'o=p;filename=x' -F 'p=q;filename=x.html' -F 'r=@%[1]s;filename=y.html' -F 'h=<%[1]s;filename=g'`, file, dir))
	part := func(head, body string) string {
		return "--B\r\nContent-Disposition: form-data" + head + "\r\n\r\n" + body + "\r\n"
	}
	want := part(`; name="a"`, "b") +
		part(`; name="f"; filename="f.txt"`+"\r\nContent-Type: text/plain", "f1\n${x}\n") +
		part(`; name="g"; filename="f.json"`+"\r\nContent-Type: application/octet-stream", "{}") +
		part(`; name="h"`, "f1\n${x}\n") +
		part(`; name="i"`, "@x;type=y") +
		part(`; name="j"`+"\r\nContent-Type: text/html; charset=utf-8", "x") +
		part(`; name="k"`, "a;b") +
		part(`; name="l"; filename="q%22x"`+"\r\nContent-Type: a/b", "f1\n${x}\n") +
		part(`; name="m%22n"`, "b") +
		part("", "c") +
		part(`; name="o"; filename="x"`, "p") +
		part(`; name="p"; filename="x.html"`+"\r\nContent-Type: text/html", "q") +
		part(`; name="r"; filename="y.html"`+"\r\nContent-Type: text/html", "f1\n${x}\n") +
		part(`; name="h"`, "f1\n${x}\n") +
		"--B--\r\n"
	step := parsed(t, text)[0].Steps[0]
	_, boundary, _ := strings.Cut(step.Headers[0].Value, "multipart/form-data; boundary=")
	got := strings.ReplaceAll(strings.ReplaceAll(string(step.Body), "$${", "${"), boundary, "B")
	if step.Method != "POST" || len(boundary) != 40 || got != want {
		t.Errorf("%s %q:\n%q, want\n%q", step.Method, boundary, got, want)
	}
	again := parsed(t, commandText(t, "curl http://a/ -X PUT -F a=b -H 'content-type: multipart/form-data'"))[0].Steps[0]
	if again.Method != "PUT" || len(again.Headers) != 1 || !strings.HasPrefix(again.Headers[0].Value, "multipart/form-data; boundary=-") {
		t.Errorf("%+v", again)
	}
	if err := os.WriteFile(file, []byte("\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Workload(strings.NewReader("curl http://a/ -F a=@"+file), Options{Name: "t"})
	if err == nil || !strings.Contains(err.Error(), "is no UTF-8 text, and a workload file holds text; save the whole body") {
		t.Error(err)
	}
}

// TestImportBytesOfJSON: a body of JSON is sent as it came.
func TestImportBytesOfJSON(t *testing.T) {
	for _, body := range []string{`{"a":1}`, `{"a": 1}`, " [1]\n", "{\n  \"a\": [1, 2]\n}"} {
		text := commandText(t, "curl http://a/ -H 'Content-Type: application/json' -d '"+body+"'")
		if got := string(parsed(t, text)[0].Steps[0].Body); got != body {
			t.Errorf("%q, want %q\n%s", got, body, text)
		}
	}
}

// TestImportBadEntries: a header or a request that cannot be sent is left out with a note, and the others stay.
func TestImportBadEntries(t *testing.T) {
	har := recording(
		strings.Replace(got(1, "http://a/first", ""), "GET", "G T", 1),
		got(2, "http://a/x", `, "headers": [{"name": "X", "value": "hunter2\nx"}, {"name": "a b", "value": "c"}, {"name": "Y", "value": "z"}]`),
		got(3, "http://a b/%zz", ""),
		got(4, "http://a/y", `, "headers": [{"name": "X", "value": 5}]`),
		`{"startedDateTime": "yesterday"}`,
		got(5, "http://a/z", `, "postData": {"text": "aGk=", "encoding": "base64"}`),
		got(6, "http://a/last", `, "headers": [{"name": "Host", "value": "A"}, {"name": "Host", "value": "other"}]`))
	text, err := Workload(strings.NewReader(har), Options{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	steps := parsed(t, string(text))[0].Steps
	if len(steps) != 2 || steps[0].At != 0 || steps[0].URL != "http://a/x" || fmt.Sprint(steps[0].Headers) != "[{Y z}]" || steps[1].At.Seconds() != 4 || fmt.Sprint(steps[1].Headers) != "[{Host other}]" {
		t.Errorf("%+v\n%s", steps, text)
	}
	for _, want := range []string{
		"# Left out, entry 1: method: may only hold letters", "# Left out, entry 3: the URL cannot be read; correct it\n", "# Left out, entry 4: request.headers",
		`# Left out, entry 5: startedDateTime "yesterday" is no time`, `# Left out, entry 6: the body is encoded as "base64"`,
		`# left out, as its name or its value has characters that no header may have: "X"`, `may have: "a b"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("does not say %q\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("shows a secret\n%s", text)
	}
	many := []string{got(1, "http://a/", "")}
	many = append(many, slices.Repeat([]string{`{"startedDateTime": "x"}`}, 25)...)
	text, err = Workload(strings.NewReader(recording(many...)), Options{Name: "t"})
	if err != nil || !strings.Contains(string(text), "# Left out for such reasons: 15 more.\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
