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
	of    protoreflect.MessageDescriptor
	cause error // of package protojson; nil = a required field is missing

	// Shape: the text is no JSON, or names a field that the message does not have. Else it may fit with other values.
	Shape bool
}

// AppendRequest appends the request that a JSON text describes, as it is sent: without its prefix. An empty text is a
// message without fields. The error is a *MessageError.
func (m *Method) AppendRequest(b, text []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.d.Input())
	if len(strings.TrimSpace(string(text))) > 0 {
		if err := (protojson.UnmarshalOptions{Resolver: m.types, RecursionLimit: deepest}).Unmarshal(text, message); err != nil {
			return b, &MessageError{m.d.Input(), err, strings.Contains(err.Error(), "unknown field") || noJSON(err)}
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, message)
	if err != nil {
		return b, &MessageError{of: m.d.Input()}
	}
	return b, nil
}

// noJSON reports whether an error of package protojson is about the text, and not about a field.
func noJSON(err error) bool {
	text := err.Error()
	return strings.Contains(text, "syntax error") || strings.Contains(text, "unexpected token") || strings.Contains(text, "unexpected EOF")
}

// Error says what is wrong, and where, and no values: they may be secrets. Calls fail without anybody reading it, so it
// is made only here.
func (e *MessageError) Error() string {
	name := e.of.FullName()
	if e.cause == nil {
		return fmt.Sprintf("message %s: a required field is missing", name)
	}
	text, at := e.cause.Error(), ""
	if found := regexp.MustCompile(`\(line (\d+):(\d+)\)`).FindStringSubmatch(text); found != nil {
		at = fmt.Sprintf(" at line %s, column %s", found[1], found[2])
	}
	found := regexp.MustCompile(`unknown field "([^"]*)"`).FindStringSubmatch(text)
	switch {
	case found != nil:
		return fmt.Sprintf("message %s has no field %.60q%s; it has %s", name, found[1], at, listed(fieldsOf(e.of)))
	case noJSON(e.cause):
		return fmt.Sprintf("message %s: the text is not a JSON object%s; its fields are: %s", name, at, listed(fieldsOf(e.of)))
	}
	field := "its field"
	if found := regexp.MustCompile(`invalid value for (\w+) field (\w+):`).FindStringSubmatch(text); found != nil {
		field = fmt.Sprintf("the field %s of kind %s", found[2], found[1])
	}
	return fmt.Sprintf("message %s: the value%s does not fit %s", name, at, field)
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
