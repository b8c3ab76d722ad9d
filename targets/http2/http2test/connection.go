package http2test

import (
	"fmt"
	"slices"
	"strings"
)

// prefaces are beginnings of a connection.
func prefaces() []Case {
	raw := func(c *Case) { c.Raw = true }
	return []Case{
		answered("3.4 settings, then an answer", Settings(maxStreams, 100, window, 65535, maxFrame, 16384), Answer(1)).with(raw),
		broken("3.4 an answer of HTTP/1", "PROTOCOL_ERROR", []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")).with(raw),
		broken("3.4 no HTTP", "PROTOCOL_ERROR", []byte("220 example.com ESMTP\r\n")).with(raw),
		broken("3.4 PING first", "PROTOCOL_ERROR", Frame(ping, 0, 0, make([]byte, 8))).with(raw),
		broken("3.4 an acknowledgment first", "PROTOCOL_ERROR", Frame(settings, ack, 0, nil)).with(raw),
		broken("3.4 an answer before the settings", "PROTOCOL_ERROR", Answer(1)).with(raw),
		broken("3.4 GOAWAY first", "PROTOCOL_ERROR", leave(0, 0)).with(raw),
		{Name: "3.4 nothing", Raw: true, Want: []Outcome{{Class: Timeout}}},
		{Name: "3.4 it hangs up", Raw: true, Closes: true, Want: []Outcome{{Class: EOF}}, Ends: true},
		{Name: "3.4 it hangs up in a frame", Raw: true, Steps: steps([]byte{0, 0}), Closes: true, Want: []Outcome{{Class: EOF}}, Ends: true},
	}
}

// frames are frames of wrong sizes, and unknown ones.
func frames() []Case {
	cases := []Case{
		answered("4.1 unknown types", Frame(10, 0, 0, nil), Frame(200, 0xff, 1, make([]byte, 16384)), Frame(255, 0, 99, []byte("x")), Answer(1)),
		answered("4.1 unknown flags", Settings(), Frame(headersFrame, 0xd2|endHeaders, 1, Block(":status", "200")), Frame(dataFrame, 0xf7, 1, []byte("hello"))),
		answered("4.1 the reserved bit", Frame(headersFrame, endHeaders, 1<<31|1, Block(":status", "200")), Frame(dataFrame, endStream, 1<<31|1, []byte("hello"))),
		answered("4.2 the largest frame", Headers(1, false, ":status", "200"), Data(1, strings.Repeat("x", 16384), true)).status(200, 16384),
		broken("4.2 DATA of a byte more", "FRAME_SIZE_ERROR", Headers(1, false, ":status", "200"), Data(1, strings.Repeat("x", 16385), true)).status(200, 0),
		broken("4.2 HEADERS of a byte more", "FRAME_SIZE_ERROR", Frame(headersFrame, endHeaders, 1, make([]byte, 16385))),
		broken("4.2 an unknown frame of a byte more", "FRAME_SIZE_ERROR", Frame(99, 0, 1, make([]byte, 16385))),
		broken("4.2 the largest size", "FRAME_SIZE_ERROR", []byte{0xff, 0xff, 0xff, 6, 0, 0, 0, 0, 0}),
		broken("5.5 an unknown frame in a header block", "PROTOCOL_ERROR", Frame(headersFrame, 0, 1, Block(":status", "200")), Frame(99, 0, 1, nil)),
	}
	for kind, sizes := range map[byte][]int{priority: {0, 4, 6}, rstStream: {0, 3, 5}, settings: {1, 5, 7}, ping: {0, 7, 9}, goAway: {0, 7}, windowUpdate: {0, 3, 5}} {
		id := uint32(1)
		if kind == settings || kind == ping || kind == goAway {
			id = 0
		}
		for _, n := range sizes {
			cases = append(cases, broken(fmt.Sprintf("4.2 a frame of type %d with %d bytes", kind, n), "FRAME_SIZE_ERROR", Frame(kind, 0, id, make([]byte, n))))
		}
	}
	for kind := byte(dataFrame); kind <= continuation; kind++ {
		id, payload := uint32(0), []byte("1234")
		switch kind {
		case settings, ping, goAway:
			id, payload = 1, make([]byte, map[byte]int{settings: 0, ping: 8, goAway: 8}[kind])
		case priority:
			payload = make([]byte, 5)
		case windowUpdate, pushPromise: // with both, and with none
			continue
		}
		cases = append(cases, broken(fmt.Sprintf("6 a frame of type %d on stream %d", kind, id), "PROTOCOL_ERROR", Frame(kind, 0, id, payload)))
	}
	return cases
}

// compressed are header blocks that cannot be decoded.
func compressed() (cases []Case) {
	for name, block := range map[string]string{
		"index 0":                       "\x80",
		"an index beyond the table":     "\xff\x00",
		"a name beyond the table":       "\x7f\x7f\x01a",
		"an endless integer":            "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"a string that is cut off":      "\x88\x00\x05abc",
		"an integer that is cut off":    "\x88\xff",
		"a table that is too large":     "\x3f\xe2\x1f\x88", // 4097
		"a Huffman code that is no end": "\x88\x00\x84\xff\xff\xff\xff\x01a",
		"Huffman padding of zeros":      "\x88\x00\x81\x18\x01a",
	} {
		cases = append(cases, broken("4.3 "+name, "COMPRESSION_ERROR", Frame(headersFrame, endHeaders|endStream, 1, []byte(block))))
	}
	table := "\x88\x40\x01a\x01b" // 200, and a header that is put into the table
	return append(cases,
		answered("4.3 the table is used", Frame(headersFrame, endHeaders, 1, []byte(table+"\xbe")), Data(1, "hello", true)),
		answered("4.3 the table is emptied and used", Frame(headersFrame, endHeaders, 1, []byte("\x20\x3f\xe1\x1f"+table+"\xbe")), Data(1, "hello", true)),
		broken("4.3 an entry that was evicted", "COMPRESSION_ERROR", Frame(headersFrame, endHeaders, 1, []byte("\x20"+table+"\xbe"))),
		Case{
			Name: "4.3 the table stays right after a malformed answer", Requests: 3,
			Steps: steps(
				Frame(headersFrame, endHeaders, 1, []byte(table+"\x00\x01A\x01b")),
				Frame(headersFrame, endHeaders|endStream, 3, []byte("\x88\xbe")),
				Frame(headersFrame, endHeaders|endStream, 5, []byte("\x88\xbf"))),
			Want: []Outcome{{Class: Protocol}, {Status: 200}, {Class: Protocol}}, Sent: "RST_STREAM 1 PROTOCOL_ERROR; GOAWAY COMPRESSION_ERROR", Ends: true,
		},
	)
}

// closed are frames after the end of a stream.
func closed() (cases []Case) {
	late := map[string][]byte{
		"DATA": Data(1, "x", false), "empty DATA": Data(1, "", true), "HEADERS": Headers(1, true, "a", "b"), "a second head": Headers(1, false, ":status", "200"),
	}
	for name, bytes := range late {
		cases = append(cases,
			broken("5.1 "+name+" after the end", "STREAM_CLOSED", Answer(1), bytes).with(func(c *Case) {
				c.Requests, c.Want = 2, []Outcome{{Status: 200, Body: 5}, {Class: Protocol}}
			}),
			broken("5.1 "+name+" after RST_STREAM", "STREAM_CLOSED", number(rstStream, 1, 8), bytes).with(func(c *Case) {
				c.Requests, c.Want = 2, []Outcome{{Class: Reset + "CANCEL"}, {Class: Protocol}}
			}))
		if strings.HasPrefix(name, "empty") {
			continue
		}
		// The server may not know of our reset yet.
		cases = append(cases, malformed("5.1 "+name+" after our reset", Headers(1, false), bytes))
	}
	return append(cases, Case{
		Name: "5.1 other frames after the end", Requests: 2,
		Steps: steps(Answer(1), number(windowUpdate, 1, 5), number(rstStream, 1, 0), number(rstStream, 1, 8), Frame(priority, 0, 1, make([]byte, 5)), number(windowUpdate, 1, 0), Answer(3)),
		Want:  []Outcome{{Status: 200, Body: 5}},
	})
}

// idle are frames of streams that do not exist.
func idle() (cases []Case) {
	for _, id := range []uint32{2, 3, 1<<31 - 1, 1<<31 - 2} {
		for name, bytes := range map[string][]byte{
			"DATA": Data(id, "x", false), "HEADERS": Headers(id, true, ":status", "200"), "RST_STREAM": number(rstStream, id, 0), "WINDOW_UPDATE": number(windowUpdate, id, 1),
		} {
			cases = append(cases, broken(fmt.Sprintf("5.1 %s of stream %d", name, id), "PROTOCOL_ERROR", bytes))
		}
	}
	return append(cases, answered("5.1 PRIORITY of a stream that does not exist", Frame(priority, 0, 9, make([]byte, 5)), Answer(1)))
}

// resets are RST_STREAM.
func resets() (cases []Case) {
	for code, name := range map[uint32]string{0: "NO_ERROR", 1: "PROTOCOL_ERROR", 2: "INTERNAL_ERROR", 7: "REFUSED_STREAM", 8: "CANCEL", 11: "ENHANCE_YOUR_CALM", 13: "HTTP_1_1_REQUIRED", 14: "UNKNOWN", 1<<32 - 1: "UNKNOWN"} {
		cases = append(cases, Case{
			Name: fmt.Sprintf("6.4 RST_STREAM %d", code), Requests: 2, Steps: steps(number(rstStream, 1, code), Answer(3)),
			Want: []Outcome{{Class: Reset + name}, {Status: 200, Body: 5}},
		})
	}
	return append(cases,
		Case{Name: "6.4 RST_STREAM in the body", Steps: steps(Headers(1, false, ":status", "200"), Data(1, "hello", false), number(rstStream, 1, 2)), Want: []Outcome{{Class: Reset + "INTERNAL_ERROR", Status: 200, Body: 5}}},
		Case{Name: "6.4 a storm of RST_STREAM", Requests: 90, Steps: steps(storm(90)), Want: []Outcome{{Class: Reset + "REFUSED_STREAM"}}})
}

func storm(n int) (b []byte) {
	for i := range n {
		b = append(b, number(rstStream, uint32(2*i+1), 7)...)
	}
	return b
}

// changes are SETTINGS.
func changes() (cases []Case) {
	for name, pairs := range map[string][2]uint32{
		"a push": {enablePush, 1}, "a push, oddly": {enablePush, 2}, "frames too small": {maxFrame, 16383}, "frames too large": {maxFrame, 1 << 24}, "frames of nothing": {maxFrame, 0},
	} {
		cases = append(cases, broken("6.5.2 "+name, "PROTOCOL_ERROR", Settings(pairs[0], pairs[1])))
	}
	return append(cases,
		broken("6.5.2 a window too large", "FLOW_CONTROL_ERROR", Settings(window, 1<<31)),
		broken("6.5 an acknowledgment of something", "FRAME_SIZE_ERROR", Frame(settings, ack, 0, make([]byte, 6))),
		answered("6.5 unknown settings", Settings(0, 1, 7, 2, 99, 3, 0xffff, 0xffffffff), Answer(1)),
		answered("6.5.2 the largest values", Settings(tableSize, 1<<32-1, maxStreams, 1<<32-1, window, 1<<31-1, maxFrame, 1<<24-1, enablePush, 0), Answer(1)),
		answered("6.5.2 the smallest values", Settings(tableSize, 0, window, 0, maxFrame, 16384), Answer(1)),
		answered("6.5.3 acknowledgments that nobody needs", Frame(settings, ack, 0, nil), Frame(settings, ack, 0, nil), Answer(1)),
		answered("6.5 settings in the middle", Headers(1, false, ":status", "200"), Settings(window, 5), Data(1, "he", false), Settings(window, 100000), Data(1, "llo", true)),
	)
}

// pings are PING.
func pings() []Case {
	return []Case{
		answered("6.7 PING", Frame(ping, 0, 0, []byte("12345678")), Answer(1)),
		answered("6.7 an answer to no PING", Frame(ping, ack, 0, []byte("12345678")), Answer(1)),
	}
}

// leaving are GOAWAY.
func leaving() []Case {
	two := func(c *Case) { c.Requests, c.Ends = 2, true }
	both := []Outcome{{Status: 200, Body: 5}, {Class: Unprocessed}}
	return []Case{
		answered("6.8 GOAWAY after both", Answer(1), Answer(3), leave(3, 0)).with(two),
		answered("6.8 GOAWAY, then the answers", leave(3, 0), Answer(3), Answer(1)).with(two),
		answered("6.8 GOAWAY twice, gracefully", leave(1<<31-1, 0), Answer(1), leave(3, 0), Answer(3)).with(two),
		answered("6.8 GOAWAY in the middle of a stream", Headers(1, false, ":status", "200"), Data(1, "he", false), leave(1, 0), Data(1, "llo", true)).with(two).with(func(c *Case) { c.Want = both }),
		answered("6.8 GOAWAY before an answer, with an error", leave(1, 2), Answer(1)).with(two).with(func(c *Case) { c.Want = both }),
		{Name: "6.8 GOAWAY before anything", Requests: 2, Steps: steps(leave(0, 0)), Want: []Outcome{{Class: Unprocessed}}, Ends: true},
		{Name: "6.8 GOAWAY on each connection", Steps: steps(leave(0, 0)), Leaves: true, Want: []Outcome{{Class: Unprocessed}}, Ends: true},
		{Name: "6.8 GOAWAY, then the end", Requests: 2, Steps: steps(leave(1, 11)), Closes: true, Want: []Outcome{{Class: EOF}, {Class: Unprocessed}}, Ends: true},
		broken("6.8 GOAWAY that takes something back", "PROTOCOL_ERROR", leave(0, 0), leave(1, 0)).with(func(c *Case) { c.Want[0].Class, c.Sent = Unprocessed, "GOAWAY PROTOCOL_ERROR" }),
		broken("6.8 an answer that was not to come", "STREAM_CLOSED", leave(1, 0), Answer(3)).with(func(c *Case) {
			c.Requests, c.Want = 2, []Outcome{{Class: Protocol}, {Class: Unprocessed}}
		}),
	}
}

// windows are WINDOW_UPDATE.
func windows() []Case {
	return []Case{
		broken("6.9 nothing for the connection", "PROTOCOL_ERROR", number(windowUpdate, 0, 0)),
		broken("6.9 nothing but the reserved bit", "PROTOCOL_ERROR", number(windowUpdate, 0, 1<<31)),
		broken("6.9.1 too much for the connection", "FLOW_CONTROL_ERROR", number(windowUpdate, 0, 1<<31-1)),
		malformed("6.9 nothing for a stream", number(windowUpdate, 1, 0)),
		malformed("6.9.1 too much for a stream", number(windowUpdate, 1, 1<<31-1)).with(func(c *Case) { c.Sent = "RST_STREAM 1 FLOW_CONTROL_ERROR" }),
		broken("6.9.2 too much by a setting", "FLOW_CONTROL_ERROR", number(windowUpdate, 1, 1<<30), Settings(window, 1<<31-1)),
		answered("6.9.2 too much by a setting that the same frame takes back", number(windowUpdate, 1, 1<<30), Settings(window, 1<<31-1, window, 65535), Answer(1)),
		answered("6.9.1 as much as can be", number(windowUpdate, 0, 1<<31-1-65535), number(windowUpdate, 1, 1<<31-1-65535), Answer(1)),
	}
}

// continued are header blocks in several frames.
func continued() []Case {
	block := Block(":status", "200", "a", strings.Repeat("b", 300))
	part := func(kind, flags byte, bytes []byte) []byte { return Frame(kind, flags, 1, bytes) }
	var bytes [][]byte
	for i := range block {
		bytes = append(bytes, part(continuation, flag(i == len(block)-1, endHeaders), block[i:i+1]))
	}
	return []Case{
		answered("6.10 a block in two frames", part(headersFrame, 0, block[:9]), part(continuation, endHeaders, block[9:]), Data(1, "hello", true)),
		answered("6.10 a block in frames of a byte", part(headersFrame, 0, nil), slices.Concat(bytes...), Data(1, "hello", true)),
		answered("6.10 empty frames", part(headersFrame, 0, nil), repeat(100, part(continuation, 0, nil)), part(continuation, endHeaders, block), Data(1, "hello", true)),
		answered("6.10 END_STREAM comes first", part(headersFrame, endStream, block[:9]), part(continuation, endHeaders, block[9:])).status(200, 0),
		broken("6.10 CONTINUATION of nothing", "PROTOCOL_ERROR", part(continuation, endHeaders, block)),
		broken("6.10 CONTINUATION after the end of the block", "PROTOCOL_ERROR", part(headersFrame, endHeaders, block), part(continuation, endHeaders, nil)).status(200, 0),
		broken("6.10 CONTINUATION of another stream", "PROTOCOL_ERROR", part(headersFrame, 0, block), Frame(continuation, endHeaders, 3, nil)).with(func(c *Case) { c.Requests = 2 }),
		broken("6.10 DATA in a block", "PROTOCOL_ERROR", part(headersFrame, 0, block), Data(1, "hello", true)),
		broken("6.10 HEADERS in a block", "PROTOCOL_ERROR", part(headersFrame, 0, block), part(headersFrame, endHeaders, block)),
		broken("6.10 PING in a block", "PROTOCOL_ERROR", part(headersFrame, 0, block), Frame(ping, 0, 0, make([]byte, 8))),
		broken("6.10 SETTINGS in a block", "PROTOCOL_ERROR", part(headersFrame, 0, block), Settings()),
		{Name: "6.10 a block that does not end", Steps: steps(part(headersFrame, 0, block)), Want: []Outcome{{Class: Timeout}}},
		broken("6.6 a push", "PROTOCOL_ERROR", Frame(pushPromise, endHeaders, 1, append([]byte{0, 0, 0, 2}, block...))),
		broken("6.6 a push of nothing", "PROTOCOL_ERROR", Frame(pushPromise, endHeaders, 0, nil)),
	}
}
