// Package grpc is what gRPC adds to HTTP/2, without sockets: it makes messages of JSON, and says what an answer means.
//
//	schema, err := grpc.ReadSchema(set) // an encoded FileDescriptorSet
//	method, err := schema.Method("helloworld.Greeter", "SayHello")
//	body, err := grpc.AppendMessage(nil, func(b []byte) ([]byte, error) { return method.AppendRequest(b, []byte(`{"name": "ann"}`)) })
//	…
//	answer := grpc.NewAnswer(stream, method)
//	fmt.Println(status.Name(answer.Status()), string(answer.Content()))
//
// Guarantees: errors about messages show no values. JSON is made of messages up to MaxShown, so its size is bounded,
// whatever a server sends.
//
// Not here: HTTP/2 (package http2), and where descriptions come from.
package grpc

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/status"
)

// Errors of an answer that is complete as one of HTTP/2.
var (
	errNoStatus = errors.New("the answer has no status of gRPC")
	errCount    = errors.New("the answer to a call without a stream is one message")
)

// prefix is the length of what stands before each message, in bytes: a flag, and the length of the message.
const prefix = 5

// AppendMessage appends what fill appends as a message, not compressed, with its prefix.
func AppendMessage(b []byte, fill func(b []byte) ([]byte, error)) ([]byte, error) {
	at := len(b)
	b, err := fill(append(b, make([]byte, prefix)...))
	if err == nil {
		binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-prefix))
	}
	return b, err
}

// A Reply is an answer of HTTP/2, such as an http2.Stream that has kept its fields and last message.
type Reply interface {
	check.Answer
	Trailer(name string) []string
	Messages() int64
}

// An Answer is what a reply means. It implements check.Answer: its status is that of gRPC, its content is the last message,
// as JSON, and its length is that of all messages.
type Answer struct {
	Reply
	method *Method
	json   []byte
	shown  bool // json is that of the message
}

// NewAnswer returns the answer to a call of a method. Without a method the content is the message as it came.
func NewAnswer(r Reply, m *Method) *Answer { return &Answer{Reply: r, method: m} }

// Status returns the status as package status numbers it; 0 if there is none. A server that sent no status of gRPC gets
// the one that stands for its status of HTTP.
func (a *Answer) Status() int {
	sent := a.Trailer("grpc-status")
	if len(sent) == 0 {
		sent = a.Reply.Field("grpc-status") // an answer without messages has all in its head
	}
	if len(sent) > 0 {
		n, err := strconv.ParseUint(sent[0], 10, 16)
		if err != nil {
			return status.OfGRPC(-1)
		}
		return status.OfGRPC(int(n))
	}
	if http := a.Reply.Status(); http != 0 && http != 200 {
		return status.OfGRPC(codeOf(http))
	}
	return 0
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

// Err returns an error if a reply that is complete is no answer of gRPC.
func (a *Answer) Err() error {
	switch n := a.Status(); {
	case n == 0:
		return errNoStatus
	case n == status.FirstGRPC && a.method != nil && !a.method.Streams() && a.Messages() != 1:
		return errCount
	}
	return nil
}

// Length is how many bytes the messages have together, without their prefixes. An answer that is complete consists of whole
// messages, or is an error of HTTP without any.
func (a *Answer) Length() int64 { return a.Reply.Length() - prefix*a.Messages() }

// Content returns the last message as JSON; nothing if it was too long to be kept, or is not of its type.
func (a *Answer) Content() []byte {
	if a.method == nil {
		return a.Reply.Content()
	}
	if !a.shown && a.Messages() > 0 {
		a.shown = true
		a.json = a.method.appendJSON(nil, a.Reply.Content(), check.Most)
	}
	return a.json
}

// Field returns the values of a name in metadata and trailers.
func (a *Answer) Field(name string) []string {
	return slices.Concat(a.Reply.Field(name), a.Trailer(name))
}

// IsBinary reports whether a value is one of a header whose name ends with -bin: base64, with or without padding.
func IsBinary(value string) bool {
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	return err == nil
}
