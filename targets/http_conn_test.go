package targets

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/echotest"
	"github.com/loadctl/loadctl/targets/http1/http1test"
)

// The table of odd and hostile answers over real sockets: in one write, and short ones byte by byte.
func TestHostileAnswers(t *testing.T) {
	const drip = 120 // bytes
	cases := http1test.Cases()
	addr := echotest.Listen(t, "127.0.0.1:0", func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		number, how, _ := strings.Cut(request.URL.Path[1:], "/")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Error(err)
			return
		}
		pieces := [][]byte{cases[n].Bytes}
		if how == "drip" {
			pieces = slices.Collect(slices.Chunk(cases[n].Bytes, 1))
		}
		for _, p := range pieces {
			if _, err := conn.Write(p); err != nil {
				return // they had enough
			}
		}
		if !cases[n].Closes {
			io.Copy(io.Discard, conn)
		}
	})
	// Many at a time: some wait for their timeout.
	var wg sync.WaitGroup
	turns := make(chan int)
	for range 32 {
		wg.Go(func() {
			for n := range turns {
				fire(t, cases[n], fmt.Sprintf("http://%s/%d/whole", addr, n))
				if len(cases[n].Bytes) <= drip {
					fire(t, cases[n], fmt.Sprintf("http://%s/%d/drip", addr, n))
				}
			}
		})
	}
	for n := range cases {
		turns <- n
	}
	close(turns)
	wg.Wait()
}

// fire performs one request that is answered with a case, and checks the result.
func fire(t *testing.T, c http1test.Case, url string) {
	spec := Spec{URL: url, BodyLimit: c.BodyLimit, Expect: "100-999", Timeout: time.Hour}
	if c.Head {
		spec.Method = http.MethodHead
	}
	var target Target
	var got Outcome
	once := func() bool {
		if target != nil {
			target.Close()
		}
		var err error
		if target, err = New(spec, Local{}); err != nil {
			t.Error(err)
		}
		got = target.Do(t.Context(), Call{})
		return got.Class != ClassTimeout || got.BytesIn >= int64(c.In)
	}
	if c.Class == ClassTimeout {
		spec.Timeout = time.Second
		await.True(t, "a timeout after all that the server says", func() bool { // a slow machine does less in time
			whole := once()
			spec.Timeout *= 2
			return whole
		})
	} else {
		once()
	}
	defer target.Close()
	if got.Status != c.Status || got.Class != c.Class || got.BytesIn != int64(c.In) {
		t.Errorf("%s, %s: got %+v, want status %d, class %q, %d bytes in", c.Name, url, got, c.Status, c.Class, c.In)
	}
	kept := func() bool {
		p := target.(*httpTarget).pool
		return len(p.idle) == 1 && !p.idle[0].hungUp()
	}
	if c.Keep {
		if !kept() {
			t.Errorf("%s, %s: the connection is not kept", c.Name, url)
		}
		return
	}
	// A close or further bytes may be seen a moment later.
	await.True(t, fmt.Sprintf("%s, %s: the end of the connection", c.Name, url), func() bool { return !kept() })
}

// A long answer is read in large pieces, and counted to the byte.
func TestLongAnswersUseALargeBuffer(t *testing.T) {
	for _, size := range []int{readBuffer - 200, readBuffer, 3 * readBuffer, 10 * longBuffer} {
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
		var reads recorder
		far, near := net.Pipe()
		go far.Write(append([]byte(head), make([]byte, size)...))
		reads.Conn = near
		pool := sync.Pool{New: func() any { b := make([]byte, longBuffer); return &b }}
		c := newConn(endpoint{}, newSocket(near), &reads)
		var r reply
		c.receive(&message{}, &asking{expect: &expectation{statuses: statuses{{200, 200}}}, long: &pool}, &r)
		if r.err != nil || r.status != 200 || !r.keep || r.in != int64(len(head)+size) {
			t.Errorf("%d bytes: %+v", size, r)
		}
		if want := 2 + size/longBuffer; len(reads.sizes) > want {
			t.Errorf("%d bytes took %d reads, into buffers of %v, want at most %d", size, len(reads.sizes), reads.sizes, want)
		}
		near.Close()
		far.Close()
	}
}

// A recorder remembers how large the buffers of reads were.
type recorder struct {
	net.Conn
	sizes []int
}

func (r *recorder) Read(b []byte) (int, error) {
	r.sizes = append(r.sizes, len(b))
	return r.Conn.Read(b)
}
