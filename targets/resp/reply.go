package resp

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/reply"
)

// Bounds of a reply of Redis, beside its size.
const (
	mostReplyLine = 64 << 10 // bytes of a line: a simple string, an error, a size
	mostElements  = 1 << 40  // that are announced and have not come
)

// errRedis says that a reply is not one of RESP2.
var errRedis = errors.New("the reply is not RESP2")

// replyCodes are the errors of Redis that have classes of their own. The set is fixed, so that a server cannot fill a
// report with names.
func replyCodes() []string {
	return []string{
		"ASK", "BUSY", "BUSYGROUP", "CLUSTERDOWN", "CROSSSLOT", "ERR", "EXECABORT", "LOADING", "MASTERDOWN", "MISCONF", "MOVED", "NOAUTH",
		"NOGROUP", "NOPERM", "NOREPLICAS", "NOSCRIPT", "OOM", "READONLY", "TRYAGAIN", "UNKILLABLE", "WRONGPASS", "WRONGTYPE",
	}
}

// NoAuth is the class of what a Redis replies to anything before a login that it wants.
const NoAuth = targets.ClassReply + " NOAUTH"

// A Reading reads a reply of RESP2. Checks see it as redis-cli --raw shows it: the elements of an array a line
// each, and nothing for nil. It never makes room for what a server only announces.
type Reading struct {
	reply.Kept
	limit int64
	codes []string

	size   int64  // bytes so far
	line   []byte // that is not complete
	bulk   int64  // bytes of a bulk string and its line end that are still to come
	inBulk bool
	left   int64 // values still to come
	shown  int   // values that are in the content
	array  bool  // the reply is one
	class  string
}

// NewReading returns a Reading of replies with up to limit bytes, of which checks see the first most.
func NewReading(limit int64, most int) *Reading {
	return &Reading{Kept: reply.Kept{Most: most}, limit: limit, codes: replyCodes()}
}

// Begin implements reply.Reading.
func (r *Reading) Begin() {
	r.Reset()
	r.size, r.line, r.bulk, r.inBulk, r.left, r.shown, r.array, r.class = 0, r.line[:0], 0, false, 1, 0, false, ""
}

// Room implements reply.Reading.
func (r *Reading) Room(n int) int { return n }

// Refusal implements reply.Reading.
func (r *Reading) Refusal() string { return r.class }

// Feed implements reply.Reading.
func (r *Reading) Feed(b []byte) (used int, done bool, err error) {
	for used < len(b) && r.left > 0 {
		n := 0
		if r.inBulk {
			n, err = r.feedBulk(b[used:])
		} else {
			n, err = r.feedLine(b[used:])
		}
		used += n
		if r.size += int64(n); err == nil && r.size > r.limit {
			err = reply.ErrTooLong
		}
		if err != nil {
			return used, false, err
		}
	}
	return used, r.left == 0, nil
}

// feedBulk takes bytes of a bulk string.
func (r *Reading) feedBulk(b []byte) (n int, err error) {
	const end = "\r\n"
	n = int(min(int64(len(b)), r.bulk))
	text := min(int64(n), max(0, r.bulk-int64(len(end))))
	r.Add(b[:text])
	for i, c := range b[text:n] {
		if left := r.bulk - text - int64(i); c != end[int64(len(end))-left] {
			return n, errRedis
		}
	}
	if r.bulk -= int64(n); r.bulk == 0 {
		r.inBulk = false
		r.left--
	}
	return n, nil
}

// feedLine takes bytes of a line.
func (r *Reading) feedLine(b []byte) (n int, err error) {
	at := bytes.IndexByte(b, '\n')
	if n = at + 1; at < 0 {
		n = len(b)
	}
	if len(r.line)+n > mostReplyLine {
		return n, reply.ErrTooLong
	}
	if r.line = append(r.line, b[:n]...); bytes.IndexByte([]byte("+-:$*"), r.line[0]) < 0 {
		return n, errRedis // at once: a server of another protocol may never end the line
	}
	if at < 0 {
		return n, nil
	}
	line, whole := bytes.CutSuffix(r.line, []byte("\r\n"))
	if !whole {
		return n, errRedis
	}
	err = r.value(line[0], line[1:])
	r.line = r.line[:0]
	return n, err
}

// value takes a line: a whole value, or the head of one.
func (r *Reading) value(kind byte, text []byte) error {
	if kind == '*' || kind == '$' {
		size, err := strconv.ParseInt(string(text), 10, 32)
		if err != nil || size < -1 {
			return errRedis
		}
		if kind == '*' {
			r.array = true
			if r.left += max(size, 0) - 1; r.left > mostElements {
				return errRedis
			}
			return nil
		}
		if size < 0 {
			r.separate()
			r.left--
			return nil
		}
		r.separate()
		r.bulk, r.inBulk = size+2, true
		return nil
	}
	if kind == '-' && !r.array {
		r.class = r.classOf(text)
	}
	r.separate()
	r.Add(text)
	r.left--
	return nil
}

// separate begins a value.
func (r *Reading) separate() {
	if r.shown++; r.shown > 1 {
		r.Add([]byte{'\n'})
	}
}

// classOf returns the class of an error.
func (r *Reading) classOf(text []byte) string {
	code, _, _ := bytes.Cut(text, []byte(" "))
	if slices.Contains(r.codes, string(code)) {
		return targets.ClassReply + " " + string(code)
	}
	return targets.ClassReply
}
