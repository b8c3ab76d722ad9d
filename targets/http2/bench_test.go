package http2

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/loadctl/loadctl/targets/http1"
)

// answers returns an answer of net/http to a stream: 12 bytes with the usual headers, twice, because the second one uses
// the table that the first one filled.
func answers(indexed bool) (first, later []byte) {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	if !indexed {
		e.SetMaxDynamicTableSize(0)
	}
	write := func() []byte {
		block.Reset()
		for _, f := range [][2]string{{":status", "200"}, {"content-type", "text/plain"}, {"content-length", "12"}, {"date", "Fri, 20 Nov 2026 22:00:00 GMT"}} {
			e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		var out bytes.Buffer
		f := http2.NewFramer(&out, nil)
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
		f.WriteData(1, true, []byte("Hello world\n"))
		return out.Bytes()
	}
	first = write()
	return first, write()
}

// rename lets the frames of an answer belong to another stream.
func rename(frames []byte, id uint32) {
	for at := 0; at < len(frames); {
		binary.BigEndian.PutUint32(frames[at+5:], id)
		at += 9 + int(binary.BigEndian.Uint32(frames[at:])>>8)
	}
}

// BenchmarkGet is a small GET, without what the kernel does: it is opened, taken from the output, and answered.
func BenchmarkGet(b *testing.B) {
	for _, k := range []struct {
		name    string
		indexed bool
		batch   int
	}{{"table", true, 1}, {"literal", false, 1}, {"table, 100 streams", true, 100}} {
		b.Run(k.name, func(b *testing.B) {
			c := NewConn(http1.Limits{})
			var r Request
			if err := r.Encode("http", []byte("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: loadctl\r\n\r\n")); err != nil {
				b.Fatal(err)
			}
			first, later := answers(k.indexed)
			c.Feed([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
			streams := make([]Stream, k.batch)
			answer := first
			var all []byte
			b.ReportAllocs()
			for b.Loop() {
				all = all[:0]
				for i := range streams {
					s := &streams[i]
					if c.Room() == 0 {
						b.Fatal("no room")
					}
					c.Open(s, &r, http1.Limits{})
					rename(answer, s.id)
					all = append(all, answer...)
					answer = later
				}
				c.Wrote(len(c.Output()))
				if err := c.Feed(all); err != nil {
					b.Fatal(err)
				}
				for range streams {
					if s := c.Ended(); s == nil || s.Err() != nil || s.Status() != 200 || s.Length() != 12 {
						b.Fatal(s)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*k.batch), "ns/request")
		})
	}
}
