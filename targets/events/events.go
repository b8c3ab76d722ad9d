// Package events finds the events in an answer that arrives in pieces, and notes when each came: server-sent events, lines,
// chunks or messages. For language models it counts tokens.
//
//	rules, err := events.Parse(events.Options{Kind: "sse"})
//	var r events.Reader
//	r.Begin(rules, 0, gaps)
//	err = r.Take(body, false, now) // for each piece, as it was read
//	err = r.End(err, header)       // what the end of the answer means
//	fmt.Println(r.Count, r.First, r.Last)
//
// Guarantees: an event has the time at which its last byte was read, however the answer is split into pieces. An event that
// lies in one piece is read in place, without an allocation. Of another its beginning is kept: all of it, up to the limit, if
// the rules look into events, and else a few bytes.
package events

import "slices"

// Kinds of events.
const (
	SSE      = "sse"      // a block of server-sent events that has data
	Lines    = "lines"    // a line that is not empty
	Chunks   = "chunks"   // a chunk of HTTP/1.1, or a frame of HTTP/2 and HTTP/3 with data
	Messages = "messages" // a message of gRPC or WebSocket
)

// Kinds returns them all.
func Kinds() []string { return []string{SSE, Lines, Chunks, Messages} }

// OpenAI is the preset for language models behind the API of OpenAI.
const OpenAI = "openai"

// DefaultLimit is how long an event may be, in bytes, unless the rules say otherwise.
const DefaultLimit = 1 << 20

// Events are those of one answer. Times are ns of the clock that Take is called with.
type Events struct {
	First, Last int64 // when the first and the last event came; 0 = none
	Count       int64
	Longest     int64           // gap between two events
	Within      [MaxGoals]int64 // gaps that are short enough for a goal, by the index of the goal

	Preset bool // tokens were counted

	// With a preset. Out are the tokens of the answer, In those of the request. Usage says that the answer said so, with
	// Out > 0; else they are 0, and Tokens takes each event for one. In may be 0 beside it: it is not known.
	In, Out int64
	Usage   bool
}

// Gaps returns how many gaps there were.
func (e *Events) Gaps() int64 { return max(0, e.Count-1) }

// Tokens returns how many tokens the answer has.
func (e *Events) Tokens() int64 {
	if e.Usage {
		return e.Out
	}
	return e.Count
}

// PerToken returns the time per output token after the first, in ns; ok is false with fewer than two tokens or events. As
// vLLM's TPOT:
//
//	(last − first) / (tokens − 1)
func (e *Events) PerToken() (ns int64, ok bool) {
	n := e.Tokens()
	if n < 2 || e.Count < 2 {
		return 0, false
	}
	return (e.Last - e.First) / (n - 1), true
}

// An Error is why the events of an answer are no success. It knows its class.
type Error struct{ class, text string }

// Error implements error.
func (e *Error) Error() string { return e.text }

// Class returns the class of the failed request.
func (e *Error) Class() string { return e.class }

// The errors. targets lists their classes.
var (
	ErrTruncated = &Error{"truncated", "the answer ended before its last event"}
	ErrStalled   = &Error{"stalled", "no event came for the timeout, after others had come"}
	ErrNone      = &Error{"no-event", "the answer ended without an event"}
	ErrLimit     = &Error{"event-limit", "an event is longer than the limit"}
	ErrEncoded   = &Error{"encoded", "the answer is compressed, though nobody asked for it: its events cannot be read"}
	ErrAnswer    = &Error{"error-event", "an event says that the answer failed"}
)

// Classes returns the classes of the errors.
func Classes() (all []string) {
	for _, e := range []*Error{ErrTruncated, ErrStalled, ErrNone, ErrLimit, ErrEncoded, ErrAnswer} {
		all = append(all, e.class)
	}
	slices.Sort(all)
	return all
}
