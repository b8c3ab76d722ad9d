package rpctest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets/http2/http2test"
)

// An Odd is an answer as odd and hostile servers send it, to one request on a new connection.
type Odd struct {
	Name   string
	Method string // "" = EmptyCall
	Bytes  []byte // frames
	Limit  int64  // of the body; 0 = the default
	Check  string
	Expect string

	Status, Class string // Status "" = there is none
	replies       bool   // on a stream that stays open its first message is the reply
}

// Server returns what http2test.Serve plays.
func (o *Odd) Server() http2test.Case {
	return http2test.Case{Name: o.Name, Steps: []http2test.Step{{Bytes: o.Bytes}}}
}

// URL returns that of the method at a server.
func (o *Odd) URL(address string) string {
	return "grpc://" + address + Path + cmp.Or(o.Method, "EmptyCall")
}

// Odds returns the table.
func Odds() []Odd {
	head := http2test.Headers(1, false, ":status", "200", "content-type", "application/grpc")
	body := func(message string) []byte { return slices.Concat(head, http2test.Data(1, message, false)) }
	end := func(fields ...string) []byte { return http2test.Headers(1, true, fields...) }
	const empty = "\x00\x00\x00\x00\x00"
	ok := end("grpc-status", "0")
	reset := func(code byte) []byte { return http2test.Frame(3, 0, 1, []byte{0, 0, 0, code}) }
	all := []Odd{
		{Name: "good", replies: true, Bytes: slices.Concat(body(empty), ok), Status: "OK"},
		{Name: "a message for people", Bytes: end(":status", "200", "grpc-status", "5", "grpc-message", "no%20such%0Athing%"), Check: "header grpc-message = no%20such%0Athing%", Expect: "NOT_FOUND", Status: "NOT_FOUND"},
		{Name: "no status", replies: true, Bytes: slices.Concat(head, http2test.Data(1, empty, true)), Class: "protocol"},
		{Name: "trailers without a status", replies: true, Bytes: slices.Concat(body(empty), end("x", "y")), Class: "protocol"},
		{Name: "a status that is no number", replies: true, Bytes: slices.Concat(body(empty), end("grpc-status", "OK")), Status: "UNKNOWN", Class: "status"},
		{Name: "two statuses", replies: true, Bytes: slices.Concat(body(empty), end("grpc-status", "8", "grpc-status", "0")), Status: "RESOURCE_EXHAUSTED", Class: "status"},
		{Name: "a status in the head too", replies: true, Bytes: slices.Concat(http2test.Headers(1, false, ":status", "200", "grpc-status", "0"), http2test.Data(1, empty, false), end("grpc-status", "8")), Status: "RESOURCE_EXHAUSTED", Class: "status"},
		{Name: "no message", Bytes: slices.Concat(head, ok), Status: "OK", Class: "protocol"},
		{Name: "two messages", replies: true, Bytes: slices.Concat(body(empty+empty), ok), Status: "OK", Class: "protocol"},
		{Name: "a bomb", Bytes: slices.Concat(body(bomb()), ok), Class: "protocol"},
		{Name: "a message that is cut off", Bytes: slices.Concat(body("\x00\x00\x00\x00\x05ab"), ok), Status: "OK", Class: "protocol"},
		{Name: "half a prefix", replies: true, Bytes: slices.Concat(body(empty+"\x00\x00"), ok), Status: "OK", Class: "protocol"},
		{Name: "4 GiB are announced", Bytes: body("\x00\xff\xff\xff\xff"), Class: "body-limit"},
		{Name: "more than the limit", Bytes: body("\x00\x00\x00\x00\x0b"), Limit: 10, Class: "body-limit"},
		{Name: "more than its content-length", Bytes: slices.Concat(http2test.Headers(1, false, ":status", "200", "content-length", "4"), http2test.Data(1, empty, false)), Class: "protocol"},
		{Name: "a proxy's error", Bytes: slices.Concat(http2test.Headers(1, false, ":status", "503", "content-type", "text/html"), http2test.Data(1, "<html>", true)), Status: "UNAVAILABLE", Class: "status"},
		{Name: "a proxy's error without an end", Bytes: slices.Concat(http2test.Headers(1, false, ":status", "502"), http2test.Data(1, "<html>", false), reset(0)), Status: "UNAVAILABLE", Class: "reset NO_ERROR"},
		{Name: "a web page", Bytes: slices.Concat(http2test.Headers(1, false, ":status", "200", "content-type", "text/html"), http2test.Data(1, "<html>", true)), Class: "protocol"},
		{Name: "a reset after the end", replies: true, Bytes: slices.Concat(body(empty), ok, reset(0)), Status: "OK"},
		{Name: "a reset before the end", replies: true, Bytes: slices.Concat(body(empty), reset(8)), Class: "reset CANCEL"},
		{Name: "long trailers", replies: true, Bytes: slices.Concat(body(empty), end("grpc-status", "0", "x", strings.Repeat("x", 16_000))), Status: "OK"},
	}
	for _, o := range all {
		talk := o
		talk.Name, talk.Method, talk.Check, talk.Expect = "talk: "+o.Name, "FullDuplexCall", "", ""
		switch {
		case o.replies:
			talk.Status, talk.Class = "", ""
		case o.Class == "" && o.Status != "OK":
			talk.Class = "status"
		case o.Name == "no message":
			talk.Class = "closed"
		case o.Class != "status":
			talk.Status = ""
		}
		all = append(all, talk)
	}
	return all
}

// bomb returns a compressed message of a kilobyte that is a megabyte long.
func bomb() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(make([]byte, 1<<20))
	_ = w.Close()
	return string(append(binary.BigEndian.AppendUint32([]byte{1}, uint32(b.Len())), b.Bytes()...))
}
