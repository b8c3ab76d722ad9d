// Package accesslog reads the lines of access logs, in the formats of servers and load balancers.
//
//	format, _ := accesslog.Of(head) // nil = none that is known
//	read := format.Open()
//	r, ok := read(line)             // r.At, r.Method, r.Target
//
// A line may have any bytes. What is not of the format is not ok.
package accesslog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// longestTarget is the longest path with its query that counts as one, in bytes.
const longestTarget = 2_000

// A Record is what a line of a log says.
type Record struct {
	At             int64 // Unix seconds
	Timed          bool  // the line is about a request at the time At
	Directive      bool  // the line is about the log, and no request
	Method, Target string
	Usable         bool // Method and Target are known
}

// A Reader reads the lines of one log in turn. It is not ok if a line is not of the log's format.
type Reader func(line string) (r Record, ok bool)

// A Format is a format of access logs.
type Format struct {
	Name  string
	Local bool          // its times have no zone
	Open  func() Reader // for a log
}

// common is the name of the format that most servers write.
const common = "common or combined"

// formats has a row for each format. The first one that fits counts, so that the common format is the last.
func formats() []Format {
	const stamp = "02/Jan/2006:15:04:05"
	return []Format{
		{"W3C (IIS, CloudFront)", false, w3c},
		{"JSON lines", false, func() Reader { return jsonLine }},
		{"ALB", false, matched(`^(?:https?|h2|wss?|grpcs?) (\S+Z) app/\S+ (?:\S+ ){9}"([^"]*)"`, time.RFC3339)},
		{"ELB", false, matched(`^(\d{4}-\S+Z) \S+ (?:\S+ ){9}"([^"]*)"`, time.RFC3339)},
		{"S3", false, matched(`^\S+ \S+ \[([^\]]+)\] \S+ \S+ \S+ [A-Z]\w*\.\S+ \S+ (?:"([^"]*)"|-)`, stamp+" -0700")},
		{"HAProxy HTTP", true, matched(`\[(\d\d/\w{3}/\d{4}:[\d:]{8})\.\d{3}\] \S+ \S+ [-+\d]+(?:/[-+\d]+){4} -?\d+ \+?\d+ .*?(?: "([^"]*)")?$`, stamp)},
		{common, false, func() Reader { return commonLine }},
	}
}

// Names returns the names of the formats that can be read.
func Names() string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// otherLogs returns logs that are known, and have no requests or not whole ones.
func otherLogs() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"an NLB log":                      regexp.MustCompile(`^tls \d\.\d \d{4}-\d\d-\d\dT`),
		"a HAProxy TCP log":               regexp.MustCompile(`\[\d\d/\w{3}/\d{4}:[\d:]{8}\.\d{3}\] \S+ \S+ [-+\d]+/[-+\d]+/[-+\d]+ \+?\d+ \S\S `),
		"a Squid log":                     regexp.MustCompile(`^\d{9,}\.\d{3} +\d+ \S+ [A-Z_]+/\d{3} `),
		"an error log of nginx":           regexp.MustCompile(`^\d{4}/\d\d/\d\d [\d:]{8} \[\w+\] `),
		"an error log of Apache":          regexp.MustCompile(`^\[[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d [\d:]{8}`),
		"an access log in Envoy's format": regexp.MustCompile(`^\[\d{4}-\d\d-\d\dT\S+Z\] "`),
		"a VPC flow log":                  regexp.MustCompile(`^\d \d{12} eni-`),
	}
}

// Unread says which logs can be read. other is what this one is, if that is known.
func Unread(other string) error {
	if other != "" {
		return fmt.Errorf("is %s, which has no requests that can be read here; give one of %s", other, Names())
	}
	return fmt.Errorf("its first lines are of no access log that is known here; give one of %s", Names())
}

// Wrong says what is wrong with a line that is not of the format.
func (f Format) Wrong() string {
	if f.Name == common {
		return "has no time such as [31/Jan/2026:12:00:00 +0000]"
	}
	return "is not of the format of the first lines, which is " + f.Name
}

// Of returns the format of a log that begins so. other names a log that cannot be read.
func Of(head string) (found *Format, other string) {
	const most = 20 // of lines: the first request may have failed
	all := formats()
	var readers []Reader
	for _, f := range all {
		readers = append(readers, f.Open())
	}
	lines := strings.SplitN(strings.TrimPrefix(head, "\ufeff"), "\n", most+1)
	for _, line := range lines[:min(most, len(lines))] {
		line = strings.TrimRight(line, "\r")
		for i := range all {
			if r, ok := readers[i](line); ok && (r.Timed || r.Directive) {
				return &all[i], ""
			}
		}
	}
	for name, begin := range otherLogs() {
		if begin.MatchString(lines[0]) {
			other = name
		}
	}
	return nil, other
}

// commonLine reads the common and the combined format.
func commonLine(line string) (r Record, ok bool) {
	if r.At, r.Timed = logTime(line); r.Timed {
		_, rest, _ := strings.Cut(line, `] "`)
		text, _, closed := strings.Cut(rest, `"`)
		r.Method, r.Target, r.Usable = requested(text)
		r.Usable = r.Usable && closed
	}
	return r, r.Timed
}

// requested returns method and target of a request: GET /path HTTP/1.1. A pattern would take ten times as long.
func requested(request string) (method, target string, ok bool) {
	method, target, _ = strings.Cut(request, " ")
	target, version, _ := strings.Cut(target, " ")
	ok = method != "" && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && strings.HasPrefix(target, "/") &&
		(version == "" || strings.HasPrefix(version, "HTTP/") && !strings.Contains(version, " ")) && len(target) <= longestTarget && !strings.Contains(target, `\`)
	return method, target, ok && strings.ToValidUTF8(target, "") == target
}

// logTime returns the time of a line of an access log in the common or combined format, in Unix seconds. It is not ok if
// the line has no time such as [31/Jan/2026:12:00:00 +0000].
func logTime(line string) (unix int64, ok bool) {
	const layout = "02/Jan/2006:15:04:05 -0700"
	for {
		_, rest, found := strings.Cut(line, "[")
		if !found {
			return 0, false
		}
		if len(rest) > len(layout) && rest[len(layout)] == ']' {
			if t, err := time.Parse(layout, rest[:len(layout)]); err == nil {
				return t.Unix(), true
			}
		}
		line = rest
	}
}

// matched returns what opens readers of a format whose pattern finds a time and a request.
func matched(pattern, layout string) func() Reader {
	return func() Reader {
		compiled := regexp.MustCompile(pattern)
		return func(line string) (r Record, ok bool) {
			found := compiled.FindStringSubmatch(line)
			if found == nil {
				return r, false
			}
			t, err := time.Parse(layout, found[1])
			r.At, r.Timed = t.Unix(), err == nil
			r.Method, r.Target, r.Usable = requested(pathOnly(found[2]))
			return r, r.Timed
		}
	}
}

// hostBefore matches what stands before the path in the URL of a request.
var hostBefore = regexp.MustCompile(`^([A-Z]+ )?(?i:https?|wss?)://[^/? ]*`)

// pathOnly returns a request, or a URL, without scheme and host.
func pathOnly(text string) string {
	found := hostBefore.FindStringSubmatch(text)
	if found == nil {
		return text
	}
	rest := text[len(found[0]):]
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return found[1] + rest
}

// w3c returns a reader of the extended format: #Fields names the columns. CloudFront has tabs between them.
func w3c() Reader {
	var columns []string
	return func(line string) (r Record, ok bool) {
		if fields, found := strings.CutPrefix(line, "#Fields:"); found {
			columns = strings.Fields(fields)
		}
		if strings.HasPrefix(line, "#") {
			name, _, found := strings.Cut(line[1:], ":")
			r.Directive = found && slices.Contains([]string{"Version", "Software", "Fields", "Date", "Start-Date", "End-Date", "Remark"}, name)
			return r, r.Directive
		}
		between := " "
		if strings.Contains(line, "\t") {
			between = "\t"
		}
		cells := strings.Split(line, between)
		if len(cells) != len(columns) {
			return r, false
		}
		cell := func(name string) string {
			if i := slices.Index(columns, name); i >= 0 && cells[i] != "-" {
				return cells[i]
			}
			return ""
		}
		t, err := time.Parse(time.DateTime, cell("date")+" "+cell("time"))
		r.At, r.Timed = t.Unix(), err == nil
		r.Method, r.Target, r.Usable = requested(cell("cs-method") + " " + asked(cell("cs-uri-stem"), cell("cs-uri-query")))
		return r, r.Timed
	}
}

// asked joins a path and a query.
func asked(path, query string) string {
	if query == "" || strings.Contains(path, "?") {
		return path
	}
	return path + "?" + strings.TrimPrefix(query, "?")
}

// jsonLine reads a line of JSON, with the keys of nginx, Caddy, Traefik and others. One without a request is about
// something else.
func jsonLine(line string) (r Record, ok bool) {
	var all map[string]json.RawMessage
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &all) != nil {
		return r, false
	}
	for _, key := range [...]string{"time", "ts", "timestamp", "@timestamp", "time_iso8601", "time_local", "msec", "StartUTC", "start_time"} {
		if r.At, r.Timed = jsonTime(all[key]); r.Timed {
			break
		}
	}
	request := ""
	for _, key := range [...]string{"request", "httpRequest"} {
		var inner map[string]json.RawMessage
		switch {
		case !strings.HasPrefix(string(all[key]), "{"):
			request = cmp.Or(request, textOf(all, key)) // such as GET / HTTP/1.1
		case json.Unmarshal(all[key], &inner) == nil:
			all = inner
		}
	}
	if method := textOf(all, "request_method", "method", "RequestMethod", "requestMethod", "http_method", "verb"); method != "" {
		path := textOf(all, "request_uri", "uri", "RequestPath", "requestUrl", "url", "path", "target")
		request = method + " " + pathOnly(asked(path, textOf(all, "args", "query_string", "query")))
	}
	r.Method, r.Target, r.Usable = requested(pathOnly(request))
	r.Timed = r.Timed && request != ""
	return r, true
}

// textOf returns the first of some keys that has a text.
func textOf(all map[string]json.RawMessage, keys ...string) (text string) {
	for _, key := range keys {
		if len(all[key]) > 0 && json.Unmarshal(all[key], &text) == nil && text != "" && text != "-" {
			return text
		}
	}
	return ""
}

// jsonTime reads a time: a text, or the seconds, milliseconds or nanoseconds since 1970.
func jsonTime(raw json.RawMessage) (unix int64, ok bool) {
	text := strings.Trim(string(raw), `"`)
	if text == "" {
		return 0, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		for _, unit := range [...]float64{1e9, 1e6, 1e3} {
			if n > 1e8*unit {
				n /= unit
			}
		}
		return int64(n), n > 1e8 && n < 1e11
	}
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05Z0700", time.DateTime, "02/Jan/2006:15:04:05 -0700"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Unix(), true
		}
	}
	return 0, false
}
