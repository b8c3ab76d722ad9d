package samples

import (
	"slices"
	"strings"
	"time"
)

// A Sample is one request that ended. Its texts hold no secrets.
type Sample struct {
	Ordinal uint64   `json:"ordinal"` // number of its slot in the run
	Worker  string   `json:"worker"`
	Step    string   `json:"step,omitempty"`   // "" without a workload
	Why     []string `json:"why"`              // reasons to keep it, of those below
	Class   string   `json:"class,omitempty"`  // of its failure; "" = it went well
	Status  string   `json:"status,omitempty"` // of the protocol, of gRPC its name; "" = none
	Error   string   `json:"error,omitempty"`  // why there is no whole answer

	Due       time.Time `json:"due"`                     // when it was due
	Lag       int64     `json:"lag_ns"`                  // sent − due
	FirstByte int64     `json:"first_byte_ns,omitempty"` // first byte − sent; 0 = no byte came
	Service   int64     `json:"service_time_ns"`         // done − sent
	Latency   int64     `json:"latency_ns"`              // done − due

	BytesIn    int64      `json:"bytes_in"`
	BytesOut   int64      `json:"bytes_out"`
	Connection Connection `json:"connection"`
	Request    *Message   `json:"request,omitempty"`  // nil = only its times were kept
	Response   *Message   `json:"response,omitempty"` // nil = the same, or nothing came
	Checks     []Check    `json:"checks,omitempty"`
	TraceID    string     `json:"trace_id,omitempty"` // "" = requests carry none
	Traced     bool       `json:"traced,omitempty"`   // the endpoint was asked to record the trace
	Flow       string     `json:"flow,omitempty"`     // "" without a workload
	URL        string     `json:"url,omitempty"`      // whole and redacted, without user and password; of an address for tcp, udp, redis and ws
}

// Reasons to keep a sample.
const (
	First  = "first"  // one of the first of its class of failures
	Random = "random" // chosen by chance among those of its class
	Slow   = "slow"   // one of the slowest of its step
	Good   = "good"   // chosen by chance among those that went well
	Traced = "traced" // one of the slowest of its step whose traces the endpoint was asked to record
)

// A Connection is what carried a request.
type Connection struct {
	Number int64  `json:"number,omitempty"` // in its worker, from 1; 0 = none
	Reused bool   `json:"reused"`           // it had carried a request before
	Age    int64  `json:"age_ns,omitempty"` // how long it had been open when the request ended
	Remote string `json:"remote,omitempty"` // address of the server

	// How long opening it for this request took, a part of its service time. 0 = it was open, or there is no such phase.
	Connect int64 `json:"connect_ns,omitempty"`
	TLS     int64 `json:"tls_ns,omitempty"`
}

// A Message is a request or an answer.
type Message struct {
	Start   string   `json:"start,omitempty"` // the request line or the status line
	Headers []Header `json:"headers,omitempty"`
	Body    string   `json:"body,omitempty"`     // the beginning of it; hexadecimal digits if Hex
	Hex     bool     `json:"hex,omitempty"`      // the body is no text
	Length  int64    `json:"length"`             // bytes of the whole body
	Cut     bool     `json:"cut,omitempty"`      // the body has more than is shown
	Secrets bool     `json:"redacted,omitempty"` // something in it was redacted
}

// A Header is one header of a message.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Check is what one check or take said.
type Check struct {
	Check  string `json:"check"`
	Passed bool   `json:"passed"`
	Got    string `json:"got,omitempty"`
}

// size returns about how much memory a sample takes, in bytes.
func (s *Sample) size() int {
	n := 400 + len(s.Worker) + len(s.Step) + len(s.Flow) + len(s.Class) + len(s.Error) + len(s.URL)
	for _, m := range []*Message{s.Request, s.Response} {
		if m == nil {
			continue
		}
		n += 100 + len(m.Start) + len(m.Body)
		for _, h := range m.Headers {
			n += 40 + len(h.Name) + len(h.Value)
		}
	}
	for _, c := range s.Checks {
		n += 40 + len(c.Check) + len(c.Got)
	}
	return n
}

// Whole reports whether more than its times were kept.
func (s *Sample) Whole() bool { return s.Request != nil }

// shortBody is how much of a body stays if there is no room for more, in bytes.
const shortBody = 1 << 10

// cut shortens bodies.
func (s *Sample) cut() {
	for _, m := range []**Message{&s.Request, &s.Response} {
		if *m == nil || len((*m).Body) <= shortBody {
			continue
		}
		short := **m // others may share it
		short.Body, short.Cut = strings.ToValidUTF8(short.Body[:shortBody], ""), true
		*m = &short
	}
}

// mostNumber is 2^53: programs that read JSON know no larger number exactly, and archives have none.
const mostNumber = 1 << 53

// sound reports whether all numbers are counts or times.
func (s *Sample) sound() bool {
	numbers := []int64{s.Lag, s.FirstByte, s.Service, s.Latency, s.BytesIn, s.BytesOut, s.Connection.Number, s.Connection.Age, s.Connection.Connect, s.Connection.TLS}
	for _, m := range []*Message{s.Request, s.Response} {
		if m != nil {
			numbers = append(numbers, m.Length)
		}
	}
	return s.Ordinal <= mostNumber && slices.Min(numbers) >= 0 && slices.Max(numbers) <= mostNumber
}

// strip forgets all but numbers.
func (s *Sample) strip() { s.URL, s.Request, s.Response, s.Checks, s.Error = "", nil, nil, nil, "" }
