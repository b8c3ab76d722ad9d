package http2test

import (
	"fmt"
	"slices"
	"strings"
)

// mostHead is the limit of heads, as package http2 counts it: 32 bytes for each header, and its name and value.
const mostHead = 64 << 10

// heads are heads that are too long.
func heads() []Case {
	tooLong := func(c *Case) {
		c.Want[0].Class, c.Sent = HeadLimit, "RST_STREAM 1 ENHANCE_YOUR_CALM"
	}
	ends := func(c *Case) { c.Want[0].Class, c.Sent = HeadLimit, "GOAWAY ENHANCE_YOUR_CALM" }
	// An entry of nearly the whole table, and then a byte for each time that it comes again.
	bomb := "\x88\x40\x01a" + string(appendText(nil, strings.Repeat("b", 4000)))
	many := func(flags byte, n int) []byte {
		block := Block(append([]string{":status", "200"}, slices.Repeat([]string{"a", "b"}, n)...)...)
		return slices.Concat(Frame(headersFrame, flags, 1, block[:1000]), split(1, block[1000:]))
	}
	fits := (mostHead - len(":status200") - 32) / 34
	return []Case{
		malformed("10.5.1 a bomb", Frame(headersFrame, endHeaders|endStream, 1, []byte(bomb+strings.Repeat("\xbe", 100)))).with(tooLong),
		malformed("10.5.1 a bomb that fills a frame", Frame(headersFrame, endHeaders|endStream, 1, []byte(bomb+strings.Repeat("\xbe", 12000)))).with(tooLong),
		malformed("10.5.1 a bomb in trailers", Headers(1, false, ":status", "200"), Frame(headersFrame, endHeaders|endStream, 1, []byte(bomb[1:]+strings.Repeat("\xbe", 100)))).with(tooLong).status(200, 0),
		answered("10.5.1 as many headers as may be", many(endStream, fits)).status(200, 0),
		malformed("10.5.1 a header more", many(endStream, fits+1)).with(tooLong),
		malformed("10.5.1 interim answers that are too long together", repeat(5, Headers(1, false, ":status", "103", "a", strings.Repeat("b", 15000)))).with(tooLong),
		broken("10.5.1 CONTINUATION without end", "", Frame(headersFrame, 0, 1, Block(":status", "200")), repeat(100, Frame(continuation, 0, 1, Block("a", strings.Repeat("b", 1000))))).with(ends),
		broken("10.5.1 empty CONTINUATION without end", "", Frame(headersFrame, 0, 1, Block(":status", "200")), repeat(8000, Frame(continuation, 0, 1, nil))).with(ends),
		broken("10.5.1 a string beyond the limit", "", Frame(headersFrame, endHeaders, 1, []byte("\x88\x00\x7f\xff\xff\xff\x7f"))).with(ends),
	}
}

// split returns the rest of a block in CONTINUATION frames.
func split(stream uint32, block []byte) (b []byte) {
	for len(block) > 0 {
		n := min(len(block), 16384)
		b = append(b, Frame(continuation, flag(n == len(block), endHeaders), stream, block[:n])...)
		block = block[n:]
	}
	return b
}

// bodies are bodies around the limit of the request. The connection goes on.
func bodies() (cases []Case) {
	for _, limit := range []int{1, 10, 5000, 100000} {
		for size := limit - 1; size <= limit+1; size++ {
			var sent []byte
			for rest := size; rest > 0; rest -= 16384 {
				sent = append(sent, Data(1, strings.Repeat("x", min(rest, 16384)), false)...)
			}
			for _, sized := range []bool{false, true} {
				begin := head()
				if sized {
					begin = head("content-length", fmt.Sprint(size))
				}
				c := answered(fmt.Sprintf("8.1 %d bytes of %d, with a length: %v", size, limit, sized), begin, sent, Data(1, "", true), Headers(3, true, ":status", "200")).status(200, int64(size))
				c.Requests, c.BodyLimit = 2, int64(limit)
				c.Want = append(c.Want, Outcome{Status: 200})
				if size > limit {
					c.Want[0].Class, c.Sent = BodyLimit, "RST_STREAM 1 CANCEL"
				}
				cases = append(cases, c)
			}
		}
	}
	chunk := Data(1, strings.Repeat("x", 16384), false)
	return append(cases,
		// The window of a stream is not enlarged after its reset, that of the connection is.
		broken("6.9.1 more than the window of a stream that was reset", "FLOW_CONTROL_ERROR", head(), repeat(66, chunk)).with(func(c *Case) {
			c.Requests, c.BodyLimit, c.Sent = 2, 10, "RST_STREAM 1 CANCEL; GOAWAY FLOW_CONTROL_ERROR"
			c.Want = []Outcome{{Class: BodyLimit, Status: 200, Body: 11}, {Class: Protocol}}
		}),
		answered("6.9 a body of several windows", head(), repeat(300, chunk), Data(1, "", true)).status(200, 300*16384),
		Case{Name: "6.9 bodies of streams that were reset use up no window", Requests: 40, BodyLimit: 10, Steps: steps(resetBodies(40)), Want: []Outcome{{Class: BodyLimit, Status: 200, Body: 11}}, Sent: resetsOf(40)},
	)
}

// resetBodies are bodies that together take more than the window of the connection.
func resetBodies(n int) (b []byte) {
	for i := range n {
		id := uint32(2*i + 1)
		b = append(b, Headers(id, false, ":status", "200")...)
		b = append(b, repeat(60, Data(id, strings.Repeat("x", 16384), false))...)
	}
	return b
}

func resetsOf(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("RST_STREAM %d CANCEL", 2*i+1))
	}
	return strings.Join(all, "; ")
}

// floods are frames that carry nothing, more than a server may send while no request moves.
func floods() (cases []Case) {
	const enough = 10001
	for name, frame := range map[string][]byte{
		"PRIORITY": Frame(priority, 0, 1, make([]byte, 5)), "unknown frames": Frame(99, 0, 1, nil), "WINDOW_UPDATE": number(windowUpdate, 1, 1),
		"PING": Frame(ping, 0, 0, make([]byte, 8)), "SETTINGS": Settings(window, 1), "acknowledgments": Frame(settings, ack, 0, nil),
	} {
		cases = append(cases, broken("10.5 a flood of "+name, "ENHANCE_YOUR_CALM", repeat(enough, frame)))
	}
	return append(cases,
		broken("10.5 a flood of empty DATA", "ENHANCE_YOUR_CALM", head(), repeat(enough, Data(1, "", false))).status(200, 0),
		broken("10.5 a flood of padding", "ENHANCE_YOUR_CALM", head(), repeat(enough, Frame(dataFrame, padded, 1, []byte("\x04\x00\x00\x00\x00")))).status(200, 0),
		broken("10.5 a flood of GOAWAY", "ENHANCE_YOUR_CALM", repeat(enough, leave(1, 0))),
		answered("10.5 frames that are no flood", repeat(1000, Settings(window, 1)), repeat(1000, number(windowUpdate, 1, 1)), Answer(1)),
	)
}

// uploads are bodies of requests under flow control.
func uploads() []Case {
	post := func(name string, size int, settings []byte, more ...Step) Case {
		c := answered(name)
		c.Method, c.Body = "POST", size
		c.Steps = append(steps(settings), append(more, Step{size * c.Count(), Answer(1)})...)
		return c
	}
	return []Case{
		post("6.9 a body that fits", 65535, Settings()),
		post("6.9 a body beyond the first window", 200000, Settings(),
			Step{65535, number(windowUpdate, 0, 1)}, Step{65535, number(windowUpdate, 1, 1000)}, Step{65536, number(windowUpdate, 0, 200000)}, Step{66535, number(windowUpdate, 1, 200000)}),
		post("6.9.2 a window of nothing", 65545, Settings(),
			Step{65535, slices.Concat(number(windowUpdate, 0, 100000), Settings(window, 0), number(windowUpdate, 1, 65535), number(windowUpdate, 1, 4))},
			Step{65539, number(windowUpdate, 1, 1)}, Step{65540, Settings(window, 10)}),
		post("6.9.2 a window that becomes negative", 75536, Settings(),
			Step{65535, slices.Concat(number(windowUpdate, 0, 100000), Settings(window, 1), number(windowUpdate, 1, 65534), number(windowUpdate, 1, 1))},
			Step{65536, Settings(window, 20000)}),
		post("6.5.2 a window that is taken back in time", 5, Settings(window, 0, window, 100)),
		{Name: "8.1 an answer before the whole body", Method: "POST", Body: 100000, Steps: []Step{{65535, Answer(1)}, {65535, number(rstStream, 1, 0)}}, Want: []Outcome{{Status: 200, Body: 5}}, Sent: "RST_STREAM 1 CANCEL"},
		{Name: "6.4 RST_STREAM in the request", Method: "POST", Body: 100000, Requests: 2, Steps: []Step{{65535, slices.Concat(number(rstStream, 1, 7), number(rstStream, 3, 7))}}, Want: []Outcome{{Class: Reset + "REFUSED_STREAM"}}},
		{Name: "6.9 a window that never opens", Method: "POST", Body: 100000, Steps: []Step{{65535, nil}}, Want: []Outcome{{Class: Timeout}}},
	}
}
