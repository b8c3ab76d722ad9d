// Package streams answers with events at a pace that is known, and notes when each was written: so what a client says of
// its streams is checked against what a server did.
//
//	s, err := streams.Parse("first=200ms,events=50,gap=20ms±5ms", streams.Events)
//	if err != nil { … }
//	log := streams.NewLog(file)
//	server, err := site.New(200, s.Routes(log)) // each request has such a stream
//	…
//	log.Summary()
//
// With streams.Tokens, Routes are those of a language model: the API of OpenAI.
//
// Guarantees: events have deadlines, so an event that is late moves no later one. A time in the log is read just before
// the event is written: no client can have the event earlier. An answer is in the log before its end leaves, so a client
// that has the end finds it there. A client that goes away ends its answer.
package streams

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/loadctl/loadctl/internal/server/site"
)

// contentType returns the type of a form; "" if there is no such form.
func contentType(form string) string {
	switch form {
	case SSE:
		return "text/event-stream"
	case Lines:
		return "application/x-ndjson"
	case Chunks:
		return "application/octet-stream"
	}
	return ""
}

// Routes returns what answers requests with such streams, and notes them in log.
func (s *Settings) Routes(log *Log) []site.Route {
	if s.of == Tokens {
		return s.models(log)
	}
	return []site.Route{{Pattern: "/", Answer: func(r *http.Request, _ []byte) site.Reply {
		return s.reply(r, log, &script{token: s.event})
	}}}
}

// event appends event n, from 1.
func (s *Settings) event(to []byte, n int) []byte {
	switch s.form {
	case Lines:
		return fmt.Appendf(to, "{\"event\":%d}\n", n)
	case Chunks:
		return fmt.Appendf(to, "{\"event\":%d}", n)
	default:
		return fmt.Appendf(to, "data: {\"event\":%d}\n\n", n)
	}
}

// A script is what a stream says.
type script struct {
	begin []byte                        // is written at once
	token func(to []byte, n int) []byte // appends event n, from 1
	end   func() []byte                 // is written after the last event; nil = nothing
	whole func() []byte                 // all of it, as one answer
}

// reply returns an answer in pieces. HEAD has no events.
func (s *Settings) reply(r *http.Request, log *Log, says *script) site.Reply {
	reply := site.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {contentType(s.form)}, "Cache-Control": {"no-cache"}}}
	if r.Method == http.MethodHead {
		return reply
	}
	path := r.RequestURI
	reply.Stream = func(arrived, ready time.Time, out site.Out) error {
		a := log.begin(path, arrived)
		err := s.play(r.Context(), ready, a, says, out)
		a.end(err == nil)
		return err
	}
	return reply
}

// play writes a stream. Its events are due from ready on, or from when it has a slot.
func (s *Settings) play(client context.Context, ready time.Time, a *answer, says *script, out site.Out) error {
	if err := out.Send(says.begin); err != nil { // the head of the answer leaves with it
		return err
	}
	ready, err := s.slots.take(client, ready)
	if err != nil {
		return err
	}
	p, piece := pace{settings: s}, make([]byte, 0, 512)
	defer func() { s.slots.free(p.over(ready)) }()
	for n := 1; n <= s.events; n++ {
		piece = says.token(piece[:0], n)
		if err := out.Wait(ready.Add(p.next())); err != nil {
			return err
		}
		at := time.Now()
		if err := out.Send(piece); err != nil {
			return err
		}
		a.event(at)
	}
	if says.end == nil {
		return nil
	}
	return out.Send(says.end())
}
