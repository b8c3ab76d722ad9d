package http1test

import (
	"fmt"
	"strings"
)

// lengths are values of Content-Length.
func lengths() (cases []Case) {
	for value, why := range map[string]string{
		"5": "", "05": "", "\t5 \t": "", "00000000000000000000000000000005": "", "5\r\nContent-Length: 5": "", "5\r\ncontent-LENGTH:5 ": "",
		"5, 5": laxLengths, "5,5": laxLengths, "5 ,\t5,5": laxLengths, "5\r\nContent-Length: 5,5": laxLengths,
	} {
		head := ok + "Content-Length: " + value + "\r\n\r\n"
		name := fmt.Sprintf("length %q", value)
		cases = append(cases,
			answered(name, head+"hello", "", 200, 5, true).because(why),
			answered(name+", and more", head+"hello", "!", 200, 5, true).because(why),
			answered(name+", to HEAD", head, "", 200, 0, true).toHead().because(why))
	}
	for _, value := range []string{
		"", " ", "-1", "-0", "+5", "+", "-", "0x5", "5h", "h5", "5 5", "5;5", "5.0", "5e0", "5_0", "５", "NaN", "\"5\"", "\xff",
		"5,", ",5", "5,,5", ",", "5,6", "5, 6", "6,5,5", "5\r\nContent-Length: 6", "5\r\nContent-Length:", "5,5\r\nContent-Length: 6",
		"9223372036854775808", "18446744073709551616", "18446744073709551621", "99999999999999999999999999999999",
	} {
		for _, toHead := range []bool{false, true} {
			c := refused(fmt.Sprintf("length %q, HEAD %v", value, toHead), ok+"Content-Length: "+value+"\r\n", "\r\nhello", 0)
			c.Head = toHead
			cases = append(cases, c)
		}
	}
	for _, value := range []string{"6", "100", "2147483648", "4294967301", "9223372036854775807"} {
		c := answered("length "+value+" of 5", ok+"Content-Length: "+value+"\r\n\r\nhello", "", 200, 5, false)
		cases = append(cases, c.failing(Timeout))
		c.Name += ", closes"
		cases = append(cases, c.failing(EOF).closing())
	}
	return append(cases,
		answered("length and 204", "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", "", 204, 0, true),
		refused("bad length and 204", "HTTP/1.1 204 No\r\nContent-Length: x\r\n", "\r\n", 0),
		refused("bad length and 304", "HTTP/1.1 304 No\r\nContent-Length: -5\r\n", "\r\n", 0),
	)
}

// encodings are values of Transfer-Encoding.
func encodings() (cases []Case) {
	const body = "5\r\nhello\r\n0\r\n\r\n"
	for _, value := range []string{"chunked", "Chunked", "CHUNKED", "\t chunked \t", "cHuNkEd"} {
		cases = append(cases, answered(fmt.Sprintf("coding %q", value), ok+"Transfer-Encoding:"+value+"\r\n\r\n"+body, "", 200, 5, true))
	}
	for _, value := range []string{
		"chunked, chunked", "chunked, gzip, chunked", "chunked;q=1", "\"chunked\"", "chunked chunked", "chunk ed", "chunkeð",
		"\x8bchunked", "gzip;", "chunked\r\nTransfer-Encoding: chunked", "chunked, gzip\r\nTransfer-Encoding: chunked",
		"chunked\r\n\tchunked", "chunked\r\n , chunked",
	} {
		name := fmt.Sprintf("coding %q", value)
		head, rest := ok+"Transfer-Encoding: "+value+"\r\n", "\r\n"+body
		cases = append(cases, refused(name, head, rest, 0), refused(name+", to HEAD", head, rest, 0).toHead())
	}
	cases = append(cases, codings(body)...)
	const te = "Transfer-Encoding: chunked\r\n"
	for _, both := range []string{"Content-Length: 5\r\n" + te, te + "Content-Length: 5\r\n", te + "Content-Length: 0\r\n"} {
		name := fmt.Sprintf("both %q", both)
		cases = append(cases, answered(name, ok+both+"\r\n"+body, "", 200, 5, false).because(strictKeep),
			answered(name+", followed", ok+both+"\r\n"+body, "x", 200, 5, false))
	}
	const old = "HTTP/1.0 200 OK\r\n"
	return append(cases,
		refused("coding and a bad length", ok+te+"Content-Length: x\r\n", "\r\n"+body, 0),
		refused("interim with a bad coding", "HTTP/1.1 103 Hi\r\nTransfer-Encoding: x y\r\n", "\r\n"+ok+end, 0),
		answered("interim with an unknown coding", "HTTP/1.1 103 Hi\r\nTransfer-Encoding: x\r\n\r\n"+ok+end, "", 200, 0, true).because(laxCodings),
		answered("1.0 with a coding", old+te+"\r\n"+body, "", 200, int64(len(body)), false).closing(),
		answered("1.0 with a coding and a length", old+te+"Content-Length: 5\r\n\r\nhello", "", 200, 5, false),
		answered("1.0 with a coding, a length, kept alive", old+"Connection: keep-alive\r\n"+te+"Content-Length: 5\r\n\r\nhello", "", 200, 5, false).because(strictKeep),
		answered("1.0 with a coding, kept alive, to HEAD", old+"Connection: keep-alive\r\n"+te+"\r\n", "", 200, 0, false).toHead().because(strictKeep),
		answered("1.0 with an unknown coding", old+"Transfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", "", 200, 5, false),
	)
}

// codings are lists of codings, of which not all are chunked.
func codings(body string) (cases []Case) {
	for value, ends := range map[string]bool{
		"gzip, chunked": true, "gzip\r\nTransfer-Encoding: chunked": true, "x\r\n\t,\r\n chunked": true,
		"gzip": false, "xchunked": false, "chunkedx": false, "chunked, gzip": false, "chunked\r\nTransfer-Encoding: gzip": false,
		"gzip\r\nContent-Length: 5": false, "gzip\r\nContent-Length: 0": false, "chunked\r\n ,gzip": false,
	} {
		name, head := fmt.Sprintf("codings %q", value), ok+"Transfer-Encoding: "+value+"\r\n\r\n"
		c := answered(name, head+body, "", 200, 5, false).closing()
		if !ends {
			c.Body = int64(len(body))
			silent := answered(name+", silent", head+body, "", 200, c.Body, false).failing(Timeout)
			cases = append(cases, silent.because(laxCodings))
		}
		cases = append(cases, c.because(laxCodings), answered(name+", to HEAD", head, "", 200, 0, ends).toHead().because(laxCodings))
	}
	for _, value := range []string{"chunked,", ",chunked", " , chunked, ,", "chunked\r\nTransfer-Encoding:", "identity, chunked", "chunked, identity"} {
		cases = append(cases, answered(fmt.Sprintf("codings %q", value), ok+"Transfer-Encoding: "+value+"\r\n\r\n"+body, "", 200, 5, true).because(laxNone))
	}
	for _, value := range []string{"", "identity", "Identity\r\nTransfer-Encoding: ", ","} {
		name, head := fmt.Sprintf("codings %q", value), ok+"Transfer-Encoding: "+value+"\r\n"
		cases = append(cases, answered(name, head+"\r\n"+body, "", 200, int64(len(body)), false).closing().because(laxNone),
			answered(name+", and a length", head+"Content-Length: 5\r\n\r\nhello", "", 200, 5, false).because(laxNone))
	}
	return cases
}

// persistence returns every version with Connection headers.
func persistence() (cases []Case) {
	for _, c := range []struct {
		headers string
		v0, v1  bool // whether HTTP/1.0 and 1.1 keep the connection
	}{
		{"", false, true},
		{"Connection: close\r\n", false, false},
		{"Connection: Close\r\n", false, false},
		{"connection:CLOSE\t\r\n", false, false},
		{"Connection: close, foo\r\n", false, false},
		{"Connection: foo, close\r\n", false, false},
		{"Connection: foo ,\tclose ,bar\r\n", false, false},
		{"Connection: foo\r\nConnection: close\r\n", false, false},
		{"Connection: keep-alive\r\n", true, true},
		{"Connection: Keep-Alive\r\n", true, true},
		{"Connection: KEEP-ALIVE\r\nKeep-Alive: timeout=5\r\n", true, true},
		{"Connection: foo, keep-alive\r\n", true, true},
		{"Connection: keep-alive, close\r\n", false, false},
		{"Connection: close\r\nConnection: keep-alive\r\n", false, false},
		{"Connection: keep alive\r\n", false, true},
		{"Connection: closed\r\n", false, true},
		{"Connection: not close\r\n", false, true},
		{"Connection: close;\r\n", false, true},
		{"Connection: \"close\"\r\n", false, true},
		{"Connection:\r\n", false, true},
		{"Connection: ,,\r\n", false, true},
		{"Connection: upgrade\r\n", false, true},
		{"Proxy-Connection: close\r\n", false, true},
		{"Keep-Alive: timeout=0\r\n", false, true},
		{"X-Connection: close\r\n", false, true},
	} {
		for v, keep := range []bool{c.v0, c.v1} {
			first := fmt.Sprintf("HTTP/1.%d 200 OK\r\n", v)
			name := fmt.Sprintf("1.%d with %q", v, c.headers)
			cases = append(cases,
				answered(name, first+c.headers+"Content-Length: 5\r\n\r\nhello", "", 200, 5, keep),
				answered(name+", to HEAD", first+c.headers+"\r\n", "", 200, 0, keep).toHead(),
				answered(name+", 204", strings.Replace(first, "200", "204", 1)+c.headers+"\r\n", "", 204, 0, keep),
				answered(name+", until the end", first+c.headers+"\r\nhello", "", 200, 5, false).closing())
		}
	}
	return cases
}

// interims are answers before the answer.
func interims() (cases []Case) {
	const final = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nhi"
	for code := 100; code < 200; code++ {
		head := fmt.Sprintf("HTTP/1.1 %d Wait\r\nContent-Length: 7\r\nConnection: close\r\nLocation: /\r\n\r\n", code)
		c := answered(fmt.Sprint("interim ", code), head+final, "", 202, 2, true)
		if code == 101 {
			c = answered(c.Name, head, final, 101, 0, false)
		}
		cases = append(cases, c)
	}
	const wait, line = "HTTP/1.1 102 Processing\r\n", "HTTP/1.1 102 Processing\r\nA: b\r\n\r\n"
	for n := range 9 {
		c := answered(fmt.Sprint(n, " interim answers"), strings.Repeat(line, n)+final, "", 202, 2, true)
		if n == 8 {
			c.Unlike = laxInterim
		}
		cases = append(cases, c)
	}
	for _, n := range []int{9, 10, 1000, 100000} {
		rest := strings.Repeat(line, n)[8*len(line)+len(wait):]
		cases = append(cases, refused(fmt.Sprint(n, " interim answers"), strings.Repeat(line, 8)+wait, rest+final, 0))
	}
	return append(cases,
		answered("interim and then nothing", line, "", 0, 0, false).failing(EOF).closing(),
		answered("interim and then a blank line", line+"\r\n"+final, "", 202, 2, true).because(laxBlank),
		refused("interim and then garbage", line+"g", "arbage\r\n", 0),
		refused("interim with a body", "HTTP/1.1 103 Hi\r\nContent-Length: 5\r\n\r\nh", "ello"+final, 0),
		answered("1.0 interim", "HTTP/1.0 100 Continue\r\n\r\n"+final, "", 202, 2, true),
	)
}
