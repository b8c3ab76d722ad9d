package http1test

import (
	"fmt"
	"strings"
)

const chunkedHead = ok + "Transfer-Encoding: chunked\r\n\r\n"

// chunks are bodies in the chunked coding.
func chunks() (cases []Case) {
	for body, n := range map[string]int64{
		"0\r\n\r\n": 0, "00000000\r\n\r\n": 0, "5\r\nhello\r\n0\r\n\r\n": 5, "a\r\n0123456789\r\n0\r\n\r\n": 10, "A\r\n0123456789\r\n0\r\n\r\n": 10,
		"0000000000000005\r\nhello\r\n0000\r\n\r\n": 5, "5;a\r\nhello\r\n0;b\r\n\r\n": 5, "5;a=b;c=\"d;e\"\r\nhello\r\n0\r\n\r\n": 5,
		"5 \r\nhello\r\n0\t \r\n\r\n": 5, "5;\r\nhello\r\n0;;\r\n\r\n": 5, "2\r\n\r\n\r\n0\r\n\r\n": 2, "3\r\n0\r\n\r\n0\r\n\r\n": 3,
		"0\r\nA: b\r\n c\r\n\t\r\nB: \r\n\td: e\r\n\r\n": 0, "0\r\nA: b\r\n\r\n": 0, "0\r\nA: b\r\nB:c\r\n\r\n": 0, "0\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\nConnection: close\r\n\r\n": 0,
		"5; " + strings.Repeat("x", 4000) + "\r\nhello\r\n0\r\n\r\n":                 5,
		strings.Repeat("1\r\nx\r\n", 5000) + "0\r\n\r\n":                             5000,
		"10000\r\n" + strings.Repeat("\r\n", 1<<15) + "\r\n0\r\nA: b\r\n\r\n":        1 << 16,
		strings.Repeat("400\r\n"+strings.Repeat("y", 1024)+"\r\n", 64) + "0\r\n\r\n": 1 << 16,
	} {
		cases = append(cases, answered(fmt.Sprintf("chunks %.30q, %d bytes", body, n), chunkedHead+body, "", 200, n, true))
	}
	cases = append(cases,
		answered("extension after white space", chunkedHead+"5 ; a\r\nhello\r\n0\r\n\r\n", "", 200, 5, true).because(laxExtension),
		answered("trailers beyond a buffer", chunkedHead+"0\r\nA: "+strings.Repeat("b", 60<<10)+"\r\n\r\n", "", 200, 0, true).because(laxTrailers),
		answered("trailer announced that must not be", ok+"Trailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", 200, 0, true).because(laxTrailers))
	for i := range 256 {
		size := string([]byte{byte(i)})
		if strings.Contains("0123456789abcdefABCDEF\r\n", size) {
			continue
		}
		cases = append(cases, refused(fmt.Sprintf("byte %#02x as the size of a chunk", i), chunkedHead+size+"\r\n", "hello\r\n0\r\n\r\n", 200))
	}
	return append(cases, badChunks()...)
}

// badChunks returns bodies in the chunked coding with a wrong byte.
func badChunks() (cases []Case) {
	for _, c := range []struct {
		bad  string
		body int64
		why  string
	}{
		{"\r\n", 0, ""},
		{"\n", 0, ""},
		{"5\n", 0, ""},
		{"0\n", 0, ""},
		{"-5\r\n", 0, ""},
		{"+5\r\n", 0, ""},
		{"0x5\r\n", 0, ""},
		{" 5\r\n", 0, ""},
		{"5 5\r\n", 0, ""},
		{"5h\r\n", 0, ""},
		{";a\r\n", 0, ""},
		{"5\r\r\n", 0, ""},
		{"5;\ra\r\n", 0, ""},
		{"5;\x00\r\n", 0, ""},
		{"8000000000000000\r\n", 0, strictSize},
		{"ffffffffffffffff\r\n", 0, strictSize},
		{"10000000000000000\r\n", 0, ""},
		{"00000000000000005\r\n", 0, ""},
		{strings.Repeat("f", 1000) + "\r\n", 0, ""},
		{"5\r\nhellox", 5, ""},
		{"5\r\nhello\n", 5, ""},
		{"5\r\nhello\rx", 5, ""},
		{"5\r\nhello\r\r", 5, ""},
		{"5\r\nhello\r\n\r\n", 5, ""},
		{"5\r\nhello\r\nx\r\n", 5, ""},
		{"0\r\n\n", 0, strictLine},
		{"0\r\nA: b\n", 0, strictLine},
		{"0\r\nA\r\n", 0, ""},
		{"0\r\nA: b\x00\r\n", 0, ""},
		{"0\r\nA : b\r\n", 0, strictName},
		{"0\r\n A: b\r\n", 0, ""},
		{"0\r\nA: b\r\n c\x00\r\n", 0, ""},
		{"0\r\nA: b\r\n c\n", 0, strictLine},
		{"0\r\n\rx\r\n", 0, ""},
		{"5;" + strings.Repeat("x", 4095), 0, ""},
		{strings.Repeat("x", 4097), 0, ""},
	} {
		// These bytes would end a body, or be data.
		r := refused(fmt.Sprintf("chunks %.30q, %d bytes", c.bad, len(c.bad)), chunkedHead+c.bad, "\r\n\r\n0\r\n\r\n", 200).because(c.why)
		r.Body = c.body
		cases = append(cases, r)
	}
	return cases
}

// limits returns answers that do not end, or not soon enough.
func limits() (cases []Case) {
	const head = 64 << 10
	fill := func(begin, with string, n int) string {
		return (begin + strings.Repeat(with, n/len(with)+1))[:n]
	}
	// Good up to the limit; the next byte is one too many.
	for name, begin := range map[string][2]string{
		"header lines":              {ok, "A: b\r\n"},
		"one header":                {ok + "A: ", "b"},
		"one name":                  {ok, "b"},
		"reason":                    {"HTTP/1.1 200 ", "b"},
		"headers after an interim":  {"HTTP/1.1 100 Continue\r\n\r\n" + ok, "A: b\r\n"},
		"headers of an interim one": {"HTTP/1.1 100 Continue\r\n", "A: b\r\n"},
	} {
		cases = append(cases, refused("endless: "+name, fill(begin[0], begin[1], head+1), strings.Repeat("b", 5000), 0).failing(HeadLimit))
	}
	tail := "\r\n" + end
	exact := fill(ok+"A: ", "b", head-len(tail))
	cases = append(cases,
		answered("a head of 64 KiB", exact+tail, "", 200, 0, true),
		refused("a head of 64 KiB and a byte", exact+"b"+tail, "", 0).failing(HeadLimit).because(strictHead))
	trailers := ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n"
	padded := strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\ny\r\n", 16)
	c := refused("endless: extensions", chunkedHead+padded+"1;"+strings.Repeat("x", 1000)+"\r\n", padded, 200)
	c.Body = 16
	cases = append(cases, c,
		refused("endless: trailers", fill(trailers, "A: b\r\n", head+len("0\r\n")+1), strings.Repeat("A: b\r\n", 1000), 200).failing(HeadLimit).because(strictTrailer),
		refused("endless: extension", chunkedHead+fill("1;", "x", 4097), strings.Repeat("x", 100000), 200))
	for _, limit := range []int64{1, 10, 5000, 100000} {
		cases = append(cases, limited(limit)...)
	}
	return cases
}

// limited returns bodies of sizes around a limit.
func limited(limit int64) (cases []Case) {
	for size := limit - 1; size <= limit+1; size++ {
		data := strings.Repeat("x", int(size))
		for _, a := range []struct {
			name, head, end string
			closes          bool
		}{
			{"length", fmt.Sprintf("%sContent-Length: %d\r\n\r\n", ok, size), "", false},
			{"chunk", fmt.Sprintf("%s%x\r\n", chunkedHead, size), "\r\n0\r\n\r\n", false},
			{"until the end", ok + "\r\n", "", true},
		} {
			if a.name == "chunk" && size == 0 {
				continue
			}
			c := answered(fmt.Sprintf("%s: %d bytes of %d", a.name, size, limit), a.head+data+a.end, "", 200, size, true)
			if size > limit {
				c = answered(c.Name, a.head+data, a.end+"more", 200, size, false).failing(BodyLimit)
			}
			if a.closes {
				c = c.closing()
			}
			c.BodyLimit = limit
			cases = append(cases, c)
		}
	}
	long := answered(fmt.Sprint("length far beyond the limit of ", limit), ok+"Content-Length: 1000000000\r\n\r\n"+strings.Repeat("x", int(limit)+1), "xxx", 200, limit+1, false)
	long.BodyLimit = limit
	short := answered(fmt.Sprint("length beyond the limit, cut at ", limit), ok+"Content-Length: 1000000000\r\n\r\n"+strings.Repeat("x", int(limit)), "", 200, limit, false)
	short.BodyLimit = limit
	return append(cases, long.failing(BodyLimit), short.failing(EOF).closing())
}
