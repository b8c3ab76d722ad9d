package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/ws"
)

// MostAnswer is how many bytes of an answer, as it came, are enough for Exchange to have so many of its body: the head may
// have 8 KiB.
func MostAnswer(body int) int { return body + 8<<10 }

// mostHeaders is how many headers of a message are decoded: a hostile head of short ones has 20,000, which take many times their
// bytes. Of a message with more, only these headers are shown: the rest may repeat a secret of a header that is not known.
const mostHeaders = 1000

// A Seen is a request that has ended, for Exchange.
type Seen struct {
	Call    targets.Call
	Request []byte        // what was written: Wire.Request, or what Fill returned
	Answer  check.Answer  // as for Outcome
	Raw     []byte        // the beginning of the answer as it came, for protocols whose Answer does not keep it
	Took    time.Duration // as for Outcome
	Err     error         // why there is no whole answer; nil if there is
}

// Exchange returns what a request sent and what came back, with at most body bytes of each body. It copies all of it.
func (w *Wire) Exchange(seen Seen, body int) *targets.Exchange {
	e := &targets.Exchange{}
	switch {
	case w.rests:
		return e
	case w.own != nil:
		w.own.exchange(e, seen, body)
	case w.messages != nil:
		w.messages.exchange(e, seen, body)
	case w.raw != nil:
		show(&e.Sent, seen.Request, body)
		show(&e.Came, seen.Raw, body)
		if seen.Err == nil && w.raw.answers {
			e.Came.Length, e.Checks = seen.Answer.Length(), w.raw.expect.verdicts(seen)
		}
	default:
		w.httpExchange(e, seen, body)
	}
	if seen.Err != nil {
		e.Error = seen.Err.Error()
	}
	return e
}

// show sets the body of a message, as far as it is shown.
func show(m *targets.Message, all []byte, most int) {
	m.Body, m.Length = bytes.Clone(all[:min(len(all), most)]), int64(len(all))
	m.Binary = !text(m.Body, len(all) > most)
}

// text reports whether bytes are text for people. The last character may be cut off.
func text(b []byte, cut bool) bool {
	for i := 0; cut && i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1]
	}
	return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0
}

// verdicts returns what checks and takes say of a whole answer.
func (e *expectation) verdicts(seen Seen) (all []targets.Verdict) {
	a := e.view(seen.Answer)
	all = e.checks.Verdicts(a, seen.Took)
	for _, t := range e.takes {
		value, found := t.From(a)
		all = append(all, targets.Verdict{Check: t.class, Passed: found, Got: check.Cut(value)})
	}
	return all
}

// httpExchange is Exchange for HTTP and gRPC.
func (w *Wire) httpExchange(e *targets.Exchange, seen Seen, body int) {
	version := w.version()
	e.Scheme = w.scheme
	head, sent, _ := bytes.Cut(seen.Request, []byte("\r\n\r\n"))
	e.Sent.Start, e.Sent.Headers = splitHead(string(head))
	if version != "" {
		e.Sent.Start = strings.TrimSuffix(e.Sent.Start, "HTTP/1.1") + version
	}
	called := w.expect.calls
	if called == nil {
		called = w.message.calls
	}
	if called != nil {
		sent = called.ShowRequest(sent)
	}
	show(&e.Sent, sent, body)
	switch a := seen.Answer.(type) {
	case *http1.Response:
		cameOne(&e.Came, seen.Raw, a.Length(), body)
	case headed:
		cameOther(&e.Came, version, a, body)
		if reply, ok := seen.Answer.(grpc.Reply); ok && called != nil {
			e.Came.Body, e.Came.Binary = nil, false
			shown := grpc.NewAnswer(reply, called)
			show(&e.Came, shown.Content(), body)
			e.Came.Length = max(shown.Length(), int64(len(shown.Content())))
		}
	}
	if seen.Err == nil && seen.Answer.Status() != 0 && len(e.Came.Headers) < mostHeaders {
		e.Checks = w.expect.verdicts(seen)
	}
	for _, m := range []*targets.Message{&e.Sent, &e.Came} {
		if len(m.Headers) == mostHeaders {
			m.Body, m.Binary = nil, false
		}
	}
}

// version returns how start lines name the version of HTTP; "" for HTTP/1.1, whose answers say it themselves.
func (w *Wire) version() string {
	switch {
	case w.Three:
		return "HTTP/3"
	case w.Streams > 0:
		return "HTTP/2"
	}
	return ""
}

// splitHead returns the start line and the first headers of a head.
func splitHead(head string) (start string, headers []targets.Header) {
	start, rest, _ := strings.Cut(head, "\r\n")
	for line := range strings.SplitSeq(rest, "\r\n") {
		if len(headers) == mostHeaders {
			break
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			headers = append(headers, targets.Header{Name: name, Value: strings.TrimSpace(value)})
		}
	}
	return start, headers
}

// cameOne shows an answer of HTTP/1.1, of which raw is the beginning. What is none is shown as it came.
func cameOne(m *targets.Message, raw []byte, length int64, body int) {
	var r http1.Response
	r.Begin(http1.Limits{Content: body, Fields: true}, false)
	_, _, err := r.Feed(raw)
	if r.Status() == 0 && bytes.HasPrefix(raw, []byte("HTTP/")) { // the head goes on, or is wrong: what is there has names
		head, rest, _ := bytes.Cut(raw[:bytes.LastIndexByte(raw, '\n')+1], []byte("\r\n\r\n"))
		m.Start, m.Headers = splitHead(string(head))
		show(m, rest, body)
		m.Length = max(m.Length, length)
		return
	}
	if r.Status() == 0 || err != nil && r.Length() == 0 {
		show(m, raw, body)
		return
	}
	for at := 0; at < len(raw); { // the last status line: interim answers come before it
		line, _, _ := bytes.Cut(raw[at:], []byte("\n"))
		if bytes.HasPrefix(line, []byte("HTTP/")) && bytes.Contains(line, fmt.Append(nil, r.Status())) {
			m.Start = strings.TrimRight(string(line), "\r")
			break
		}
		at += len(line) + 1
	}
	r.Fields(func(name, value string) bool {
		m.Headers = append(m.Headers, targets.Header{Name: name, Value: value})
		return len(m.Headers) < mostHeaders
	})
	show(m, r.Content(), body)
	m.Length = max(length, m.Length)
}

// headed is an answer of HTTP/2 or HTTP/3.
type headed interface {
	check.Answer
	Fields(f func(name, value string) bool)
}

// cameOther shows an answer of HTTP/2 or HTTP/3.
func cameOther(m *targets.Message, version string, a headed, body int) {
	if a.Status() == 0 {
		return
	}
	m.Start = fmt.Sprintf("%s %d", version, a.Status())
	a.Fields(func(name, value string) bool {
		m.Headers = append(m.Headers, targets.Header{Name: name, Value: value})
		return len(m.Headers) < mostHeaders
	})
	show(m, a.Content(), body)
	m.Length = a.Length()
}

// exchange is Exchange for WebSocket.
func (m *messages) exchange(e *targets.Exchange, seen Seen, body int) {
	refused := errors.Is(seen.Err, ws.ErrNoWebSocket)
	if !m.sends || refused {
		head := strings.NewReplacer(ws.KeyStandIn, "…", ws.CredentialStandIn, "…").Replace(m.head)
		e.Sent.Start, e.Sent.Headers = splitHead(strings.TrimSuffix(head, "\r\n\r\n"))
	}
	if refused { // the message was not sent
		var out targets.Outcome
		if ws.Refused(seen.Err, &out); out.Status > 0 {
			e.Came.Start = strings.TrimSpace(fmt.Sprint("HTTP/1.1 ", out.Status, " ", http.StatusText(out.Status)))
		}
		return
	}
	lastMessage(&e.Sent, seen.Request, true, body)
	lastMessage(&e.Came, seen.Raw, false, body)
	if seen.Err == nil && m.answers {
		e.Checks, e.Came.Length = m.expect.verdicts(seen), seen.Answer.Length()
	}
}

// lastMessage shows the last message of WebSocket in bytes of a connection; all bytes if there is none.
func lastMessage(m *targets.Message, raw []byte, masked bool, body int) {
	r, rest := ws.Reader{Masked: masked, Keep: body}, slices.Clone(raw)
	for len(rest) > 0 {
		n, event, err := r.Next(rest)
		if rest = rest[n:]; event == ws.GotMessage {
			show(m, r.Content(), body)
			m.Length, m.Binary = r.Length(), m.Binary || !r.Text()
		}
		if err != nil || n == 0 {
			break
		}
	}
	switch {
	case m.Body != nil || len(raw) == 0:
	case r.Begun(): // it is longer than what was kept
		show(m, r.Content(), body)
		m.Length = max(m.Length, r.Length())
	default:
		show(m, raw, body)
	}
}
