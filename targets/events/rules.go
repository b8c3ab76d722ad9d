package events

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Options are the rules as people write them.
type Options struct {
	Kind   string   `json:"kind,omitempty"`   // one of Kinds; "" = that of the preset, or none: the answer has no events
	Preset string   `json:"preset,omitempty"` // OpenAI; "" = none
	Until  string   `json:"until,omitempty"`  // the event that ends the answer: a text that it has, or /REGEX/. "" = the answer ends itself
	Limit  int64    `json:"limit,omitempty"`  // bytes of an event; 0 means DefaultLimit
	Goals  []string `json:"goals,omitempty"`  // as ParseGoal reads them; answers without events may have some too
}

// IsZero reports whether nothing is said.
func (o Options) IsZero() bool {
	return o.Kind == "" && o.Preset == "" && o.Until == "" && o.Limit == 0 && len(o.Goals) == 0
}

// Any reports whether answers have events.
func (o Options) Any() bool { return o.Kind != "" || o.Preset != "" }

// String returns the options in the words of people.
func (o Options) String() string {
	parts := []string{cmp.Or(o.Preset, o.Kind)}
	if o.Until != "" {
		parts = append(parts, fmt.Sprintf("until %q", o.Until))
	}
	if o.Limit != 0 {
		parts = append(parts, fmt.Sprintf("limit %d", o.Limit))
	}
	for _, g := range o.Goals {
		parts = append(parts, fmt.Sprintf("goal %q", g))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// Rules say what the events of an answer are. They never change.
type Rules struct {
	kind    string
	preset  string
	until   *regexp.Regexp // nil = the answer ends itself
	limit   int
	goals   []Goal
	keep    int                   // bytes of an event that are kept, if it comes in several reads
	Expects func(status int) bool // an answer with this status has events; nil = any
}

// Parse reads the rules. An error is one line that says what to do.
func Parse(o Options) (*Rules, error) {
	r := &Rules{kind: o.Kind, preset: o.Preset, limit: int(cmp.Or(o.Limit, DefaultLimit))}
	switch {
	case o.Preset != "" && o.Preset != OpenAI:
		return nil, fmt.Errorf("preset: %.20q is unknown; write %s, for any server with its API", o.Preset, OpenAI)
	case o.Preset != "" && o.Kind != "" && o.Kind != SSE:
		return nil, errors.New("preset: its answers are server-sent events; leave the stream out")
	case o.Preset != "":
		r.kind = SSE
	case o.Kind == "" && (o.Until != "" || o.Limit != 0):
		return nil, errors.New("stream: is missing; say what an event is: " + strings.Join(Kinds(), ", "))
	case o.Kind == "":
	case !slices.Contains(Kinds(), o.Kind):
		return nil, fmt.Errorf("stream: %.20q is unknown; write %s", o.Kind, strings.Join(Kinds(), ", "))
	}
	if o.Limit < 0 || o.Limit > 1<<30 {
		return nil, errors.New("stream limit: give a size from 1 B to 1 GiB, such as 64KiB")
	}
	if err := r.setUntil(o.Until); err != nil {
		return nil, err
	}
	if r.keep = leastKept; r.marked() {
		r.keep = r.limit
	}
	if err := r.setGoals(o.Goals); err != nil {
		return nil, err
	}
	return r, nil
}

// setGoals reads the goals. Only answers of a language model have tokens.
func (r *Rules) setGoals(texts []string) error {
	for i, text := range texts {
		g, err := ParseGoal(text)
		switch {
		case err != nil:
			return err
		case i >= MaxGoals:
			return fmt.Errorf("goal: there are more than %d; leave some out", MaxGoals)
		case g.Metric == "per_token" && r.kind != "" && r.preset == "":
			return fmt.Errorf("goal %.80q: the answers have no tokens; write event_gap:avg, or add the preset %s", text, OpenAI)
		}
		g.index = i
		r.goals = append(r.goals, g)
	}
	return nil
}

// setUntil reads which event ends the answer.
func (r *Rules) setUntil(text string) (err error) {
	switch pattern, closed := strings.CutSuffix(strings.TrimPrefix(text, "/"), "/"); {
	case text == "":
		return nil
	case r.kind == Messages:
		return errors.New("until: is not for messages; leave it out, and say with the reply which one is the last, such as 'messages 4'")
	case r.kind == Chunks:
		return errors.New("until: a chunk may end anywhere in a text; use lines or sse, or leave it out")
	case !strings.HasPrefix(text, "/"):
		r.until = regexp.MustCompile(regexp.QuoteMeta(text))
	case !closed || len(text) < 3:
		return errors.New("until: a pattern stands between two slashes, such as /done$/ or /(?i)done$/")
	default:
		if r.until, err = regexp.Compile(pattern); err != nil {
			return fmt.Errorf("until: %w; write /REGEX/, such as /done$/, or a text", err)
		}
	}
	return nil
}

// Kind returns what an event is.
func (r *Rules) Kind() string { return r.kind }

// Goals returns the goals.
func (r *Rules) Goals() []Goal { return r.goals }

// leastKept is how many bytes of an event are kept at least: enough to see that a line has a field, is empty or an end mark.
const leastKept = 32

// marked reports whether an event has to say that the answer ends, so that all of them are looked at.
func (r *Rules) marked() bool { return r.until != nil || r.preset != "" }
