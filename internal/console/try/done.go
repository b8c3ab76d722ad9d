package try

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
)

// Done is what became of a Trial. Its JSON is docs/schema/try.schema.json.
type Done struct {
	OK       bool      `json:"ok"`             // no request failed
	Flow     string    `json:"flow,omitempty"` // "" without flows
	Slot     uint64    `json:"slot"`
	Rows     []Row     `json:"rows"`               // of the data files that the flow uses
	Requests []Request `json:"requests"`           // in their order
	NotSent  []string  `json:"not_sent"`           // names of the steps after one that failed
	Bypassed []string  `json:"bypassed,omitempty"` // names of the steps that a condition left out
}

// A Row is one of a data file.
type Row struct {
	Data string `json:"data"` // name of the file
	Row  int64  `json:"row"`  // from 1
}

// A Request is one that was sent, or tried to.
type Request struct {
	Step string `json:"step,omitempty"` // "" without flows
	OK   bool   `json:"ok"`
	Hops []Hop  `json:"hops"` // redirects that were followed, and the answer at last; none if nothing is sent

	Status   string   `json:"status,omitempty"` // "" = none
	Class    string   `json:"class,omitempty"`  // of the failure, as in reports
	Error    string   `json:"error,omitempty"`  // why there is no whole answer
	Checks   []Check  `json:"checks"`           // none without a whole answer
	Takes    []Taken  `json:"takes"`            // the same
	Stream   *Stream  `json:"stream,omitempty"` // of an answer that came in pieces
	Goals    []Goal   `json:"goals,omitempty"`
	BytesIn  int64    `json:"bytes_in"`             // of all hops, as are the others
	BytesOut int64    `json:"bytes_out"`            //
	Messages int64    `json:"messages,omitempty"`   // over protocols that have them
	Total    int64    `json:"total_ns"`             // from when the request began
	Hidden   []string `json:"redacted,omitempty"`   // where secrets are not shown: sent, came
	Rests    bool     `json:"no_request,omitempty"` // noop: nothing is sent
}

// A Hop is a request and its answer on a connection.
type Hop struct {
	Connection int64   `json:"connection"`       // its number, from 1; 0 = there was none
	Reused     bool    `json:"reused"`           // it had carried a request before
	Closed     bool    `json:"closed"`           // the server closed it
	Unsent     bool    `json:"unsent,omitempty"` // nothing of the request was sent
	Remote     string  `json:"remote,omitempty"` // address; "" = unknown
	TLS        *TLS    `json:"tls,omitempty"`
	Times      Times   `json:"times"`
	Sent       Message `json:"sent"`
	Came       Message `json:"came"`
}

// A TLS is targets.TLS.
type TLS struct {
	Version  string    `json:"version,omitempty"`
	Cipher   string    `json:"cipher,omitempty"`
	Protocol string    `json:"protocol,omitempty"`
	Server   string    `json:"server_name,omitempty"`
	Subject  string    `json:"subject"`
	Issuer   string    `json:"issuer"`
	NotAfter time.Time `json:"not_after"`
	Resumed  bool      `json:"resumed"`
}

// Times are the phases of a hop, in ns. They follow each other, but names were looked up before the first hop began.
type Times struct {
	DNS     int64 `json:"dns_ns"`     // 0 = nothing was looked up, as are the next two
	Connect int64 `json:"connect_ns"` // of QUIC: its whole handshake
	TLS     int64 `json:"tls_ns"`
	Wait    int64 `json:"wait_ns"`                 // until the first byte of the answer, or the end without one
	Body    int64 `json:"body_ns"`                 // from there to the end
	First   int64 `json:"first_byte_ns,omitempty"` // from the beginning to the first byte; 0 = none came
	Total   int64 `json:"total_ns"`
}

// A Message is what was sent, or what came.
type Message struct {
	Start   string           `json:"start,omitempty"` // request line or status line
	Headers []targets.Header `json:"headers"`
	Body    string           `json:"body,omitempty"`   // its beginning
	Base64  bool             `json:"base64,omitempty"` // the body is no text, and written in base64
	Bytes   int64            `json:"bytes"`            // of the whole body
	Cut     bool             `json:"cut,omitempty"`    // there is more of it

	raw []byte // the body
}

// A Check is what a check said.
type Check struct {
	Check  string `json:"check"`
	Passed bool   `json:"passed"`
	Got    string `json:"got,omitempty"` // what the answer has there
}

// A Taken is what a step took for later ones.
type Taken struct {
	Name  string `json:"name"`
	From  string `json:"from"`
	Found bool   `json:"found"`
	Value string `json:"value,omitempty"` // its beginning
}

// Err returns why a request failed, and what to do if no answer came; nil if none failed.
func (d *Done) Err() error {
	for _, r := range d.Requests {
		if !r.OK {
			if advice := r.advice(); advice != "" {
				return fmt.Errorf("%s; %s", r.failure(), advice)
			}
			return errors.New(r.failure())
		}
	}
	return nil
}

// advice says what to do about a request without an answer; "" if some of it came, or if nothing is known.
func (r Request) advice() string {
	switch {
	case r.BytesIn > 0:
		return ""
	case r.Class == targets.ClassTimeout && r.BytesOut > 0: // a firewall lets no connection be opened
		return "it was sent, and no answer came in time: give it a longer --timeout, see the log of the server, or check host, port and --reply"
	}
	return probe.AdviseClass(r.Class)
}

// failure says in one line which request failed, and why.
func (r Request) failure() string {
	if r.Step != "" {
		return "step " + r.Step + " failed: " + r.reason()
	}
	return "the request failed: " + r.reason()
}

// reason says why a request failed.
func (r Request) reason() string {
	switch {
	case r.Error != "":
		return r.Class + ": " + r.Error
	case r.Class == targets.ClassStatus:
		return fmt.Sprintf("status %s is not expected", r.Status)
	case r.Class == targets.ClassRedirect:
		return "redirect: one more than --redirects allows, or to another host than that of the URL"
	case slices.Contains(targets.Classes(), r.Class):
		return r.Class
	}
	for _, c := range r.Checks {
		if !c.Passed {
			return "check " + c.Check + found(c.Got)
		}
	}
	for _, t := range r.Takes {
		if !t.Found {
			return fmt.Sprintf("take %s: the answer has no %s", t.Name, t.From)
		}
	}
	return r.Class
}

// found says what an answer has where a check looks.
func found(got string) string {
	if got == "" {
		return ""
	}
	return " (found " + got + ")"
}
