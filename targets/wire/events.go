package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/events"
)

// checkStream checks what is said of answers in pieces. A protocol has some kinds of events, or none.
func checkStream(s targets.Spec, kinds []string) error {
	r, err := events.Parse(s.Stream)
	switch {
	case err != nil:
		return err
	case !s.Stream.Any():
		return checkGoals(r, kinds)
	case s.Stream.Preset != "" && !slices.Contains(kinds, r.Kind()):
		return fmt.Errorf("preset %s: its answers come over http and https; take such a URL, or leave it out", s.Stream.Preset)
	case len(kinds) == 0:
		return errors.New("stream: only http, grpc and ws have answers in pieces; leave it out")
	case !slices.Contains(kinds, r.Kind()):
		return fmt.Errorf("stream: there is no %s over this protocol; write %s", r.Kind(), strings.Join(kinds, " or "))
	case s.EffectiveMethod() == http.MethodHead:
		return errors.New("stream: an answer to HEAD has no body; choose another method")
	case r.Kind() != events.Messages && asksEncoded(s):
		return errors.New("stream: the events of a compressed answer cannot be read; leave the header Accept-Encoding out")
	case s.Stream.Preset == events.OpenAI:
		return checkAsked(s)
	}
	return nil
}

// asksEncoded reports whether a header of the request asks for a compressed answer.
func asksEncoded(s targets.Spec) bool {
	return slices.ContainsFunc(targets.HeaderValues(s.Headers, "Accept-Encoding"), func(v string) bool { return v != "" && !strings.EqualFold(v, "identity") })
}

// checkAsked refuses a request of a language model whose answer would come in one piece. A body that is not known before its
// placeholders are filled may be one that asks.
func checkAsked(s targets.Spec) error {
	var asks struct{ Stream json.RawMessage }
	body := s.ExampleBody()
	switch err := json.Unmarshal(body, &asks); {
	case err == nil && asks.Stream != nil && string(asks.Stream) != "false" && string(asks.Stream) != "null":
		return nil
	case err != nil && (bytes.Contains(s.Body, []byte(`"stream"`)) || bytes.Contains(s.Body, []byte("${"))):
		return nil
	}
	return errors.New(`preset openai: the body does not ask for an answer in pieces; add "stream": true to it`)
}

// checkGoals refuses goals about events for answers that have none. Those of the protocol may have some kinds of them.
func checkGoals(r *events.Rules, kinds []string) error {
	for _, g := range r.Goals() {
		switch {
		case !g.OfEvents():
		case len(kinds) == 0:
			return fmt.Errorf("goal %.80q: only http, grpc and ws have answers in pieces; write latency<TIME, or leave it out", g.Text)
		case g.Metric == "per_token":
			return fmt.Errorf("goal %.80q: the answers have no tokens; add the preset %s", g.Text, events.OpenAI)
		default:
			return fmt.Errorf("goal %.80q: the answers have no events; say what an event is with the stream: %s", g.Text, strings.Join(kinds, ", "))
		}
	}
	return nil
}

// setEvents sets what the events of answers are, and the goals. expects says which statuses have events; nil = all.
func (w *Wire) setEvents(s targets.Spec, expects func(status int) bool) error {
	r, err := events.Parse(s.Stream)
	if err != nil {
		return err
	}
	if w.Goals = r.Goals(); !s.Stream.Any() {
		return nil
	}
	r.Expects = expects
	w.Events, w.Limits.Fields = r, true
	if s.BodyLimit == 0 && r.Kind() != events.Messages {
		w.Limits.Body = 0 // an answer in pieces may last: each event has its limit, and each silence
	}
	return nil
}

// EndEvents returns what the end of an answer in pieces means. err is why the whole answer did not come; nil = it came.
func EndEvents(r *events.Reader, err error, a check.Answer) error {
	if classes.Of(err, "") == targets.ClassEOF {
		err = io.ErrUnexpectedEOF // HTTP/3 has errors of its own for it
	}
	return r.End(err, a.Field)
}
