package streams

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// What a stream consists of.
const (
	Events = "events"
	Tokens = "tokens" // of a language model
)

// Forms of events.
const (
	SSE    = "sse"    // server-sent events
	Lines  = "lines"  // JSON, one a line
	Chunks = "chunks" // of HTTP/1.1, or DATA frames
)

// Bounds of streams. Within them no time overflows.
const (
	MaxEvents = 1_000_000
	MaxWait   = time.Hour // of first, gap and each stall
	MaxStalls = 100
)

// Settings say which events an answer has, and when they are due. Parse makes them.
type Settings struct {
	of                 string // Events or Tokens
	form               string
	events             int
	first, gap, jitter time.Duration
	stalls             map[int]time.Duration // before event n, from 1
	slots              slots                 // for streams that are written at a time
}

// Parse reads settings of Events or Tokens, such as "first=200ms,events=50,gap=20ms±5ms,stall=10:2s,form=lines". An
// error is one line that says what to do.
func Parse(text, of string) (*Settings, error) {
	s := &Settings{of: of, form: SSE, events: -1, stalls: map[int]time.Duration{}}
	given := map[string]bool{}
	for setting := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(setting, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if given[name] && name != "stall" {
			return nil, fmt.Errorf("%.20s is given twice; leave one out", name)
		}
		given[name] = true
		if err := s.set(name, value); err != nil {
			return nil, err
		}
	}
	if s.events < 0 {
		return nil, fmt.Errorf("there is no number of %s; write %s=50", of, of)
	}
	for n := range s.stalls {
		if n > s.events {
			return nil, fmt.Errorf("stall=%d: there are only %d %s", n, s.events, of)
		}
	}
	return s, nil
}

// set sets one setting.
func (s *Settings) set(name, value string) (err error) {
	switch {
	case name == "first":
		if s.first, err = wait(value); err != nil {
			err = fmt.Errorf("first=%.20s: give a duration such as 200ms, at most 1h", value)
		}
	case name == "gap":
		s.gap, s.jitter, err = parseGap(value)
	case name == "stall":
		err = s.stall(value)
	case name == s.of:
		if s.events, err = strconv.Atoi(value); err != nil || s.events < 0 || s.events > MaxEvents {
			err = fmt.Errorf("%s=%.20s: give a number from 0 to %d", name, value, MaxEvents)
		}
	case name == "at-once":
		n, wrong := strconv.Atoi(value)
		if wrong != nil || n < 1 || n > MaxAtOnce {
			return fmt.Errorf("at-once=%.20s: give a number from 1 to %d", value, MaxAtOnce)
		}
		s.slots = newSlots(n)
	case name == "form" && s.of == Events:
		if s.form = value; contentType(value) == "" {
			err = fmt.Errorf("form=%.20s: use sse, lines or chunks", value)
		}
	case s.of == Events:
		err = fmt.Errorf("there is no setting %.20q; use first, events, gap, stall, at-once and form", name)
	default:
		err = fmt.Errorf("there is no setting %.20q; use first, tokens, gap, stall and at-once", name)
	}
	return err
}

// wait reads how long something takes.
func wait(text string) (time.Duration, error) {
	d, err := pacer.ParseDuration(text)
	if err == nil && d > MaxWait {
		err = errors.New("is too long")
	}
	return d, err
}

// parseGap reads the time between two events: 20ms, 20ms±5ms or 20ms+-5ms.
func parseGap(text string) (gap, jitter time.Duration, err error) {
	mean, around, random := strings.Cut(strings.Replace(text, "+-", "±", 1), "±")
	gap, err = wait(strings.TrimSpace(mean))
	if random {
		var wrong error
		jitter, wrong = wait(strings.TrimSpace(around))
		err = cmp.Or(err, wrong)
	}
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("gap=%.30s: give a duration such as 20ms or 20ms±5ms, at most 1h", text)
	case jitter > gap:
		return 0, 0, fmt.Errorf("gap=%.30s: give at most the gap itself after ±", text)
	}
	return gap, jitter, nil
}

// stall reads a stall before an event: 10:2s.
func (s *Settings) stall(text string) error {
	before, length, _ := strings.Cut(text, ":")
	n, wrong := strconv.Atoi(before)
	d, err := wait(length)
	switch {
	case cmp.Or(wrong, err) != nil || n < 1 || n > MaxEvents:
		return fmt.Errorf("stall=%.30s: write N:LENGTH, such as 10:2s for 2s before event 10, at most 1h", text)
	case s.stalls[n] > 0:
		return fmt.Errorf("stall=%d is given twice; leave one out", n)
	case len(s.stalls) == MaxStalls:
		return fmt.Errorf("stall=%.30s: give at most %d stalls", text, MaxStalls)
	}
	s.stalls[n] = d
	return nil
}

// A pace says when the events of one answer are due. Event n is due at d(n) after the answer is ready, with a random
// r(n) in [-jitter, jitter]:
//
//	d(1) = first + stall(1)
//	d(n) = d(n-1) + gap + r(n) + stall(n)
type pace struct {
	settings *Settings
	n        int
	due      time.Duration
}

// over returns when the stream is over by its schedule: with its last event, or now if it is cut before that.
func (p *pace) over(ready time.Time) time.Time {
	if end := ready.Add(p.due); p.n == p.settings.events && end.Before(time.Now()) {
		return end
	}
	return time.Now()
}

// next returns when the next event is due.
func (p *pace) next() time.Duration {
	s := p.settings
	if p.n++; p.n == 1 {
		p.due = s.first
	} else {
		p.due += s.gap + time.Duration(rand.Int64N(2*int64(s.jitter)+1)) - s.jitter
	}
	p.due += s.stalls[p.n]
	return p.due
}
