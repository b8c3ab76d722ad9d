package http1test

import (
	"fmt"
	"strings"
)

// end is the end of a head without a body.
const end = "Content-Length: 0\r\n\r\n"

// garbage returns data that is not HTTP/1. The answer ends with the first byte that shows this.
func garbage() (cases []Case) {
	for _, c := range []struct{ name, good, bad, rest string }{
		{"a TLS alert", "", "\x15", "\x03\x01\x00\x02\x02\x46"},
		{"the preface of HTTP/2 servers", "", "\x00", "\x00\x12\x04\x00\x00\x00\x00\x00"},
		{"the preface of HTTP/2 clients", "", "P", "RI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"HTTP/2 as text", "HTTP/", "2", " 200\r\n\r\n"},
		{"HTTP/2.0", "HTTP/", "2", ".0 200 OK\r\n" + end},
		{"HTTP/0.9", "HTTP/", "0", ".9 200 OK\r\n" + end},
		{"no version", "", "<", "html><body>hello</body></html>\n"},
		{"SSH", "", "S", "SH-2.0-OpenSSH\r\n"},
		{"SMTP", "", "2", "20 mail ESMTP\r\n"},
		{"Redis", "", "-", "ERR wrong number of arguments\r\n"},
		{"Icecast", "", "I", "CY 200 OK\r\n\r\n"},
		{"a request", "", "G", "ET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"small letters", "", "h", "ttp/1.1 200 OK\r\n" + end},
		{"CR first", "\r", "H", ok[1:] + end},
		{"two CRs first", "\r", "\r", "\n" + ok + end},
		{"an empty line and a space first", "\r\n", " ", ok + end},
		{"an empty line and SSH", "\r\n", "S", "SH-2.0-OpenSSH\r\n"},
		{"a space first", "", " ", ok + end},
		{"NUL", "", "\x00", ""},
		{"NULs", "", "\x00", strings.Repeat("\x00", 10000)},
		{"a byte order mark", "", "\xef", "\xbb\xbf" + ok + end},
		{"H and then a line's end", "H", "\n", ""},
	} {
		r := refused(c.name, c.good+c.bad, c.rest, 0)
		if strings.HasPrefix(c.name, "HTTP/2.0") || strings.HasPrefix(c.name, "HTTP/0.9") {
			r.Unlike = strictVersion
		}
		cases = append(cases, r)
		r.Name += ", closes"
		cases = append(cases, r.closing())
	}
	const first = "HTTP/1."
	for i := range first {
		for _, bad := range []byte{0, '\r', '\n', ' ', first[i] ^ 0x20, 0xff} {
			name := fmt.Sprintf("byte %d of the status line is %q", i, bad)
			wrong, rest := first[:i]+string([]byte{bad}), first[i+1:]+"1 200 OK\r\n"+end
			if wrong == "\r" || wrong == "\n" { // it might end a blank line
				wrong, rest = wrong+rest[:1], rest[1:]
			}
			cases = append(cases, refused(name, wrong, rest, 0))
		}
	}
	return append(cases, answered("nothing", "", "", 0, 0, false).failing(EOF).closing(),
		answered("silence", "", "", 0, 0, false).failing(Timeout))
}

// failing gives the case a class.
func (c Case) failing(class string) Case {
	c.Class, c.Keep = class, false
	return c
}

// statusLines are good and bad ones.
func statusLines() (cases []Case) {
	for _, s := range []string{
		"HTTP/1.1 200 OK", "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 200  two spaces", "HTTP/1.1 200 \t\xe4\xff",
		"HTTP/1.1  200 OK", "HTTP/1.1   200", "HTTP/1.1" + strings.Repeat(" ", 8000) + "200 OK", "HTTP/1.2 200 OK", "HTTP/1.9 200 OK", "HTTP/1.1 200 " + strings.Repeat("long ", 5000),
	} {
		cases = append(cases, answered(fmt.Sprintf("status line %.30q", s), s+"\r\n"+end, "", 200, 0, true))
	}
	for s, why := range map[string]string{
		"HTTP/1.": "", "HTTP/1.1": "", "HTTP/1.1 ": "", "HTTP/1.1 2": "", "HTTP/1.1 20": "", "HTTP/1.1 20 ": "", "HTTP/1.1 2000 OK": "",
		"HTTP/1.1 200OK": "", "HTTP/1.1\t200 OK": "", "HTTP/1.1 200\tOK": "", "HTTP/1.1200 OK": "", "HTTP/1.x 200 OK": "",
		"HTTP/1.11 200 OK": "", "HTTP/1.-1 200 OK": "", "HTTP/1. 200 OK": "", "HTTP/1 200 OK": "", "HTTP/1.1 0x0 OK": "",
		"HTTP/1.1 -10 OK": "", "HTTP/1.1 +20 OK": strictStatus, "HTTP/1.1  ": "", "HTTP/1.1  20": "", "HTTP/1.1 \t200 OK": "", "HTTP/1.1  2000": "",
		"HTTP/1.1" + strings.Repeat(" ", 9000) + "200 OK": strictStatus, "HTTP/1.1 099 OK": strictStatus,
		"HTTP/1.1 000 OK": strictStatus, "HTTP/1.1 2.0 OK": "", "HTTP/1.1 ２０": "", "HTTP/1.1 OK": "", "HTTP/1.1 OK 200": "",
		"HTTP/1.1 200 O\rK": strictReason, "HTTP/1.1 200 OK\r": strictReason,
	} {
		c := refused(fmt.Sprintf("status line %q", s), s+"\r\n", end, 0).because(why)
		if s == "HTTP/1 200 OK" {
			c.In = len("HTTP/1 ")
		}
		cases = append(cases, c)
	}
	return cases
}

// statuses returns all three-digit numbers. None has a body in the way it is sent.
func statuses() (cases []Case) {
	for code := 200; code < 1000; code++ {
		if code > 310 && code%37 != 0 {
			continue
		}
		head := fmt.Sprintf("HTTP/1.1 %d \r\n", code)
		cases = append(cases, answered(fmt.Sprint("status ", code), head+end, "", code, 0, true))
		c := answered(fmt.Sprintf("status %d with a length", code), head+"Content-Length: 3\r\n\r\nabc", "", code, 3, true)
		if code == 204 || code == 304 {
			c = answered(c.Name, head+"Content-Length: 3\r\n\r\n", "abc", code, 0, true)
		}
		cases = append(cases, c)
	}
	return append(cases,
		answered("101", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n", "", 101, 0, false),
		answered("101 and more", "HTTP/1.1 101 Switching Protocols\r\nContent-Length: 1\r\n\r\n", "\x81\x00x", 101, 0, false),
		answered("204 with chunks", "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n", 204, 0, true),
		answered("304 with chunks", "HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n", "", 304, 0, true),
	)
}

// headerBytes has every byte in the name of a header, in a value and in a
// reason phrase.
func headerBytes() (cases []Case) {
	token := func(c byte) bool {
		return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	for i := range 256 {
		b := byte(i)
		s := string([]byte{b})
		control := b < ' ' && b != '\t' || b == 0x7f

		name := fmt.Sprintf("byte %#02x in a name", b)
		if bad, rest := line(ok + "A" + s + "B: c\r\n" + end); token(b) || b == ':' {
			cases = append(cases, answered(name, bad+rest, "", 200, 0, true))
		} else {
			head, rest := line(rest)
			if b == '\n' {
				head = "A\n"
				rest = "B: c\r\n" + end
			}
			c := refused(name, bad+head, rest, 0)
			if b == ' ' {
				c.Unlike = strictName
			}
			cases = append(cases, c)
		}

		name = fmt.Sprintf("byte %#02x in a value", b)
		switch {
		case b == '\n':
			cases = append(cases, refused(name, ok+"A: aaa\nbbbbbbbbb\r\n", end, 0))
		case control:
			cases = append(cases, refused(name, ok+"A: aaa"+s+"bbbbbbbbb\r\n", end, 0))
		default:
			cases = append(cases, answered(name, ok+"A: aaa"+s+"bbbbbbbbb\r\n"+end, "", 200, 0, true))
		}

		name = fmt.Sprintf("byte %#02x in a reason", b)
		switch {
		case b == '\n':
			cases = append(cases, refused(name, "HTTP/1.1 200 \nK\r\n", end, 0))
		case control:
			cases = append(cases, refused(name, "HTTP/1.1 200 "+s+"K\r\n", end, 0).because(strictReason))
		default:
			cases = append(cases, answered(name, "HTTP/1.1 200 "+s+"K\r\n"+end, "", 200, 0, true))
		}
	}
	return cases
}

// headerLines are odd headers, good and bad.
func headerLines() (cases []Case) {
	for _, s := range []string{
		"A:", "A: ", "A:\t", "A:b", "A: \t b \t ", "A: :", "A:::", "a: b\r\nA: c", "1: 2", "A: \xff\xfe",
		"Content-Lengt: 5", "Content-Lengthx: 5", "X-Content-Length: 5", "Content_Length: 5", "Location: /", "Location:",
	} {
		cases = append(cases, answered(fmt.Sprintf("header %q", s), ok+s+"\r\n"+end, "", 200, 0, true))
	}
	for _, c := range []struct{ bad, rest, why string }{
		{"A", "", ""},
		{" ", "", ""},
		{":", "", ""},
		{": a", "", ""},
		{"A : b", "", strictName},
		{"A\t: b", "", ""},
		{"A b", "", ""},
		{" A: b", "", ""},
		{"\tA: b", "", ""},
		{"A: b\r", "", ""},
		{"\r", "", ""},
		{"A: b\rC: d", "", ""},
		{"A: b\x00", "", ""},
		{"Content-Length : 5", "", strictName},
		{"Transfer-Encoding : chunked", "", strictName},
	} {
		head := ok + c.bad + "\r\n"
		cases = append(cases, refused(fmt.Sprintf("header %q", c.bad), head, c.rest+end, 0).because(c.why))
	}
	cases = append(cases, longHeaders()...)
	return append(cases,
		answered("many headers", ok+strings.Repeat("A: b\r\n", 5000)+end, "", 200, 0, true),
		answered("a long header", ok+"A: "+strings.Repeat("b", 60<<10)+"\r\n"+end, "", 200, 0, true),
		answered("a long name", ok+strings.Repeat("b", 20<<10)+": c\r\n"+end, "", 200, 0, true),
		answered("mixed ends of lines", "HTTP/1.1 200 OK\nA: b\r\nB: c\nContent-Length: 1\r\n\nx", "", 200, 1, true),
	)
}

// longHeaders returns lines longer than what is held of an unfinished line.
func longHeaders() (cases []Case) {
	long := strings.Repeat("b", 30<<10)
	for name, bad := range map[string]string{
		"CR within": "A: " + long + "\rb", "CR at the end": "A: " + long + "\r", "CRs far apart": "A: " + long + "\r" + long + "\r",
		"NUL": "A: " + long + "\x00" + long, "NUL early": "A: b\x00" + long, "NUL before the end": "A: " + long + "\x00", "DEL": "A: " + long + "\x7f",
		"name only": long, "bad name": long + "@: b",
	} {
		cases = append(cases, refused("a long header, "+name, ok+bad+"\r\n", end, 0))
	}
	for name, good := range map[string]string{"tab": "A: " + long + "\t" + long, "colons": "A: " + long + ":" + long, "space": "A: " + long + " "} {
		cases = append(cases, answered("a long header, "+name, ok+good+"\r\n"+end, "", 200, 0, true))
	}
	reason := "HTTP/1.1 200 " + long
	cases = append(cases, refused("a long header, space in the name", ok+"b b"+long+": b\r\n", end, 0).because(strictName),
		answered("a long reason", reason+"\r\n"+end, "", 200, 0, true),
		refused("a long reason, NUL", reason+"\x00\r\n", end, 0).because(strictReason))
	for _, s := range []string{"Content-Length: " + strings.Repeat("0", 30<<10), "transfer-encoding: chunked" + strings.Repeat(" ", 30<<10), "Connection: " + strings.Repeat("b,", 15<<10) + "close", "LOCATION: /" + long} {
		cases = append(cases, refused(fmt.Sprintf("a long header %.20q", s), ok+s+"\r\n", end, 0).failing(HeadLimit).because(strictValue))
	}
	for _, limit := range []int{1 << 10, 8 << 10, 12 << 10} { // about where lines are shortened
		for n := limit - 3; n <= limit+3; n++ {
			cases = append(cases, answered(fmt.Sprint("a name of bytes: ", n), ok+long[:n]+": b\r\n"+end, "", 200, 0, true),
				answered(fmt.Sprint("a header of bytes: ", n), ok+"A: "+long[:n-3]+"\r\n"+end, "", 200, 0, true))
			for _, more := range []int{100, 4<<10 - 1, 8<<10 - 1} { // a CR there, and so many bytes behind it
				cases = append(cases, refused(fmt.Sprint("a header with CR at ", n, " of ", n+more), ok+"A: "+long[:n-3]+"\r"+long[:more]+"\r\n", end, 0))
			}
		}
	}
	// The CR is the last byte kept, and exactly the rest is dropped at once. If the byte after the CR were not kept,
	// the CR would end the line.
	cases = append(cases, refused("a header with CR at 8191 before a bare LF", ok+"A: "+long[:8<<10-4]+"\r"+long[:4<<10]+"\n", end, 0))
	return append(cases, answered("a location of 8000 bytes", "HTTP/1.1 302 Found\r\nLocation: /"+long[:8000]+"\r\n"+end, "", 302, 0, true))
}
