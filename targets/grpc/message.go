package grpc

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A MessageError says that a JSON text is no message of the method.
type MessageError struct {
	text string // without values

	// Shape: the text is no JSON, or names a field that the message does not have. Else it may fit with other values.
	Shape bool
}

// Error tells what is wrong, and no values.
func (e *MessageError) Error() string { return e.text }

// AppendRequest appends the request that a JSON text describes, as it is sent: without its prefix. An empty text is a
// message without fields. The error is a *MessageError.
func (m *Method) AppendRequest(b, text []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.d.Input())
	if len(strings.TrimSpace(string(text))) > 0 {
		if err := (protojson.UnmarshalOptions{Resolver: m.types, RecursionLimit: 1000}).Unmarshal(text, message); err != nil {
			return b, m.explain(err)
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, message)
	if err != nil {
		return b, &MessageError{text: fmt.Sprintf("message %s: a required field is missing", m.d.Input().FullName())}
	}
	return b, nil
}

// unknownField finds the name in the error of protojson, and place where it is.
const (
	unknownField = `unknown field "([^"]*)"`
	place        = `\(line (\d+):(\d+)\)`
)

// explain says what is wrong with a JSON text, without its values: they may be secrets.
func (m *Method) explain(err error) *MessageError {
	text, at := err.Error(), ""
	if found := regexp.MustCompile(place).FindStringSubmatch(text); found != nil {
		at = fmt.Sprintf(" at line %s, column %s", found[1], found[2])
	}
	name := m.d.Input().FullName()
	switch found := regexp.MustCompile(unknownField).FindStringSubmatch(text); {
	case found != nil:
		return &MessageError{fmt.Sprintf("message %s has no field %.60q%s; it has %s", name, found[1], at, listed(fieldsOf(m.d.Input()))), true}
	case strings.Contains(text, "syntax error"), strings.Contains(text, "unexpected token"), strings.Contains(text, "unexpected EOF"):
		return &MessageError{fmt.Sprintf("message %s: the text is no JSON object of it%s", name, at), true}
	}
	return &MessageError{fmt.Sprintf("message %s: a value does not fit its field%s", name, at), false}
}

// fieldsOf returns the names of the fields of a message, as they are written in JSON.
func fieldsOf(m protoreflect.MessageDescriptor) (names []string) {
	for i := range m.Fields().Len() {
		names = append(names, m.Fields().Get(i).JSONName())
	}
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}
