package targets

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

// replyUsage says how Spec.Reply is written.
const replyUsage = `any, bytes N, messages N, until TEXT (such as until \n), matches /REGEX/, none or end`

// Values of Spec.Reply that need no parameter.
const (
	replyNone = "none" // no reply is expected
	replyEnd  = "end"  // all up to the end of a stream
)

// ReplyHelp lists in a line what Spec.Reply may be.
func ReplyHelp() string { return replyUsage }

// A replyRule says where a reply of tcp or udp ends, or which message of ws or of a stream of gRPC it is. The zero value
// expects none.
type replyRule struct {
	expected bool
	end      bool  // the reply is all up to the end of a stream, which is the request's own
	count    int64 // bytes; 0 = they do not count
	messages int   // the reply is the last of them; 0 = they do not count
	until    []byte
	borders  []int // of until: see newBorders
	pattern  *regexp.Regexp
}

// parseReply reads Spec.Reply. An error is one line that says what to do.
func parseReply(text string) (r replyRule, err error) {
	if text == "" || strings.TrimSpace(text) == replyNone {
		return r, nil
	}
	if len(text) > 4*mostUntil || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) || strings.Contains(text, "${") {
		return r, errors.New(`use printable characters and no placeholders, with \n for a line break and \x00 for a byte`)
	}
	r.expected = true
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	known := false
	switch word {
	case "any", replyEnd:
		known, r.end = rest == "", word == replyEnd
	case "bytes":
		r.count, err = strconv.ParseInt(rest, 10, 64)
		known = err == nil && r.count > 0
	case "messages":
		r.messages, err = strconv.Atoi(rest)
		known = err == nil && r.messages > 0
	case "until":
		r.until, err = unescape(rest)
		known = err == nil && len(r.until) > 0 && len(r.until) <= mostUntil
		r.borders = newBorders(r.until)
	case "matches":
		if known = len(rest) > 2 && rest[0] == '/' && rest[len(rest)-1] == '/'; !known {
			break
		}
		if r.pattern, err = regexp.Compile(rest[1 : len(rest)-1]); err != nil {
			return r, fmt.Errorf("%w; write %s", err, replyUsage)
		}
	}
	if !known {
		return r, fmt.Errorf("%.60q says not where a reply ends; write %s", text, replyUsage)
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

// A reading reads the reply to one request, as its bytes arrive. It is a check.Answer when it is done.
type reading interface {
	check.Answer
	begin()
	// room returns how many bytes may be read next, if the buffer has n.
	room(n int) int
	// feed takes bytes, and tells how many of them belong to the reply, and whether it is complete.
	feed(b []byte) (used int, done bool, err error)
	// refusal returns the class of a reply that is an error; "" if it is none.
	refusal() string
}

// kept is the part of a reply that checks and takes look at.
type kept struct {
	most    int // bytes
	content []byte
	length  int64
}

// Status, Content, Length and Field implement check.Answer.
func (k *kept) Status() int           { return 0 }
func (k *kept) Content() []byte       { return k.content }
func (k *kept) Length() int64         { return k.length }
func (k *kept) Field(string) []string { return nil }

// reset forgets the reply. A long one leaves no large buffer behind.
func (k *kept) reset() {
	k.content, k.length = k.content[:0], 0
	if cap(k.content) > longBuffer {
		k.content = nil
	}
}

// add notes bytes of the reply.
func (k *kept) add(b []byte) {
	k.length += int64(len(b))
	k.content = append(k.content, b[:min(len(b), k.most-len(k.content))]...)
}

// A plainReading reads a reply without a form of its own.
type plainReading struct {
	kept
	rule     *replyRule
	limit    int64 // bytes
	matched  int   // bytes of until at the end of what has come
	searched int64
}

// newPlainReading returns a reading of which checks and takes see the first most bytes.
func newPlainReading(rule *replyRule, limit int64, most int) *plainReading {
	if rule.pattern != nil {
		most = check.Most
	}
	return &plainReading{kept: kept{most: most}, rule: rule, limit: limit}
}

func (r *plainReading) begin() {
	r.reset()
	r.matched, r.searched = 0, 0
}

func (r *plainReading) room(n int) int {
	if r.rule.count > 0 {
		return int(min(int64(n), r.rule.count-r.length))
	}
	return n
}

func (r *plainReading) refusal() string { return "" }

func (r *plainReading) feed(b []byte) (used int, done bool, err error) {
	used, done = len(b), true
	switch {
	case r.rule.count > 0:
		used = int(min(int64(len(b)), r.rule.count-r.length))
		done = r.length+int64(used) == r.rule.count
	case len(r.rule.until) > 0:
		used, done = r.ends(b)
	}
	r.add(b[:used])
	if r.rule.pattern != nil {
		r.searched += int64(len(r.content))
		done = r.rule.pattern.Match(r.content)
	}
	if r.length > r.limit || !done && (r.searched > mostSearched || r.rule.pattern != nil && len(r.content) == check.Most) {
		return used, false, errBodyLimit
	}
	return used, done, nil
}

// ends returns how many bytes belong to a reply that ends with until, and whether it ends.
func (r *plainReading) ends(b []byte) (used int, done bool) {
	until := r.rule.until
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
