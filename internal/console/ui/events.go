package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// The stream of server-sent events: how long a browser waits before it connects again, how often a comment shows that
// the connection lives, and how long a page waits for the first look before it is told that Redis does not answer.
const (
	reconnect = time.Second
	heartbeat = 15 * time.Second
	patience  = time.Second
)

// errWaiting tells a page why it sees nothing yet.
var errWaiting = errors.New("Redis does not answer; waiting for it") //nolint:staticcheck // a name begins it

// live answers with a stream of the frames of a run: the first is whole, later ones have what is new.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	watcher, err := s.hub.watcher(r.Context(), r.PathValue("run"), s.hub.linger)
	if err != nil {
		fail(w, err)
		return
	}
	limit, cancel := context.WithTimeout(r.Context(), patience)
	seen, err := watcher.await(limit)
	cancel()
	if errors.Is(seen.err, run.ErrNoRun) {
		fail(w, seen.err)
		return
	}
	out := newStream(w)
	if err != nil {
		out.send(troubled(errWaiting))
	}
	p, seen := watcher.join()
	defer watcher.leave(p)
	if !out.begin(seen) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for out.err == nil {
		select {
		case m, more := <-p.messages:
			if !more {
				return
			}
			out.send(m)
		case <-beat.C:
			out.write(": here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// A stream writes server-sent events. After an error it writes nothing.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// newStream begins the answer.
func newStream(w http.ResponseWriter) *stream {
	s := &stream{w: w, control: http.NewResponseController(w)}
	_ = s.control.SetReadDeadline(time.Time{}) // nothing more is read
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must pass on what comes
	s.write(fmt.Sprintf("retry: %d\n\n", reconnect.Milliseconds()))
	return s
}

// begin sends what is seen now, and reports whether more will come.
func (s *stream) begin(seen sight) bool {
	if seen.look != nil {
		text, err := seen.whole()
		if err != nil {
			s.send(troubled(err))
			return false
		}
		s.send(message{"frame", text})
	}
	switch {
	case seen.over && seen.err == nil:
		s.send(message{"end", []byte("{}")})
	case seen.over:
		s.send(message{"gone", []byte("{}")})
	case seen.err != nil:
		s.send(troubled(seen.err))
	}
	return !seen.over && s.err == nil
}

// send writes one event.
func (s *stream) send(m message) {
	s.write("event: " + m.event + "\ndata: ")
	s.writeBytes(m.data)
	s.write("\n\n")
	if s.err == nil {
		s.err = s.control.Flush()
	}
}

// write writes a text.
func (s *stream) write(text string) { s.writeBytes([]byte(text)) }

// writeBytes writes within writePatience: a client that does not read is given up.
func (s *stream) writeBytes(data []byte) {
	if s.err != nil {
		return
	}
	if s.err = s.control.SetWriteDeadline(time.Now().Add(writePatience)); s.err == nil {
		_, s.err = s.w.Write(data)
	}
}
