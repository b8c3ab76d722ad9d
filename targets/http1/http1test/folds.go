package http1test

import (
	"fmt"
	"strings"
)

// folded returns headers that continue on lines that begin with white space.
func folded() (cases []Case) {
	for _, s := range []string{
		"A: b\r\n c", "A: b\r\n\tc", "A: b\r\n ", "A: b\r\n \t \r\n\t\r\n c: d", "A: b \r\n \t c\r\nC:\r\n d", "A:\r\n b", "A: b\n c", "A: b\n \nB: c",
		"A: b\r\n" + strings.Repeat(" c\r\n", 5000) + "D: e", "A: b\r\n" + strings.Repeat(" \r\n", 5000) + " c",
		"A: " + strings.Repeat("b", 20<<10) + "\r\n " + strings.Repeat("c", 20<<10), "A: b\r\n Content-Length: 5", "A: b\r\n Connection: close",
	} {
		cases = append(cases, answered(fmt.Sprintf("fold %.30q, %d bytes", s, len(s)), ok+s+"\r\n"+end, "", 200, 0, true))
	}
	const redirect = "HTTP/1.1 302 Found\r\nLocation:\r\n\t/a\r\n \tb\r\n"
	cases = append(cases,
		answered("fold before a length", ok+"Content-Length:\r\n 5\r\n\r\nhello", "", 200, 5, true),
		answered("fold after a length", ok+"Content-Length: 5\r\n\t\r\n\r\nhello", "", 200, 5, true),
		answered("fold at the end of an interim head", "HTTP/1.1 103 Hi\r\nA: b\r\n c\r\n\r\n"+ok+end, "", 200, 0, true),
		answered("fold before a coding", ok+"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "", 200, 0, true),
		answered("fold before close", ok+"Connection: keep-alive,\r\n close\r\n"+end, "", 200, 0, false),
		answered("fold in an option", ok+"Connection: clo\r\n se\r\n"+end, "", 200, 0, true),
		answered("fold after close", ok+"Connection: close\r\n d\r\n"+end, "", 200, 0, true),
		answered("fold in a location", redirect+end, "", 302, 0, true))
	for _, bad := range []string{
		"Content-Length: 5\r\n 5\r\n", "Content-Length: 5\r\n\t\r\n 5\r\n", "Content-Length:\r\n \r\n", "A: b\r\n c\x00\r\n", "A: b\r\n c\r\r\n",
		"A: b\r\n \x7f\r\n d\r\n", "A: b\r\n " + strings.Repeat("c", 30<<10) + "\rc\r\n", "A: b\r\n" + strings.Repeat(" c\r\n", 5000) + " \x00\r\n",
		"A: " + strings.Repeat("b", 9<<10) + "\r\n \x00\r\n" + strings.Repeat(" c\r\n", 5000),
	} {
		cases = append(cases, refused(fmt.Sprintf("bad fold %.30q, %d bytes", bad, len(bad)), ok+bad, end, 0))
	}
	// Only the first line is there, and it is wrong whatever follows.
	cases = append(cases, refused("fold after no colon", ok+"A\r\n", " : b\r\n"+end, 0), refused("fold after CR", ok+"A: b\r\r\n", " c\r\n"+end, 0))
	for name, s := range map[string]string{
		"in one line": "\r\n " + strings.Repeat("0", 9<<10), "in many": strings.Repeat("\r\n 0", 5<<10), "white space": strings.Repeat(" ", 9<<10) + "\r\n 5",
		"more white space": strings.Repeat(" ", 20<<10) + "\r\n 5",
	} {
		cases = append(cases, refused("fold of a long length, "+name, ok+"Content-Length:"+s+"\r\n", end, 0).failing(HeadLimit).because(strictValue))
	}
	const head = 64 << 10
	for name, with := range map[string]string{"folds": "\r\n c", "empty folds": "\r\n ", "white space": " "} {
		fill := (ok + "A: b\r\n " + strings.Repeat(with, head))[:head+1]
		cases = append(cases, refused("endless: "+name, fill, strings.Repeat("b", 5000), 0).failing(HeadLimit))
	}
	return cases
}

// blank returns answers after blank lines.
func blank() (cases []Case) {
	final := ok + "Content-Length: 2\r\n\r\nhi"
	for _, s := range []string{"\r\n", "\n", "\r\n\n\r\n", strings.Repeat("\r\n", 8)} {
		cases = append(cases, answered(fmt.Sprintf("blank lines %q", s), s+final, "", 200, 2, true).because(laxBlank))
	}
	const interim = "HTTP/1.1 103 Hi\r\n\r\n"
	cases = append(cases, answered("blank lines and nothing", "\r\n\r\n", "", 0, 0, false).failing(EOF).closing().because(laxBlank),
		answered("half a blank line", "\r", "", 0, 0, false).failing(EOF).closing(),
		answered("blank lines and silence", "\r\n\r\n", "", 0, 0, false).failing(Timeout).because(laxBlank),
		refused("blank lines before interim answers", strings.Repeat("\r\n"+interim, 7)+strings.Repeat("\n", 2), final, 0))
	for _, n := range []int{9, 10, 100_000} {
		cases = append(cases, refused(fmt.Sprint(n, " blank lines"), strings.Repeat("\r\n", 9), strings.Repeat("\r\n", n-9)+final, 0))
	}
	return cases
}
