package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// checkStream checks what is said of answers in pieces. A protocol has some kinds of events, or none.
func checkStream(s targets.Spec, kinds []string) error {
	r, err := events.Parse(s.Stream)
	switch {
	case err != nil:
		return err
	case !s.Stream.Any():
		return checkGoals(r)
	case len(kinds) == 0:
		return errors.New("stream: only http, grpc and ws have answers in pieces; leave it out")
	case !slices.Contains(kinds, r.Kind()):
		return fmt.Errorf("stream: there is no %s over this protocol; write %s", r.Kind(), strings.Join(kinds, " or "))
	case s.EffectiveMethod() == http.MethodHead:
		return errors.New("stream: an answer to HEAD has no body; choose another method")
	case s.Stream.Preset == events.OpenAI:
		return checkAsked(s)
	}
	return nil
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

// checkGoals refuses goals about events for answers that have none.
func checkGoals(r *events.Rules) error {
	for _, g := range r.Goals() {
		if g.OfEvents() {
			return fmt.Errorf("goal %s: the answers have no events; say what an event is with the stream", g.Text)
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
	return nil
}
