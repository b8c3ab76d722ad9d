package http1test

import (
	"fmt"
	"strings"
)

// A piece of an answer.
type piece struct {
	text string
	data bool // part of the body
}

// A good answer, in the pieces at which it can be cut.
type answer struct {
	name       string
	head       string // including interim ones
	pieces     []piece
	status     int
	untilClose bool // the close ends it
	keep       bool
	toHead     bool
}

// answers are the basis of other cases.
func answers() []answer {
	return []answer{
		{
			name: "length", head: ok + "Content-Length: 5\r\n\r\n",
			pieces: []piece{{"hello", true}}, status: 200, keep: true,
		},
		{
			name: "no body", head: "HTTP/1.1 404 Not Found\r\nServer: a\r\nContent-Length: 0\r\n\r\n",
			status: 404, keep: true,
		},
		{
			name: "LF only", head: "HTTP/1.1 200 OK\nA: b\nContent-Length: 3\n\n",
			pieces: []piece{{"abc", true}}, status: 200, keep: true,
		},
		{
			name: "chunked", head: ok + "transfer-encoding: chunked\r\n\r\n",
			pieces: []piece{{"3\r\n", false}, {"abc", true}, {"\r\nA\r\n", false}, {"0123456789", true}, {"\r\n0\r\n", false}, {"\r\n", false}},
			status: 200, keep: true,
		},
		{
			name: "chunked with trailers and extensions", head: ok + "Transfer-Encoding: chunked\r\nTrailer: A\r\n\r\n",
			pieces: []piece{{"003;a=b;c=\"d\"\r\n", false}, {"abc", true}, {"\r\n0;e\r\n", false}, {"A: b\r\nB:\r\n\r\n", false}},
			status: 200, keep: true,
		},
		{
			name: "until the end", head: ok + "A: b\r\n\r\n",
			pieces: []piece{{"some text\r\n", true}}, status: 200, untilClose: true,
		},
		{
			name: "1.0", head: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
			pieces: []piece{{"ab", true}}, status: 200,
		},
		{
			name:   "after interim answers",
			head:   "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n",
			pieces: []piece{{"x", true}}, status: 201, keep: true,
		},
		{name: "204", head: "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n", status: 204, keep: true},
		{name: "304 with a length", head: "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", status: 304, keep: true},
		{name: "HEAD", head: ok + "Content-Length: 500\r\n\r\n", status: 200, keep: true, toHead: true},
		{name: "HEAD of what is chunked", head: ok + "Transfer-Encoding: chunked\r\n\r\n", status: 200, keep: true, toHead: true},
		{name: "HEAD of what is until the end", head: ok + "\r\n", status: 200, keep: true, toHead: true},
		{
			name: "redirect", head: "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 3\r\n\r\n",
			pieces: []piece{{"abc", true}}, status: 302, keep: true,
		},
		{
			name: "closing", head: ok + "Connection: close\r\nContent-Length: 3\r\n\r\n",
			pieces: []piece{{"abc", true}}, status: 200,
		},
	}
}

// text returns the whole answer.
func (a answer) text() string {
	var b strings.Builder
	b.WriteString(a.head)
	for _, p := range a.pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

// cut returns the answer's first n bytes, fewer than all.
func (a answer) cut(n int) Case {
	c := Case{
		Name: fmt.Sprintf("%s, cut after %d", a.name, n), Bytes: []byte(a.text()[:n]), In: n,
		Head: a.toHead, Class: Timeout,
	}
	if n -= len(a.head); n < 0 {
		return c
	}
	c.Status = a.status
	for i, p := range a.pieces {
		if !p.data && i == len(a.pieces)-1 {
			c.Unlike = cutTrailers
		}
		if p.data {
			c.Body += int64(min(n, len(p.text)))
		}
		if n -= len(p.text); n < 0 {
			break
		}
	}
	return c
}

// all returns the whole answer, followed by rest.
func (a answer) all(rest string) Case {
	c := answered(a.name, a.text(), rest, a.status, 0, a.keep)
	c.Head = a.toHead
	for _, p := range a.pieces {
		if p.data {
			c.Body += int64(len(p.text))
		}
	}
	return c
}

// whole returns good answers. What the server does afterwards does not matter, except where only its close ends the
// answer.
func whole() (cases []Case) {
	for _, a := range answers() {
		c := a.all("")
		if a.untilClose {
			c = c.closing()
		}
		cases = append(cases, c)
		if a.toHead {
			continue
		}
		// An answer to HEAD has no body, so these bytes are too many.
		h := answered(a.name+", to HEAD", a.head, a.text()[len(a.head):], a.status, 0, a.keep || a.untilClose)
		cases = append(cases, h.toHead())
	}
	return cases
}

// cutShort returns good answers that end early, at every byte: the server closes, or falls silent.
func cutShort() (cases []Case) {
	for _, a := range answers() {
		for n := range len(a.text()) {
			c := a.cut(n)
			if n%11 == 0 || n == len(a.text())-1 {
				open := c
				open.Name += ", stays open"
				cases = append(cases, open)
			}
			c.Name += ", closes"
			c.Class = EOF
			if a.untilClose && n >= len(a.head) {
				c.Class = OK
			}
			cases = append(cases, c.closing())
		}
	}
	return cases
}

// followed returns good answers followed by other bytes.
func followed() (cases []Case) {
	for _, a := range answers() {
		if a.untilClose {
			continue
		}
		for _, rest := range []string{"x", "\r\n", "\x00", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", strings.Repeat("x", 3000)} {
			c := a.all(rest)
			c.Name = fmt.Sprintf("%s, followed by %.20q", a.name, rest)
			cases = append(cases, c)
			c.Name += ", closes"
			cases = append(cases, c.closing())
		}
	}
	return cases
}
