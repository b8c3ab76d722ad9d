package importer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// recording is a HAR file with these entries.
func recording(entries ...string) string {
	return `{"log": {"entries": [` + strings.Join(entries, ",\n") + `]}}`
}

// got is an entry at a second, with more in its request.
func got(second int, url, more string) string {
	return fmt.Sprintf(`{"startedDateTime": "2026-01-31T%02d:00:%02dZ", "request": {"method": "GET", "url": %q%s}}`, 12+second/60, second%60, url, more)
}

// TestBadInputs: what is wrong is one line that says where, and what to do. It shows no secret.
func TestBadInputs(t *testing.T) {
	for _, c := range slices.Concat(badOptions(), badRecordings(), badCommands(), badTargets(), badLogs()) {
		c.o.Name = "t"
		text, err := Workload(strings.NewReader(c.text), c.o)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 500 || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.100q: %v, want %q\n%.500s", c.text, err, c.says, text)
		}
	}
}

// A badInput is a text that cannot be imported with some options, and what the error says.
type badInput struct {
	o          Options
	text, says string
}

// badOptions are wrong in any format, or have no known one.
func badOptions() []badInput {
	return []badInput{
		{Options{}, "", "t: is empty; give a HAR file"},
		{Options{}, " \n\t", "t: is empty"},
		{Options{}, "hello", "t: its first line does not tell what it is; give --format har, curl"},
		{Options{}, "\x1f\x8b\x08", "t: is compressed; unpack it"},
		{Options{Format: "xml"}, "x", `there is no format "xml"; give one of har`},
		{Options{Base: "shop.test"}, "curl http://a/", "the base is no URL without user and query"},
		{Options{Base: "http://u:hunter2@a"}, "curl http://a/", "the base is no URL without user"},
		{Options{Steps: true}, "GET http://a/", "only curl commands may become steps, and this is vegeta"},
		{Options{OnlyHost: "a"}, "curl http://a/", "leave --only-host out"},
		{Options{NoStatic: true}, "curl http://a/", "leave --no-static out"},
	}
}

// badRecordings are no HAR files.
func badRecordings() []badInput {
	many := strings.Repeat(got(1, "http://a/", "")+",\n", 100) + got(1, "http://a/", "")
	return []badInput{
		{Options{Format: HAR}, "{", "t:1: is no JSON"},
		{Options{}, "{\"log\": {\n\"entries\": [\n}", "t:3: is no JSON"},
		{Options{}, "{\"log\":\n{\"entries\": 1}}", "t:2: log.entries: number does not fit"},
		{Options{Format: HAR}, "{}", "t: has no log.entries"},
		{Options{}, recording(), "t: has no log.entries, or none in it"},
		{Options{}, recording(`{"startedDateTime": "yesterday"}`), `t: entry 1: startedDateTime "yesterday" is no time`},
		{Options{}, recording(got(2, "http://a b/%zz", "")), "t: entry 1: the URL cannot be read"},
		{Options{}, recording(got(1, "data:x", "")), "t: no http request is left"},
		{Options{OnlyHost: "b"}, recording(got(1, "http://a/", "")), `t: no request of "b" is left; there are other hosts for --only-host: a 1`},
		{Options{}, recording(many), `t: has 101 requests of "a", and a flow has at most 100; give --no-static`},
		{Options{}, recording(got(0, "http://a/", ""), got(61, "http://a/", "")), "t: entry 2: begins 1h0m1s after the first one"},
		{Options{}, recording(`{"startedDateTime": 7}`), "t: entry 1: startedDateTime: number does not fit; correct it"},
		{Options{}, recording(got(1, "http://a/", `, "postData": {"text": "aGk=", "encoding": "base64"}`)), `t: entry 1: the body is encoded as "base64"`},
		{Options{}, strings.Replace(recording(got(1, "http://a/", "")), "GET", "G T", 1), "t: entry 1: method: may only hold letters"},
		{Options{}, strings.Replace(recording(got(1, "http://a/", "")), "GET", "CONNECT", 1), "t: entry 1: method: CONNECT"},
	}
}

// badCommands are no curl commands that can be read.
func badCommands() []badInput {
	return []badInput{
		{Options{}, "curl 'http://a/", "t:1: the quote ' is not closed"},
		{Options{}, "curl http://a/ \\\n -H \"x: hunter2", `t:2: the quote " is not closed`},
		{Options{}, "curl $'a", "t:1: the quote $' is not closed"},
		{Options{}, "curl $'\\x'", `t:1: no number follows \x; give one`},
		{Options{}, "curl $'\\0'", "t:1: a zero byte ends a text"},
		{Options{}, "curl http://a/ \\", "t:1: nothing follows the backslash"},
		{Options{}, "curl http://a/\nwget http://a/", "t:2: this command does not begin with curl"},
		{Options{}, "curl http://a/?x=1&y=2", "t:1: this command does not begin with curl; remove it, or put the text before it in quotes"},
		{Options{}, "curl http://a/ | jq .", `t:1: "|" has a meaning in a shell`},
		{Options{}, "curl \\\n http://$HOST/", `t:2: a shell would replace what follows "$"`},
		{Options{}, "curl \"http://`host`/\"", "t:1: a shell would replace what follows \"`\""},
		{Options{}, "curl http://a/ \\\n --proxy x", `t:2: the option "--proxy" of curl is not known here; remove it`},
		{Options{}, "curl http://a/ -sT x", `t:1: the option "-T" of curl is not known here`},
		{Options{}, "curl http://a/ -H", "t:1: the option -H has no value"},
		{Options{}, "curl http://a/ -H hunter2", "t:1: a header has no colon"},
		{Options{}, "curl -X GET", "t:1: the command has no URL"},
		{Options{}, "curl ''", "t:1: the URL is empty"},
		{Options{}, "curl http://a/ http://b/", `t:1: the command has a second URL, "http://b/…"`},
		{Options{}, "curl ^\"http://a/^\"", "t:1: the command is for cmd.exe of Windows"},
		{Options{}, "curl http://a/ -d @-", "t:1: a body is one file, and no standard input"},
		{Options{}, "curl http://a/ -d @x -d y", "t:1: a body is either a file or text"},
		{Options{}, "curl http://a/ --data-urlencode x@y", "t:1: --data-urlencode of a file"},
		{Options{}, "curl ftp://a/", "t:1: "},
		{Options{}, "curl http://a/[1-9000] -d " + strings.Repeat("x", 500), "t:1: its 9000 requests have more than the 4 MiB"},
		{Options{}, "curl http://a/[1-9000]" + strings.Repeat("x", 500), "t:1: the URL stands for more than 10000 URLs, or for more"},
		{Options{}, strings.Repeat("curl http://a/[1-9000]\n", 2), "t: has more than 10000 requests; import a part"},
		{Options{}, strings.Repeat("curl http://a/[1-900] -d "+strings.Repeat("x", 500)+"\n", 10), "t: its requests have more than the 4 MiB"},
		{Options{Steps: true}, "curl http://a/[1-101]", "t: has 101 requests, and a flow has at most 100; leave --steps out"},
		{Options{}, "curl http:////a", "t:1: the URL has 4 slashes behind its scheme; write such as curl https://host/path"},
		{Options{}, "curl http://a/ -d x -r 0-9", "t:1: -r is beside a body"},
		{Options{}, "curl http://a/ -F a=b -d c", "t:1: -F is beside -d, --json or -I"},
		{Options{}, "curl http://a/ -F a", "t:1: the form has no =; write -F NAME=TEXT"},
		{Options{}, "curl http://a/ -F 'a=b;c'", "t:1: behind ; only type= and filename= of -F are known here"},
		{Options{}, "curl http://a/ -F 'a=b;type=x/y;headers=@z'", "t:1: behind ; only type= and filename= of -F are known here"},
		{Options{}, "curl http://a/ -F 'a=\"b'", `t:1: the quote " of -F is not closed`},
		{Options{}, "curl http://a/ -F 'a=\"b\"c'", "t:1: a text follows the quotes of -F"},
		{Options{}, "curl http://a/ -F a=@-", "t:1: a part of -F is one file, and no standard input"},
		{Options{}, "curl http://a/ -F a=@x,y", "t:1: a part of -F is one file"},
		{Options{}, "curl http://a/ -F a=@missing", "t:1: -F: "},
		{Options{}, "curl http://a/ -F a=@testdata", `t:1: -F: "testdata" is no regular file; give one`},
		{Options{}, "curl http://a/ -F a=b -H 'Content-Type: text/plain'", "t:1: -F has its own Content-Type; remove that of -H"},
		{Options{}, "curl http://a/ -F a=b -H 'Content-Type:'", "t:1: -F has its own Content-Type"},
		{Options{}, "curl http://a/ --data-binary $'\\xff'", "t:1: the body is no UTF-8 text"},
		{Options{}, "curl $'http://a/\\xff'", "t:1: the URL is no UTF-8 text; write its other bytes as %XX"},
		{Options{}, "curl http://a/ -H $'x: \\xff'", `t:1: header "x": its name or its value`},
		{Options{}, "curl http://a/ --data-binary @missing", "t: the workload made of it is not valid: workload.yaml:"},
		{Options{Format: Curl}, "# nothing", "t: there is no command"},
		{Options{Steps: true}, strings.Repeat("curl http://a/\n", 101), "t: has 101 commands, and a flow has at most 100; leave --steps out"},
	}
}

// badTargets are no targets files.
func badTargets() []badInput {
	return []badInput{
		{Options{}, "GET http://a/\nhunter2", "t:2: "},
		{Options{}, "GET http://a/ weight=0", `t:1: weight "0"`},
		{Options{}, "GET http://a/ name=a{b", `t:1: name "a{b": leave out braces`},
		{Options{}, "GET http://a/${users.name}", "t:1: "},
	}
}

// badLogs are no access logs.
func badLogs() []badInput {
	long := strings.Repeat("x", 70<<10)
	log := Options{Base: "http://h"}
	return []badInput{
		{Options{Format: Log}, line("GET / HTTP/1.1"), "an access log does not say which host to send to; give the base"},
		{log, line("GET / HTTP/1.1") + "\nhello", "t:3: the line has no time such as [31/Jan/2026"},
		{log, line("-"), "t: has no usable request"},
		{log, line("GET / HTTP/1.1") + long, "t:2: the line has more than 65536 bytes"},
		{log, line("GET http://other/ HTTP/1.1"), "t: has no usable request"},
		{Options{Format: Log, Base: "http://h"}, "hello", "t: its first lines are of no access log that is known here; give one of W3C (IIS, CloudFront), JSON lines, ALB, ELB, S3, HAProxy HTTP, common or combined"},
		{log, "1286536309.585 921 192.0.2.1 TCP_MISS/200 507 GET http://a/ - DIRECT/192.0.2.1 text/html\n", "t: is a Squid log, which has no requests that can be read here; give one of W3C"},
		{Options{Format: Log, Base: "http://h"}, "2026/01/31 12:00:00 [error] 7#7: *1 open() failed\n", "t: is an error log of nginx, which"},
		{log, `{"ts": 1769860800.5, "request": {"method": "GET", "uri": "/"}}` + "\nstarted", "t:2: the line is not of the format of the first lines, which is JSON lines; remove it"},
		{log, "#Version: 1.0\n#Fields: date time cs-method cs-uri-stem\n2026-01-31 12:00:00 GET", "t:3: the line is not of the format of the first lines, which is W3C"},
	}
}

// endless is a text without end.
type endless struct{ text string }

// Read implements io.Reader.
func (e endless) Read(b []byte) (n int, err error) {
	for n+len(e.text) <= len(b) {
		n += copy(b[n:], e.text)
	}
	if n == 0 {
		n = copy(b, e.text)
	}
	return n, nil
}

// TestEndless: an input that does not end is refused at its bound.
func TestEndless(t *testing.T) {
	for format, want := range map[string]string{HAR: "64 MiB", Curl: "4 MiB", Vegeta: "4 MiB"} {
		_, err := Workload(endless{"curl http://a/ # \n"}, Options{Name: "t", Format: format})
		if err == nil || !strings.Contains(err.Error(), "t: is larger than "+want) {
			t.Errorf("%s: %v", format, err)
		}
	}
	_, err := Workload(endless{line("GET /" + strings.Repeat("x", 40_000) + " HTTP/1.1")}, Options{Name: "t", Base: "http://h"})
	if err == nil || !strings.Contains(err.Error(), "t: is larger than 256 MiB; import a part") {
		t.Error(err)
	}
}
