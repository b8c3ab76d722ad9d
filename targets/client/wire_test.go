package client_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// The bytes of a Wire equal those that the Target of the same Spec writes.
func TestWireWritesWhatTheTargetWrites(t *testing.T) {
	for _, s := range []targets.Spec{
		{}, {Method: "HEAD"}, {Method: "POST"}, {Body: []byte("x")}, {NoKeepAlive: true},
		{Headers: []targets.Header{{Name: "hOST", Value: "b"}, {Name: "User-Agent", Value: "c"}, {Name: "Connection", Value: "close"}}},
	} {
		var got []byte
		taken := make(chan struct{})
		address := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
			var seen recorded
			r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &seen)))
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
			}
			if err == nil {
				got = seen.bytes
				close(taken)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		})
		s.URL = "http://" + address + "/x?y"
		w, err := wire.New(s, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		out := do(t, open(t, s, targets.Local{}), 200, "")
		<-taken
		if !slices.Equal(got, w.Request) || out.BytesOut != int64(len(w.Request)) || w.Address != address {
			t.Errorf("to %s the target writes\n%q, the wire\n%q", w.Address, got, w.Request)
		}
	}
}

// recorded keeps what is written to it.
type recorded struct{ bytes []byte }

func (r *recorded) Write(p []byte) (int, error) {
	r.bytes = append(r.bytes, p...)
	return len(p), nil
}
