package http1

import (
	"testing"
)

// The answer of a fast server, 120 bytes.
const usual = "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 22:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nHello world\n"

const usualChunked = "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 22:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n" +
	"c\r\nHello world\n\r\n0\r\n\r\n"

// feed reads an answer in pieces of a size, and returns the result.
func feed(r *Response, answer []byte, size int) (done bool, err error) {
	r.Begin(Limits{}, false)
	for len(answer) > 0 && !done && err == nil {
		var n int
		n, done, err = r.Feed(answer[:min(size, len(answer))])
		answer = answer[n:]
	}
	return done, err
}

func BenchmarkFeed(b *testing.B) {
	for _, c := range []struct {
		name, answer string
		size         int
	}{
		{"whole", usual, len(usual)},
		{"chunked", usualChunked, len(usualChunked)},
		{"cut", usual, len(usual) / 2},
		{"bytes", usual, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			answer := []byte(c.answer)
			var r Response
			b.SetBytes(int64(len(answer)))
			b.ReportAllocs()
			for b.Loop() {
				if done, err := feed(&r, answer, c.size); !done || err != nil {
					b.Fatal(done, err)
				}
			}
		})
	}
}

// The usual case of a client: the head equals that of the previous answer.
func BenchmarkKnown(b *testing.B) {
	answer := []byte(usual)
	var memo Memo
	var r Response
	r.Remember(&memo)
	b.ReportAllocs()
	for b.Loop() {
		if done, err := feed(&r, answer, len(answer)); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}

// Long bodies are skipped, however long they are.
func BenchmarkBody(b *testing.B) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"
	answer := append([]byte(head), make([]byte, 1<<20)...)
	var r Response
	for b.Loop() {
		if done, err := feed(&r, answer, 64<<10); !done || err != nil {
			b.Fatal(done, err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var r Response
	folded := "\r\nHTTP/1.1  200 OK\r\nDate: Fri, 20 Nov 2026\r\n\t22:00:00 GMT\r\nContent-Length:\r\n 12\r\n\r\nHello world\n"
	for _, answer := range []string{usual, usualChunked, folded} {
		for _, size := range []int{len(answer), 50, 1} {
			bytes := []byte(answer)
			if n := testing.AllocsPerRun(100, func() { feed(&r, bytes, size) }); n != 0 {
				t.Errorf("%.0f allocations in pieces of %d: %q", n, size, answer)
			}
		}
	}
}
