package http2test

import (
	"fmt"
	"slices"
	"strings"
)

// head returns the head of an answer 200 to the first request, with more fields.
func head(fields ...string) []byte {
	return Headers(1, false, slices.Concat([]string{":status", "200"}, fields)...)
}

// only is head for an answer without a body.
func only(fields ...string) []byte {
	return Headers(1, true, slices.Concat([]string{":status", "200"}, fields)...)
}

// data are DATA frames with padding, and in odd parts.
func data() []Case {
	pad := func(flags byte, payload string) []byte { return Frame(dataFrame, padded|flags, 1, []byte(payload)) }
	return []Case{
		answered("6.1 padding", head(), pad(endStream, "\x03hello\x00\x00\x00")),
		answered("6.1 no padding, but its length", head(), pad(endStream, "\x00hello")),
		answered("6.1 padding that is not zero", head(), pad(endStream, "\xffhello"+strings.Repeat("\xff", 255))),
		answered("6.1 padding alone", head(), pad(0, "\x02\x00\x00"), pad(0, "\x00"), Data(1, "hello", false), pad(endStream, "\x01\x00")),
		answered("6.1 bytes one by one, with empty frames", head(), Data(1, "h", false), Data(1, "", false), Data(1, "e", false), Data(1, "llo", false), Data(1, "", true)),
		broken("6.1 padding as long as the frame", "PROTOCOL_ERROR", head(), pad(endStream, "\x06hello")).status(200, 0),
		broken("6.1 padding longer than the frame", "PROTOCOL_ERROR", head(), pad(0, "\xff")).status(200, 0),
		broken("6.1 padding without its length", "FRAME_SIZE_ERROR", head(), pad(0, "")).status(200, 0),
	}
}

// headers are HEADERS frames with padding and a priority.
func headers() []Case {
	block := string(Block(":status", "200"))
	frame := func(flags byte, payload string) []byte {
		return Frame(headersFrame, flags|endHeaders, 1, []byte(payload))
	}
	rest := Data(1, "hello", true)
	return []Case{
		answered("6.2 padding", frame(padded, "\x02"+block+"\x00\x00"), rest),
		answered("6.2 a priority", frame(weighted, "\x80\x00\x00\x03\xff"+block), rest),
		answered("6.2 a priority that depends on itself", frame(weighted, "\x00\x00\x00\x01\x00"+block), rest),
		answered("6.2 padding and a priority", frame(padded|weighted, "\x01\x00\x00\x00\x03\xff"+block+"\x00"), rest),
		broken("6.2 padding longer than the frame", "PROTOCOL_ERROR", frame(padded, "\xff"+block)),
		broken("6.2 padding longer than the block", "PROTOCOL_ERROR", frame(padded|weighted, "\x03\x00\x00\x00\x00\x00\x88")),
		broken("6.2 padding without its length", "FRAME_SIZE_ERROR", frame(padded, "")),
		broken("6.2 half a priority", "FRAME_SIZE_ERROR", frame(weighted, "\x00\x00\x00\x00")),
		answered("6.3 PRIORITY", Frame(priority, 0, 1, make([]byte, 5)), head(), Frame(priority, 0, 1, make([]byte, 5)), rest),
	}
}

// sequences are answers of several heads and bodies.
func sequences() []Case {
	interim := func(code string, end bool) []byte { return Headers(1, end, ":status", code, "link", "x") }
	reset := func(c *Case) { c.Sent = "RST_STREAM 1 ENHANCE_YOUR_CALM" }
	return []Case{
		answered("8.1 interim answers", interim("100", false), interim("103", false), interim("199", false), Answer(1)),
		answered("8.1 as many interim answers as may be", repeat(8, interim("103", false)), Answer(1)),
		malformed("8.1 interim answers without end", repeat(9, interim("103", false))).with(reset),
		malformed("8.1 an interim answer that ends the stream", interim("100", true)),
		malformed("8.6 a change of protocols", interim("101", false)),
		malformed("8.1 an interim answer in the body", head(), interim("100", false)).status(200, 0),
		malformed("8.1 a body before the head", Data(1, "hello", true)),
		malformed("8.1 an empty body before the head", Data(1, "", true)),
		malformed("8.1 a body after an interim answer", interim("100", false), Data(1, "hello", true)),
		answered("8.1 trailers", head("trailer", "a"), Data(1, "hello", false), Headers(1, true, "a", "b")),
		answered("8.1 trailers, empty", head(), Data(1, "hello", false), Headers(1, true)),
		answered("8.1 trailers without a body", head(), Headers(1, true, "a", "b")).status(200, 0),
		malformed("8.1 trailers that do not end the stream", head(), Data(1, "hello", false), Headers(1, false, "a", "b")).status(200, 5),
		malformed("8.1 a second head", head(), only()).status(200, 0),
		malformed("8.1 a status in trailers", head(), Data(1, "hello", false), Headers(1, true, ":status", "200")).status(200, 5),
		malformed("8.2.2 a header of HTTP/1 in trailers", head(), Headers(1, true, "connection", "close")).status(200, 0),
		answered("8.1 no body", only()).status(200, 0),
		{Name: "8.1 no end", Steps: steps(head(), Data(1, "hello", false)), Want: []Outcome{{Class: Timeout, Status: 200, Body: 5}}},
		{Name: "8.1 no end, but that of the connection", Steps: steps(head(), Data(1, "hello", false)), Closes: true, Want: []Outcome{{Class: EOF, Status: 200, Body: 5}}, Ends: true},
		{Name: "8.1 no answer, but the end of the connection", Closes: true, Want: []Outcome{{Class: EOF}}, Ends: true, Requests: 3},
		answered("8.1 an answer, then the end of the connection", Answer(1)).with(func(c *Case) { c.Closes, c.Ends = true, true }),
		answered("5.1.2 answers in another order", Answer(5), head(), Headers(3, false, ":status", "200"), Data(3, "he", false), Data(1, "hel", false), Data(3, "llo", true), Data(1, "lo", true)).with(func(c *Case) { c.Requests = 3 }),
	}
}

// fields are headers with wrong names and values.
func fields() (cases []Case) {
	for _, name := range []string{"", "A", "a b", "a:b", "a\x00", "a\x7f", "a\xff", "a(", "a,", "a\r", "a\n", " a", "\t", "Content-Length", "ä", "a;", "a@", "a\""} {
		cases = append(cases, malformed(fmt.Sprintf("8.2.1 name %q", name), only(name, "x")))
	}
	for _, value := range []string{"\x00", "a\x00b", "a\rb", "a\nb", "a\r\nb: c", " a", "a ", "\ta", "a\t", " "} {
		cases = append(cases, malformed(fmt.Sprintf("8.2.1 value %q", value), only("a", value)))
	}
	for _, name := range []string{"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"} {
		cases = append(cases, malformed("8.2.2 "+name, only(name, "close")))
	}
	for _, f := range [][2]string{{"a", ""}, {"a", "b c\td"}, {"a", "\xff\x80"}, {"!#$%&'*+-.^_`|~09az", "x"}, {"te", "trailers"}, {"set-cookie", "a=b"}} {
		cases = append(cases, answered(fmt.Sprintf("8.2.1 %s: %q", f[0], f[1]), only(f[0], f[1])).status(200, 0))
	}
	return cases
}

// pseudo are pseudo headers.
func pseudo() (cases []Case) {
	for _, status := range []string{"", "2", "20", "2000", "2 0", "abc", "-20", "+20", "099", "000", "20x", "२00", "200 "} {
		cases = append(cases, malformed(fmt.Sprintf("8.3.2 status %q", status), Headers(1, true, ":status", status)))
	}
	for name, fields := range map[string][]string{
		"none": {}, "none, but a header": {"a", "b"}, "twice": {":status", "200", ":status", "200"}, "late": {"a", "b", ":status", "200"},
		"of a request": {":status", "200", ":path", "/"}, "of a request, first": {":method", "GET", ":status", "200"}, "unknown": {":status", "200", ":x", "y"},
		"without a name": {":status", "200", ":", "y"}, "in capital letters": {":STATUS", "200"}, "as a header": {"status", "200"}, "after the status": {":status", "200", "a", "b", ":status", "200"},
	} {
		cases = append(cases, malformed("8.3 pseudo headers: "+name, Headers(1, true, fields...)))
	}
	for _, status := range []int{200, 201, 204, 206, 299, 304, 400, 404, 500, 503, 599, 600, 999} {
		cases = append(cases, answered(fmt.Sprint("8.3.2 status ", status), Headers(1, true, ":status", fmt.Sprint(status))).status(status, 0))
	}
	return cases
}

// lengths are values of content-length.
func lengths() (cases []Case) {
	size := func(value string) []byte { return head("content-length", value) }
	for _, value := range []string{"5", "05", "5,5", "5 ,\t5"} {
		cases = append(cases, answered(fmt.Sprintf("8.1.1 length %q", value), size(value), Data(1, "hel", false), Data(1, "lo", true)))
	}
	for _, value := range []string{"x", "-5", "+5", "5.0", "", "5,6", "5,", "9223372036854775808", "0x5"} {
		cases = append(cases, malformed(fmt.Sprintf("8.1.1 length %q", value), size(value), Data(1, "hello", true)))
	}
	toHead := func(c *Case) { c.Method = "HEAD" }
	for _, code := range []string{"204", "304"} {
		n := map[string]int{"204": 204, "304": 304}[code]
		cases = append(cases,
			answered("8.1.1 a length and "+code, Headers(1, true, ":status", code, "content-length", "5")).status(n, 0),
			answered("8.1.1 an empty body and "+code, Headers(1, false, ":status", code), Data(1, "", true)).status(n, 0),
			malformed("8.1.1 a body and "+code, Headers(1, false, ":status", code, "content-length", "5"), Data(1, "hello", true)).status(n, 1))
	}
	return append(cases,
		malformed("8.1.1 shorter than its length", size("6"), Data(1, "hello", true)).status(200, 5),
		malformed("8.1.1 longer than its length", size("4"), Data(1, "hello", true)).status(200, 5),
		malformed("8.1.1 a length of 0, and a body", size("0"), Data(1, "hello", false)).status(200, 1),
		malformed("8.1.1 a length, and no body", only("content-length", "5")).status(200, 0),
		malformed("8.1.1 a length, and trailers instead of the rest", size("5"), Data(1, "he", false), Headers(1, true)).status(200, 2),
		malformed("8.1.1 two lengths", head("content-length", "5", "content-length", "6"), Data(1, "hello", true)),
		answered("8.1.1 the same length twice", head("content-length", "5", "content-length", "5"), Data(1, "hello", true)),
		answered("8.1.1 a length in trailers", head(), Data(1, "hello", false), Headers(1, true, "content-length", "7")),
		answered("8.1.1 a length of an interim answer", Headers(1, false, ":status", "100", "content-length", "99"), Answer(1)),
		answered("8.1.1 a length, to HEAD", only("content-length", "5")).status(200, 0).with(toHead),
		malformed("8.1.1 a body, to HEAD", size("5"), Data(1, "hello", true)).status(200, 1).with(toHead).with(func(c *Case) {
			c.Steps, c.Sent = append(c.Steps[:1], steps(Headers(3, true, ":status", "200"))...), "RST_STREAM 1 PROTOCOL_ERROR"
			c.Want[1].Body = 0
		}),
	)
}
