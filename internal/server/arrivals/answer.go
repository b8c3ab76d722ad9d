package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
)

// An answer holds the bytes written for one status, built once.
type answer struct {
	status   int
	withBody []byte
	bare     []byte // the same without a body, for HEAD
}

// newAnswer builds the answer of a status, with the body "ok". Statuses that have no body by definition get none.
func newAnswer(status int) answer {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if status == http.StatusNoContent || status == http.StatusNotModified {
		empty := []byte(head + "\r\n")
		return answer{status, empty, empty}
	}
	head += "Content-Length: 2\r\n\r\n"
	return answer{status, []byte(head + "ok"), []byte(head)}
}

// answer returns the answer for the next request.
func (s *Server) answer() *answer {
	if s.errors.next() {
		return &s.failing
	}
	return &s.usual
}

// bytes returns the bytes to write; HEAD gets no body.
func (a *answer) bytes(head bool) []byte {
	if head {
		return a.bare
	}
	return a.withBody
}

// delay returns how long the next answer waits, in ns: Latency and a random part of Jitter.
func (o *Options) delay() int64 {
	d := int64(o.Latency)
	if o.Jitter > 0 {
		d += rand.Int64N(int64(o.Jitter))
	}
	return d
}

// shareUnit is the resolution of a share. Whole numbers make the count exact: 0.29·100 as floats is a little less than
// 29.
const shareUnit = 1_000_000_000

// A share picks its part of a sequence, evenly: element n, from 0, if
//
//	floor((n+1)·part/shareUnit) > floor(n·part/shareUnit)
//
// So of the first n elements it has picked floor(n·part/shareUnit), in any order of calls. It is safe for concurrent
// use. A share of 0 costs nothing.
type share struct {
	part int64 // of shareUnit
	row  atomic.Int64
}

// shareOf converts f, 0 to 1.
func shareOf(f float64) int64 { return int64(math.Round(f * shareUnit)) }

// next reports whether the next element is picked.
func (s *share) next() bool {
	if s.part == 0 {
		return false
	}
	n := (s.row.Add(1) - 1) % shareUnit // after shareUnit elements the pattern repeats
	return (n+1)*s.part/shareUnit > n*s.part/shareUnit
}

// picked returns how many elements were picked so far.
func (s *share) picked() int64 {
	n := s.row.Load()
	return n/shareUnit*s.part + n%shareUnit*s.part/shareUnit
}
