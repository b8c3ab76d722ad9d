package grpc

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets/status"
)

// Prefix is the length of what stands before each message, in bytes: a flag, and the length of the message.
const Prefix = 5

// AppendMessage appends what fill appends as a message, not compressed, with its prefix.
func AppendMessage(b []byte, fill func(b []byte) ([]byte, error)) ([]byte, error) {
	at := len(b)
	b, err := fill(append(b, make([]byte, Prefix)...))
	if err == nil {
		binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-Prefix))
	}
	return b, err
}

// Limits bound what is read of an answer, and say what is kept of it.
type Limits struct {
	Message int64 // bytes of each message
	Content int   // bytes of the last message that are kept; longer ones are not
	Fields  bool  // metadata and trailers are kept
}

// An Answer is what a server answers to a call: metadata, messages, and trailers with a status. It implements
// check.Answer: its content is the last message, as JSON. It is for one goroutine at a time.
type Answer struct {
	limits Limits
	method *Method // what the messages are; nil = the content stays as it is

	http     int // the status of HTTP
	code     int // of gRPC; -1 = none was sent
	messages int64
	length   int64 // of all messages

	prefix  [Prefix]byte
	have    int   // bytes of the prefix
	left    int64 // bytes of the message that have not come
	message []byte
	json    []byte
	shown   bool // json is that of the message
	fields  []field
}

type field struct{ name, value string }

// Begin prepares for the answer to a call. Without a method the content is the message as it comes.
func (a *Answer) Begin(m *Method, l Limits) {
	a.limits, a.method = l, m
	a.http, a.code, a.messages, a.length = 0, -1, 0, 0
	a.have, a.left, a.shown = 0, 0, false
	clear(a.fields)
	a.message, a.json, a.fields = a.message[:0], a.json[:0], a.fields[:0]
	if cap(a.message) > keptBuffer {
		a.message = nil
	}
	if cap(a.json) > keptBuffer {
		a.json = nil
	}
}

// keptBuffer is the largest buffer that one answer leaves to the next, in bytes.
const keptBuffer = 64 << 10

// Messages returns how many messages came.
func (a *Answer) Messages() int64 { return a.messages }

// Status returns the status as package status numbers it; 0 if there is none. A server that sent no status of gRPC gets
// the one that stands for its status of HTTP.
func (a *Answer) Status() int {
	switch {
	case a.code >= 0:
		return status.OfGRPC(a.code)
	case a.http == 0 || a.http == 200:
		return 0
	}
	return status.OfGRPC(codeOf(a.http))
}

// codeOf returns the code of gRPC for a status of HTTP, as the protocol of gRPC has it.
func codeOf(http int) int {
	switch http {
	case 400:
		return 13 // INTERNAL
	case 401:
		return 16 // UNAUTHENTICATED
	case 403:
		return 7 // PERMISSION_DENIED
	case 404:
		return 12 // UNIMPLEMENTED
	case 429, 502, 503, 504:
		return 14 // UNAVAILABLE
	}
	return 2 // UNKNOWN
}

// Content returns the last message as JSON; nothing if it was too long to be kept, or is not of its type.
func (a *Answer) Content() []byte {
	if a.method == nil {
		return a.message
	}
	if !a.shown && a.messages > 0 {
		a.shown = true
		a.json = a.method.appendJSON(a.json[:0], a.message, a.limits.Content)
	}
	return a.json
}

// Length returns how many bytes all messages have.
func (a *Answer) Length() int64 { return a.length }

// Field returns the values of a name in metadata and trailers.
func (a *Answer) Field(name string) (values []string) {
	for _, f := range a.fields {
		if strings.EqualFold(f.name, name) {
			values = append(values, f.value)
		}
	}
	return values
}

// field takes a field of metadata or trailers. A value of a binary one loses its padding, as in requests.
func (a *Answer) field(name, value string) {
	switch name {
	case ":status":
		if a.http == 0 || a.http < 200 {
			a.http, _ = strconv.Atoi(value)
		}
	case "grpc-status":
		if n, err := strconv.ParseUint(value, 10, 31); err == nil {
			a.code = int(n)
		} else {
			a.code = 2 // UNKNOWN
		}
	}
	if a.limits.Fields && name != "" && name[0] != ':' {
		a.fields = append(a.fields, field{name, value})
	}
}

// feed takes bytes of the body, which may begin and end anywhere in a message. That of an error of HTTP has none.
func (a *Answer) feed(b []byte) error {
	for a.http == 200 && len(b) > 0 {
		if a.have < Prefix {
			n := copy(a.prefix[a.have:], b)
			a.have, b = a.have+n, b[n:]
			if a.have < Prefix {
				return nil
			}
			if err := a.begins(); err != nil {
				return err
			}
		}
		n := min(int64(len(b)), a.left)
		if len(a.message)+int(n) <= a.limits.Content {
			a.message = append(a.message, b[:n]...)
		}
		a.left, b = a.left-n, b[n:]
		if a.left == 0 {
			a.messages++
			a.have = 0
		}
	}
	return nil
}

// begins begins a message.
func (a *Answer) begins() error {
	size := int64(binary.BigEndian.Uint32(a.prefix[1:]))
	if a.prefix[0] != 0 {
		return errCompressed
	}
	if size > a.limits.Message {
		return ErrLimit
	}
	a.left, a.message, a.shown = size, a.message[:0], false
	a.length += size
	return nil
}

// ends returns an error if the answer is not complete.
func (a *Answer) ends() error {
	switch {
	case a.Status() == 0:
		return errNoStatus
	case a.code == 0 && a.have > 0:
		return errCut
	case a.code == 0 && a.method != nil && !a.method.Streams() && a.messages != 1:
		return errCount
	}
	return nil
}

// Binary returns the value of a header whose name ends with -bin as it is sent: base64 without padding. It reports
// false if the value is none.
func Binary(value string) (string, bool) {
	plain := strings.TrimRight(value, "=")
	_, err := base64.RawStdEncoding.DecodeString(plain)
	return plain, err == nil
}
