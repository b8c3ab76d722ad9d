package report_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// TestUnanswered: if no answer was HTTP, the report says what to try; if one was, the URL is right.
func TestUnanswered(t *testing.T) {
	for _, c := range []struct {
		status map[int]int64
		errors map[string]int64
		want   string // in the note; "" = there is none
	}{
		{nil, map[string]int64{"eof": 5}, "no request got an answer of HTTP (eof: 5): write https:// in --url if the port speaks TLS, else http://; add --http 2 if it speaks HTTP/2 alone"},
		{nil, map[string]int64{"protocol": 3, "eof": 2, "timeout": 1}, "(protocol: 3, eof: 2)"},
		{nil, map[string]int64{"reset": 1}, "(reset: 1)"},
		{nil, map[string]int64{"tls": 1}, "(tls: 1)"},
		{map[int]int64{200: 1}, map[string]int64{"eof": 500}, ""},
		{map[int]int64{500: 1}, map[string]int64{"protocol": 5}, ""},
		{nil, map[string]int64{"connect": 5, "timeout": 3}, ""},
		{nil, nil, ""},
	} {
		s := record.NewSnapshot("w", "1")
		s.Final = true
		maps.Copy(s.Status, c.status)
		for class, n := range c.errors {
			s.Errors[class] = &record.ErrorClass{Count: n, Latency: record.NewHistogram()}
		}
		r := report.Build(report.Input{Run: "x", Workers: []report.WorkerInput{{ID: "w", State: "left", Gone: true, Total: s}}})
		notes := strings.Join(r.Notes, "\n")
		if !strings.Contains(notes, c.want) || c.want == "" && strings.Contains(notes, "answer of HTTP") {
			t.Errorf("%v, %v: %q, want %q", c.status, c.errors, notes, c.want)
		}
	}
}

// TestUnansweredVersion: what the note says of the version changes something. Without TLS, auto is HTTP/1.1.
func TestUnansweredVersion(t *testing.T) {
	for _, c := range []struct {
		url   string
		flags []string
		want  string // the end of the note
	}{
		{"http://h/", nil, "else http://; add --http 2 if it speaks HTTP/2 alone, as gRPC servers do"},
		{"http://h/", []string{"--http", "1.1"}, "else http://; give --http 2 in place of 1.1 if it speaks HTTP/2 alone, as gRPC servers do"},
		{"http://h/", []string{"--qps", "5", "--http", "auto"}, "else http://; give --http 2 in place of auto if it speaks HTTP/2 alone, as gRPC servers do"},
		{"https://h/", []string{"--http", "auto"}, "else http://"},
		{"http://h/", []string{"--http", "2"}, "else http://; leave --http out if it speaks HTTP/1.1 alone"},
		{"https://h/", []string{"--http", "3"}, "else http://; leave --http out if it speaks HTTP/1.1 alone"},
	} {
		s := record.NewSnapshot("w", "1")
		s.Final, s.Errors["eof"] = true, &record.ErrorClass{Count: 5, Latency: record.NewHistogram()}
		in := report.Input{Run: "x", Workers: []report.WorkerInput{{ID: "w", State: "left", Gone: true, Total: s}}}
		in.Described.URL, in.Described.Flags = c.url, c.flags
		if notes := report.Build(in).Notes; !slices.ContainsFunc(notes, func(n string) bool { return strings.HasSuffix(n, c.want) }) {
			t.Errorf("%s %v: %q, want %q", c.url, c.flags, notes, c.want)
		}
	}
}

// TestUnansweredBeside: schemes other than http have the note only if each request failed so; and the note says what
// could not be made.
func TestUnansweredBeside(t *testing.T) {
	for _, c := range []struct {
		url    string
		ok     int64
		errors map[string]int64
		want   string // the notes
	}{
		{"grpc://h/a.B/C", 0, map[string]int64{"protocol": 5}, "no request got an answer of gRPC (protocol: 5): check the port in --url; write grpcs:// if it speaks TLS, else grpc://"},
		{"ws://h/", 0, map[string]int64{"eof": 5}, "no request got an answer of WebSocket (eof: 5): check the port in --url; write wss:// if it speaks TLS, else ws://"},
		{"rediss://h", 0, map[string]int64{"eof": 5}, "no request got an answer of a Redis (eof: 5): check the port in --url; write rediss:// if it speaks TLS, else redis://"},
		{"redis://h", 0, map[string]int64{"eof": 5, "reply ERR": 1}, ""},
		{"ws://h/", 1, map[string]int64{"eof": 5}, ""},
		{"tcp://h:1", 0, map[string]int64{"eof": 5}, ""},
		{"grpc://h/a.B/C", 1, map[string]int64{"request": 5}, "5 requests were not sent (request): what filled the placeholders of their message does not fit its fields, such as a text in place of a number"},
	} {
		s := record.NewSnapshot("w", "1")
		s.Final, s.Counts.Completed = true, c.ok
		for class, n := range c.errors {
			s.Errors[class] = &record.ErrorClass{Count: n, Latency: record.NewHistogram()}
			s.Counts.Failed += n
		}
		s.Counts.Sent = s.Counts.Completed + s.Counts.Failed
		in := report.Input{Run: "x", Workers: []report.WorkerInput{{ID: "w", State: "left", Gone: true, Total: s}}}
		in.Described.URL = c.url
		notes := slices.DeleteFunc(report.Build(in).Notes, func(n string) bool { return !strings.Contains(n, "answer of") && !strings.Contains(n, "(request)") })
		if got := strings.Join(notes, "\n"); got != c.want {
			t.Errorf("%s, %v: %q, want %q", c.url, c.errors, got, c.want)
		}
	}
}
