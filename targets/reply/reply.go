// Package reply finds the end of a reply that has no form of its own: over TCP and UDP, and which message is the reply over
// WebSocket and streams of gRPC. It has no sockets:
//
//	rule, err := reply.Parse("until \\n")
//	if err != nil { … }
//	r := reply.New(&rule, 1<<20, 1024)
//	r.Begin()
//	used, done, err := r.Feed(b) // bytes may arrive in any parts
//
// Memory is bounded, whatever a server sends. A Rule never changes; a Reading is for one goroutine.
package reply

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/loadctl/loadctl/targets/check"
)

// Bounds of a reply that is searched with a regular expression.
const (
	mostUntil    = 1024     // bytes of a text that ends a reply
	mostSearched = 16 << 20 // bytes, with those that are searched again because more have come
)

// ErrTooLong says that a reply is too long.
var ErrTooLong = errors.New("the body is longer than the limit")

// LongBuffer is the largest buffer that is kept from one reply to the next, in bytes.
const LongBuffer = 32 << 10

// usage says how Spec.Reply is written.
const usage = `any, bytes N, messages N, until TEXT (such as until \n), matches /REGEX/, none or end`

// Values of Spec.Reply that need no parameter.
const (
	None = "none" // no reply is expected
	End  = "end"  // all up to the end of a stream
)

// Usage lists in a line what Spec.Reply may be.
func Usage() string { return usage }

// A Rule says where a reply of tcp or udp ends, or which message of ws or of a stream of gRPC it is. The zero value
// expects none.
type Rule struct {
	Expected bool
	End      bool  // the reply is all up to the end of a stream, which is the request's own
	Count    int64 // bytes; 0 = they do not count
	Messages int   // the reply is the last of them; 0 = they do not count
	Until    []byte
	borders  []int // of until: see newBorders
	Pattern  *regexp.Regexp
}

// Parse reads Spec.Reply. An error is one line that says what to do.
func Parse(text string) (r Rule, err error) {
	if text == "" || strings.TrimSpace(text) == None {
		return r, nil
	}
	if len(text) > 4*mostUntil || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) || strings.Contains(text, "${") {
		return r, errors.New(`use printable characters and no placeholders, with \n for a line break and \x00 for a byte`)
	}
	r.Expected = true
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	known := false
	switch word {
	case "any", End:
		known, r.End = rest == "", word == End
	case "bytes":
		r.Count, err = strconv.ParseInt(rest, 10, 64)
		known = err == nil && r.Count > 0
	case "messages":
		r.Messages, err = strconv.Atoi(rest)
		known = err == nil && r.Messages > 0
	case "until":
		r.Until, err = unescape(rest)
		known = err == nil && len(r.Until) > 0 && len(r.Until) <= mostUntil
		r.borders = newBorders(r.Until)
	case "matches":
		if known = len(rest) > 2 && rest[0] == '/' && rest[len(rest)-1] == '/'; !known {
			break
		}
		if r.Pattern, err = regexp.Compile(rest[1 : len(rest)-1]); err != nil {
			return r, fmt.Errorf("%w; write %s", err, usage)
		}
	}
	if !known {
		return r, fmt.Errorf("%.60q says not where a reply ends; write %s", text, usage)
	}
	return r, nil
}

// unescape reads \n, \r, \t, \\ and \xHH, and the other escapes of a string in Go. Quotes around the text are optional.
func unescape(text string) ([]byte, error) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		text = `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
	}
	plain, err := strconv.Unquote(text)
	return []byte(plain), err
}

// newBorders returns for each length of a beginning of the text how long its longest proper beginning is that is also
// its end (Knuth, Morris and Pratt 1977). With it, each byte of a reply is looked at once, however it was split.
func newBorders(text []byte) []int {
	borders := make([]int, len(text)+1)
	for i := 1; i < len(text); i++ {
		n := borders[i]
		for n > 0 && text[n] != text[i] {
			n = borders[n]
		}
		if text[n] == text[i] {
			n++
		}
		borders[i+1] = n
	}
	return borders
}

// A Reading reads the reply to one request, as its bytes arrive. It is a check.Answer when it is done.
type Reading interface {
	check.Answer
	Begin()
	// room returns how many bytes may be read next, if the buffer has n.
	Room(n int) int
	// feed takes bytes, and reports how many of them belong to the reply, and whether it is complete.
	Feed(b []byte) (used int, done bool, err error)
	// refusal returns the class of a reply that is an error; "" if it is none.
	Refusal() string
}

// Kept is the part of a reply that checks and takes look at.
type Kept struct {
	Most    int // bytes
	content []byte
	length  int64
}

// Status implements check.Answer: there is none.
func (k *Kept) Status() int { return 0 }

// Content implements check.Answer: the first Most bytes.
func (k *Kept) Content() []byte { return k.content }

// Length implements check.Answer.
func (k *Kept) Length() int64 { return k.length }

// Field implements check.Answer: there are no headers.
func (k *Kept) Field(string) []string { return nil }

// Reset forgets the reply. A long one leaves no large buffer behind.
func (k *Kept) Reset() {
	k.content, k.length = k.content[:0], 0
	if cap(k.content) > LongBuffer {
		k.content = nil
	}
}

// Add notes bytes of the reply.
func (k *Kept) Add(b []byte) {
	k.length += int64(len(b))
	k.content = append(k.content, b[:min(len(b), k.Most-len(k.content))]...)
}

// A plainReading reads a reply without a form of its own.
type plainReading struct {
	Kept
	rule     *Rule
	limit    int64 // bytes
	matched  int   // bytes of until at the end of what has come
	searched int64
}

// New returns a reading of which checks and takes see the first most bytes.
func New(rule *Rule, limit int64, most int) *plainReading {
	if rule.Pattern != nil {
		most = check.Most
	}
	return &plainReading{Kept: Kept{Most: most}, rule: rule, limit: limit}
}

func (r *plainReading) Begin() {
	r.Reset()
	r.matched, r.searched = 0, 0
}

func (r *plainReading) Room(n int) int {
	if r.rule.Count > 0 {
		return int(min(int64(n), r.rule.Count-r.length))
	}
	return n
}

func (r *plainReading) Refusal() string { return "" }

func (r *plainReading) Feed(b []byte) (used int, done bool, err error) {
	used, done = len(b), true
	switch {
	case r.rule.Count > 0:
		used = int(min(int64(len(b)), r.rule.Count-r.length))
		done = r.length+int64(used) == r.rule.Count
	case len(r.rule.Until) > 0:
		used, done = r.ends(b)
	}
	r.Add(b[:used])
	if r.rule.Pattern != nil {
		r.searched += int64(len(r.content))
		done = r.rule.Pattern.Match(r.content)
	}
	if r.length > r.limit || !done && (r.searched > mostSearched || r.rule.Pattern != nil && len(r.content) == check.Most) {
		return used, false, ErrTooLong
	}
	return used, done, nil
}

// ends returns how many bytes belong to a reply that ends with until, and whether it ends.
func (r *plainReading) ends(b []byte) (used int, done bool) {
	until := r.rule.Until
	for i, c := range b {
		for r.matched > 0 && until[r.matched] != c {
			r.matched = r.rule.borders[r.matched]
		}
		if until[r.matched] == c {
			r.matched++
		}
		if r.matched == len(until) {
			return i + 1, true
		}
	}
	return len(b), false
}
